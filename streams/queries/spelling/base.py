"""The base vocabulary: English words that are known before an index is, from a library and two files of this package.

pyspellchecker has words with their frequencies in subtitles. `books.zst` has words and pairs of words with
their frequencies in books, as symspellpy ships them (`python -m benchmarks.search.spelling_books` makes the file;
`books-licence.txt` is beside it). Technical words of documentation are in `technical.txt`, which
`python -m benchmarks.search.spelling_words` makes.
"""

from collections.abc import Mapping
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

Pairs = dict[tuple[str, str], float]
"""The number of times that two words stand one after the other."""


@cache
def base_corrector() -> Corrector:
    """Return the corrector that knows no index. It takes some seconds to make."""
    words, pairs = _books()
    return Corrector(Vocabulary(_with_forms(words), pairs))


def _with_forms(written: Mapping[str, float]) -> dict[str, float]:
    """Return the words of books, of speech and of documentation with their regular forms, per billion words."""
    spoken = {word: float(count) for word, count in SpellChecker("en").word_frequency.dictionary.items()}
    merged = merge_counts([(written, BOOKS_WEIGHT), (spoken, SPEECH_WEIGHT), (_technical(), TECHNICAL_WEIGHT)])
    return add_regular_forms(merged)


def _books() -> tuple[dict[str, float], Pairs]:
    """Return the words of books and the pairs of words, which the file has behind all words."""
    packed = resources.files(__package__).joinpath("books.zst").read_bytes()
    rows = zstandard.decompress(packed).decode().split("\n")
    first_pair = next(place for place, row in enumerate(rows) if row.count(" ") == 2)
    words, pairs = " ".join(rows[:first_pair]).split(" "), " ".join(rows[first_pair:]).split(" ")
    return (
        dict(zip(words[::2], map(float, words[1::2]), strict=True)),
        dict(zip(zip(pairs[::3], pairs[1::3], strict=True), map(float, pairs[2::3]), strict=True)),
    )


def _technical() -> dict[str, float]:
    text = resources.files(__package__).joinpath("technical.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {word: float(count) for word, count in rows}
