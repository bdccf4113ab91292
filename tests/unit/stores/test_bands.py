"""The bands of a sketch, and the hints of rows whose release had other bands."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.sketches.minhash import BAND_BYTES, BANDS, band_keys
from streams.stores.protocols import Fingerprint

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
