"""SimHash, MinHash and the fingerprint of a text."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dedup.fingerprinting import fingerprint, inverse_document_frequencies, text_shingles
from streams.sketches import (
    BAND_MINIMA,
    BANDS,
    HASHES,
    band_keys,
    jaccard,
    shingles,
    simhash,
    sketch_similarity,
    word_hashes,
)

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
    assert [f"{key:x}" for key in found.bands[:2]] == ["258cb0af9970cce6", "6739552ab1243fa2"]
    assert found.words == 9


@pytest.mark.parametrize("text", ["", " ", "…", "one", "one two"])
def test_any_text_has_a_fingerprint(text: str) -> None:
    found = fingerprint(text)
    assert 0 <= found.simhash < 2**64
    assert len(found.sketch) == HASHES
    assert len(set(found.bands)) == BANDS
    assert all(0 <= key < 2**63 for key in found.bands), "each is a bigint of Cassandra"


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
    assert fingerprint(text).bands == fingerprint(text).bands
    assert sketch_similarity(fingerprint(text).sketch, fingerprint(text).sketch) == 1


@given(st.sets(st.integers(0, BANDS * BAND_MINIMA - 1)))
def test_two_texts_share_the_bands_whose_minima_are_equal(other: set[int]) -> None:
    one = np.arange(HASHES, dtype=np.uint64)
    mixed = np.array([value + (place in other) for place, value in enumerate(one.tolist())], np.uint64)
    shared = set(band_keys(one)) & set(band_keys(mixed))
    whole = set(range(BANDS)) - {place // BAND_MINIMA for place in other}
    assert shared == {band_keys(one)[band] for band in whole}


@pytest.mark.parametrize(("cut", "share"), [(0, 1.0), (25, 0.99), (125, 0.9), (1_000, 0.0)])
def test_the_more_alike_texts_are_the_more_often_they_share_a_band(cut: int, share: float) -> None:
    """Expected are 1 - (1 - s^2)^3 of the pairs, with s the similarity: 1.0, 0.95, 0.78 and 0."""
    shared = 0
    for seed in range(40):
        words = [f"w{number}" for number in random.Random(seed).sample(range(100_000), 1_000)]
        edited = [*words[cut:], *(f"new{number}" for number in range(cut))]
        shared += not set(fingerprint(" ".join(words)).bands).isdisjoint(fingerprint(" ".join(edited)).bands)
    assert shared / 40 == pytest.approx(share, abs=0.1)


STORED = [
    # (text, its SimHash): what a page was stored with in an earlier release
    ("أعلنت الإدارة عن إغلاق الميناء حتى الأحد القادم بسبب الرياح", 3338611841643530792),
    ("בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם", 7903404510051442304),
    ("यह पुस्तक १९९७ में प्रकाशित हुई थी", 6913774817870304737),
    ("The log of 2024 — Straße, 手机壳很好, カタカナ, ข้อมูล", 1029207710212765700),
]


@pytest.mark.parametrize(("text", "stored"), STORED)
def test_a_text_keeps_the_fingerprint_that_is_stored(text: str, stored: int) -> None:
    assert fingerprint(text).simhash == stored
