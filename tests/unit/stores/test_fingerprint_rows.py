"""The row of a fingerprint: bytes that every release, also an older one beside this, can read."""

from dataclasses import replace
from uuid import UUID

import pytest

from streams.stores.packing import unpack
from streams.stores.protocols import Fingerprint
from streams.stores.row_codec import pack_fingerprint, unpack_fingerprint

PAGE = Fingerprint(UUID(int=7), "ab" * 32, 2**64 - 1, "https://a.test/", 5, words=60, sketch=b"\x01\x02", bands=(1, 2))


@pytest.mark.parametrize("page", [PAGE, replace(PAGE, simhash_version=2)], ids=["version 1", "version 2"])
def test_a_row_comes_back_as_it_was(page: Fingerprint) -> None:
    assert unpack_fingerprint(page.page_id, pack_fingerprint(page)) == page


def test_the_first_version_is_not_in_the_row_as_it_never_was() -> None:
    assert "simhash_version" not in unpack(pack_fingerprint(PAGE))
    assert unpack(pack_fingerprint(replace(PAGE, simhash_version=2)))["simhash_version"] == 2
