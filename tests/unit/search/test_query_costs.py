"""A query of the longest length costs little before the index is asked, whatever its form.

The forms are those that make work of another kind: letters of every width in UTF-8, letters that a normal form makes
longer (Unicode, annex 15), marks without end, words that no vocabulary has, every operator many times, and brackets,
quotation marks and numbers that are opened and not closed.
"""

from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import product

import pytest

from streams.errors import InvalidQuery
from streams.gateway.http.highlighting import highlights
from streams.gateway.http.highlighting import query_words as highlighted_words
from streams.queries.quick import checks
from streams.queries.spelling.corrector import Corrector
from streams.queries.spelling.vocabulary import Vocabulary
from streams.queries.suggestions.block_words import BlockedWords
from streams.search.query_language.matching import identifiers
from streams.search.query_language.query import find_addresses, find_operators, parse_query
from streams.search.request import MAX_QUERY_CHARS, parse
from streams.stores.protocols import FOR_EVERYBODY
from streams.vectors.bm25 import query_vector, query_words
from tests.cpu_guard import cpu_guard

NOW = datetime(2026, 3, 4, tzinfo=UTC)
SECONDS = 1.5
PARTS = {
    "ordinary words": "the tides of the harbour ",
    "one letter a word": "a b c d e f g ",
    "letters that become eighteen": "\ufdfa",
    "letters that become three": "\u3314\u33c2\ufb03",
    "letters of four bytes": "\U0001d552\U00020000",
    "composed syllables": "\ud55c\uae00 ",
    "syllables in parts": "\u1112\u1161\u11ab",
    "a word of one script without spaces": "\u0e01\u0e32",
    "three scripts without spaces": "\u65e5\u30ab\u306a\u0e01",
    "right to left and back": "\u202eabc\u202c \u05d0\u05d1 ",
    "marks": "o\u0302\u0323\u0301",
    "joiners": "\U0001f469\u200d\U0001f4bb",
    "flags": "\U0001f1e9\U0001f1ea",
    "soft hyphens": "sy\u00adllab\u00adles ",
    "capitals of one word": "ThisIsOneNameOfAThing",
    "names with underscores": "x_y ",
    "words with one mistake": "harbuor teh wrodl ",
    "hyphens": "well-known-",
    "apostrophes": "'tis o'the ",
    "open quotations": '"a b ',
    "quotations in each other": '"\u201c\u00ab',
    "signs before words": "-+~!",
    "operators without values": "site: intitle: after: lang: ",
    "operators with each other as values": "site:intitle:site:",
    "addresses": "inurl:a/b/c/ ",
    "dates that are none": "after:9999-99-99 before:0000-00-00 ",
    "choices": "(a OR b) OR (",
    "brackets of all kinds": "([{<",
    "sums of fractions": "1/3+",
    "roots and powers": "sqrt(2)^",
    "numbers with points and commas": "1,000.000.",
    "units of units": "km per hour per ",
    "questions": "what is the what is ",
    "percent signs": "%25%",
    "numbers in other scripts": "\u0661\u0967\u2460",
    "nulls of an address": "%00",
    "lines": "a\n\tb\r",
}


@cache
def small_corrector() -> Corrector:
    """Return a corrector of all pairs of syllables: the base vocabulary takes seconds to make."""
    syllables = ["ha", "ro", "bu", "te", "wo", "dl", "sy", "la", "the", "tis", "or", "km"]
    words = {one + other: float(1 + place) for place, (one, other) in enumerate(product(syllables, syllables))}
    return Corrector(Vocabulary(words, {("the", "tide"): 1.0}))


def read_all(query: str) -> None:
    """Run what runs for a query alone."""
    with suppress(InvalidQuery):
        parse(query, visible=FOR_EVERYBODY)
        parse_query(query)
    for read in (find_operators, find_addresses, identifiers, query_vector, query_words, checks.definition_subject):
        read(query)
    checks.check_query(query, NOW)
    highlights(query * 3, highlighted_words(query))
    BlockedWords(["thief", "kill yourself"]).blocks(query)
    small_corrector().correct(query)


@pytest.fixture(scope="module", autouse=True)
def what_is_loaded_once() -> None:
    checks.warm_up()
    read_all("the tides of 1 km in miles")


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_query_of_the_longest_length_costs_little(part: str) -> None:
    with cpu_guard(SECONDS):
        read_all((part * MAX_QUERY_CHARS)[:MAX_QUERY_CHARS])
