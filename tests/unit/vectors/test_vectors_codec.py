import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.vectors.points import InvalidVectors, decode_vectors, encode_vectors

REF = "ab" * 32


@given(st.integers(0, 5), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_vectors_survive_their_bytes_in_half_precision(count: int, dimensions: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).uniform(-1, 1, (count, dimensions)).astype(np.float32)
    content = encode_vectors(REF, vectors)
    decoded = decode_vectors(content, REF)
    assert decoded.dtype == np.float32
    assert decoded.shape == vectors.shape
    assert np.abs(decoded - vectors).max(initial=0) <= 2**-11
    assert encode_vectors(REF, decoded) == content


GOOD = encode_vectors(REF, np.ones((2, 3), dtype=np.float32))


@pytest.mark.parametrize(
    ("content", "ref", "says"),
    [
        (b"", REF, "no vectors"),
        (b"RFV9" + GOOD[4:], REF, "RFV9"),
        (GOOD[:-1], REF, "can't be 2 vectors of 3"),
        (GOOD + b"\0", REF, "can't be 2 vectors of 3"),
        (GOOD, "cd" * 32, "belong to statements abab"),
    ],
)
def test_other_bytes_are_no_vectors(content: bytes, ref: str, says: str) -> None:
    with pytest.raises(InvalidVectors, match=says):
        decode_vectors(content, ref)
