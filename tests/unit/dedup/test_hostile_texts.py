"""Texts that are made to take long: fingerprints of all of them take linear time."""

import time

import pytest

from streams.dedup.fingerprinting import fingerprint, text_shingles

HANG_SECONDS = 30.0
"""Far more than any of these texts needs. A quadratic step takes minutes."""
REPEATED = {
    "underscores": "_",
    "letters and underscores": "a_",
    "possessives": "'s",
    "apostrophes": "'",
    "full stops": ".",
    "marks of exclamation and question": "!?",
    "digits": "1",
    "digits and points": "1.",
    "one long word": "a",
    "hyphens": "a-",
    "combining marks": "\u0301",
    "superscripts": "\u00b2",
    "ligatures that become eighteen letters": "\ufdfa",
    "letters that grow in lower case": "\u0130",
    "letters that grow in case folding": "\u00df",
    "Han": "\u6f22",
    "Thai": "\u0e01",
    "joiners": "a\u200d",
    "lone surrogates": "\ud800",
    "spaces": " ",
    "line ends": "\n",
}


@pytest.mark.parametrize("unit", REPEATED.values(), ids=REPEATED.keys())
def test_a_text_of_one_repeated_unit_takes_linear_time(unit: str) -> None:
    text = "x" + unit * (50_000 // len(unit))
    started = time.process_time()
    fingerprint(text)
    text_shingles(text)
    assert time.process_time() - started < HANG_SECONDS


def test_a_text_of_different_words_takes_linear_time() -> None:
    started = time.process_time()
    assert fingerprint(" ".join(f"word{number}" for number in range(20_000))).words == 20_000
    assert time.process_time() - started < HANG_SECONDS
