"""The bands of a sketch, and the hints of rows whose release had other bands."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sketches.minhash import BAND_BYTES, BANDS, band_keys
from streams.stores.cassandra import CassandraFingerprints
from streams.stores.packing import unpack
from streams.stores.protocols import Fingerprint
from streams.stores.row_codec import pack_fingerprint, unpack_fingerprint

SKETCHES = st.binary(min_size=128, max_size=128)
FORMER_BANDS = tuple(range(1 << 60, (1 << 60) + 10))
PAGE = Fingerprint(UUID(int=7), "ab" * 32, 2**64 - 1, "https://a.test/", 5, words=60, sketch=bytes(range(128)))


@given(SKETCHES, SKETCHES)
def test_two_sketches_share_the_bands_whose_bytes_are_equal(one: bytes, other: bytes) -> None:
    mixed = one[:8] + other[8:]
    shared = set(band_keys(one)) & set(band_keys(mixed))
    bands = [slice(at, at + BAND_BYTES) for at in range(0, BANDS * BAND_BYTES, BAND_BYTES)]
    assert len(shared) == sum(one[band] == mixed[band] for band in bands) >= 2


@given(SKETCHES)
def test_keys_are_distinct_and_fit_into_a_bigint(sketch: bytes) -> None:
    keys = band_keys(sketch)
    assert len(set(keys)) == len(keys) == BANDS
    assert all(0 <= key < 2**63 for key in keys)


@pytest.mark.parametrize("length", [0, 1, BANDS * BAND_BYTES - 1])
def test_a_sketch_that_is_too_short_has_no_bands(length: int) -> None:
    assert band_keys(bytes(length)) == ()


def test_the_row_names_its_keys_for_releases_with_other_bands() -> None:
    packed = pack_fingerprint(replace(PAGE, bands=FORMER_BANDS))
    assert tuple(unpack(packed)["bands"]) == unpack_fingerprint(PAGE.page_id, packed).bands == band_keys(PAGE.sketch)


class _Recorder:
    """A session that keeps the statements, and stores nothing."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Mapping[str, Any]]] = []

    async def execute(self, cql: str, params: Mapping[str, Any], **_: Any) -> list[Any]:
        self.statements.append((cql, params))
        return []

    def bands(self, verb: str) -> set[int]:
        """The bands under which rows were written (INSERT) or deleted (DELETE)."""
        return {
            value
            for cql, params in self.statements
            if f"{verb} " in cql
            for name, value in params.items()
            if name.startswith("band_")
        }


async def test_a_page_of_a_release_with_other_bands_loses_the_hints_of_both() -> None:
    session = _Recorder()
    store = CassandraFingerprints(session)  # type: ignore[arg-type] # what it uses of a session
    former = replace(PAGE, bands=FORMER_BANDS)
    await store.remove(PAGE.page_id, 9, former)
    assert session.bands("DELETE") == {*FORMER_BANDS, *band_keys(PAGE.sketch)}


async def test_a_page_of_a_release_with_other_bands_keeps_todays_hints_alone_when_it_is_fetched_again() -> None:
    session = _Recorder()
    store = CassandraFingerprints(session)  # type: ignore[arg-type] # what it uses of a session
    await store.put(PAGE, 9, replace(PAGE, bands=FORMER_BANDS))
    assert session.bands("INSERT") == {*band_keys(PAGE.sketch)}
    assert session.bands("DELETE") == {*FORMER_BANDS}
