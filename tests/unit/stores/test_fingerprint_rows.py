"""The row of a fingerprint."""

from dataclasses import replace
from uuid import UUID

import pytest

from streams.stores.protocols import Fingerprint
from streams.stores.row_codec import pack_fingerprint, unpack_fingerprint

PAGE = Fingerprint(UUID(int=7), "ab" * 32, 2**64 - 1, "https://a.test/", 5, words=60, sketch=b"\x01\x02")


@pytest.mark.parametrize("page", [PAGE, replace(PAGE, simhash_version=2)], ids=["version 1", "version 2"])
def test_a_row_comes_back_as_it_was(page: Fingerprint) -> None:
    assert unpack_fingerprint(page.page_id, pack_fingerprint(page)) == page
