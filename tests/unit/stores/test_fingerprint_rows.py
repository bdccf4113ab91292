"""The row of a fingerprint."""

from dataclasses import replace
from uuid import UUID

import pytest

from streams.stores.protocols import Fingerprint
from streams.stores.rows import pack_row, unpack_row

PAGE = Fingerprint(UUID(int=7), "ab" * 32, 2**64 - 1, "https://a.test/", 5, words=60, sketch=b"\x01\x02")


@pytest.mark.parametrize("page", [PAGE, replace(PAGE, simhash_version=2)], ids=["version 1", "version 2"])
def test_a_row_comes_back_as_it_was(page: Fingerprint) -> None:
    assert unpack_row(Fingerprint, pack_row(page), page_id=page.page_id) == page
