"""SimHash, MinHash and the fingerprint of a text."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dedup.fingerprinting import fingerprint, inverse_document_frequencies, text_shingles
from streams.sketches import minhash
from streams.sketches.features import jaccard, shingles, word_hashes
from streams.sketches.minhash import BANDS, band_keys, sketch_similarity
from streams.sketches.simhash import hamming, simhash, tables

WORDS = st.lists(st.sampled_from([f"word{number}" for number in range(50)]), max_size=200)
SIMHASH = st.integers(0, 2**64 - 1)


def by_the_definition(features: dict[int, float]) -> int:
    """Charikar's algorithm, bit by bit."""
    result = 0
    for bit in range(64):
        vote = sum(weight if feature >> bit & 1 else -weight for feature, weight in features.items())
        result |= (vote > 0) << bit
    return result


@given(st.dictionaries(SIMHASH, st.integers(1, 20), max_size=40))
def test_simhash_follows_its_definition(features: dict[int, int]) -> None:
    weights = np.array(list(features.values()), np.float32)
    assert simhash(np.array(list(features), np.uint64), weights) == by_the_definition(dict(features))


@given(WORDS)
def test_a_fingerprint_depends_on_the_words_alone(words: list[str]) -> None:
    assert fingerprint(" ".join(words)) == fingerprint(",  \n".join(words).upper())


def test_fingerprints_never_change() -> None:
    """Fingerprints are stored: another value here makes all stored ones useless."""
    found = fingerprint("the quick brown fox jumps over the lazy dog")
    assert f"{found.simhash:016x}" == "8606c692895292e3"
    assert found.sketch.hex()[:16] == "fe3e11756046762e"
    assert [f"{key:x}" for key in band_keys(found.sketch)[:2]] == ["fe3e1175", "16046762e"]
    assert found.words == 9


@pytest.mark.parametrize("text", ["", " ", "…", "one", "one two"])
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = fingerprint(text)
    assert 0 <= found.simhash < 2**64
    assert len(found.sketch) == minhash.HASHES
    assert len(set(band_keys(found.sketch))) == BANDS


def test_rare_words_weigh_more_than_common_ones() -> None:
    common, rarer, unknown = inverse_document_frequencies(word_hashes(["the", "vacuum", "xyzzyqwerty"]))
    assert 1 <= common < rarer < unknown


@pytest.mark.parametrize(("cut", "similarity"), [(0, 1.0), (20, 0.97), (60, 0.91), (150, 0.79), (300, 0.61)])
def test_the_sketch_estimates_the_similarity(cut: int, similarity: float) -> None:
    words = [f"w{number}" for number in random.Random(5).sample(range(100_000), 1_000)]
    texts = " ".join(words), " ".join([*words[cut:], *(f"new{number}" for number in range(cut // 2))])
    exact = jaccard(*map(text_shingles, texts))
    estimate = sketch_similarity(*(fingerprint(text).sketch for text in texts))
    assert exact == pytest.approx(similarity, abs=0.02)
    assert estimate == pytest.approx(exact, abs=0.12)


@given(WORDS, WORDS)
def test_jaccard_is_that_of_the_sets(one: list[str], other: list[str]) -> None:
    def triples(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))} if words else set()

    union = triples(one) | triples(other)
    expected = len(triples(one) & triples(other)) / len(union) if union else 1.0
    assert jaccard(shingles(word_hashes(one)), shingles(word_hashes(other))) == pytest.approx(expected)


@given(WORDS)
def test_equal_texts_share_all_bands(words: list[str]) -> None:
    text = " ".join(words)
    assert band_keys(fingerprint(text).sketch) == band_keys(fingerprint(text).sketch)
    assert sketch_similarity(fingerprint(text).sketch, fingerprint(text).sketch) == 1


@pytest.mark.parametrize("count", [4, 10, 20])
@given(simhash=SIMHASH, flips=st.sets(st.integers(0, 63), max_size=3))
def test_three_bits_leave_some_table_untouched(count: int, simhash: int, flips: set[int]) -> None:
    other = simhash
    for bit in flips:
        other ^= 1 << bit
    assert hamming(simhash, other) == len(flips)
    assert any(table.key(simhash) == table.key(other) for table in tables(count))


@pytest.mark.parametrize(("count", "key_bits"), [(4, {16}), (10, {25, 26}), (20, {31, 32, 33})])
def test_more_tables_have_longer_keys(count: int, key_bits: set[int]) -> None:
    assert len(tables(count)) == count
    assert {table.key_bits for table in tables(count)} == key_bits
    with pytest.raises(ValueError, match="4, 10, 20"):
        tables(5)
