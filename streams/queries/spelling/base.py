"""The base vocabulary: English words that are known before an index is, from a library and two files of this package.

pyspellchecker has words with their frequencies in subtitles. `books.zst` has words and pairs of words with
their frequencies in books, as symspellpy ships them (`python -m benchmarks.search.spelling_books` makes the file;
`books-licence.txt` is beside it). Technical words of documentation are in `technical.txt`, which
`python -m benchmarks.search.spelling_words` makes.
"""

from functools import cache
from importlib import resources

import zstandard
from spellchecker import SpellChecker

from streams.queries.spelling.corrector import Corrector
from streams.queries.spelling.inflection import add_regular_forms
from streams.queries.spelling.vocabulary import Vocabulary, merge_counts

BOOKS_WEIGHT = 1.0
SPEECH_WEIGHT = 0.2
"""The weight of pyspellchecker's frequencies, from subtitles, beside books: queries are not spoken."""
TECHNICAL_WEIGHT = 0.02

Books = list[list[str]]
"""Rows of books: a word or a pair of words, and how often books have it."""


@cache
def base_corrector() -> Corrector:
    """Return the corrector that knows no index. It takes some seconds to make."""
    books = _books()
    return Corrector(Vocabulary(base_counts(books), _pairs(books)))


def base_counts(books: Books | None = None) -> dict[str, float]:
    """Return the base vocabulary, per billion words."""
    books = _books() if books is None else books
    spoken = {word: float(count) for word, count in SpellChecker("en").word_frequency.dictionary.items()}
    written = {row[0]: float(row[1]) for row in books if len(row) == 2}
    merged = merge_counts([(written, BOOKS_WEIGHT), (spoken, SPEECH_WEIGHT), (_technical(), TECHNICAL_WEIGHT)])
    return add_regular_forms(merged)


def _pairs(books: Books) -> dict[tuple[str, str], float]:
    """Return how often two words stand one after the other."""
    return {(row[0], row[1]): float(row[2]) for row in books if len(row) == 3}


def _books() -> Books:
    packed = resources.files(__package__).joinpath("books.zst").read_bytes()
    return [line.split() for line in zstandard.decompress(packed).decode().splitlines()]


def _technical() -> dict[str, float]:
    text = resources.files(__package__).joinpath("technical.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {word: float(count) for word, count in rows}
