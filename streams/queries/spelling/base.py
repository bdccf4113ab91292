"""The base vocabularies: words that are known before an index is, from a library and from two files of this package.

pyspellchecker has words with frequencies in twelve languages. `books.zst` has English words and pairs of words with
their frequencies in books, as symspellpy ships them (`python -m benchmarks.search.spelling_books` makes the file;
`books-licence.txt` is beside it). Technical words of documentation are in `technical.txt`, which
`python -m benchmarks.search.spelling_words` makes.
"""

from functools import lru_cache
from importlib import resources

import zstandard
from spellchecker import SpellChecker

from streams.queries.spelling.corrector import Corrector, Model
from streams.queries.spelling.french import add_french_forms
from streams.queries.spelling.inflection import add_regular_forms
from streams.queries.spelling.vocabulary import Vocabulary, merge_counts

LANGUAGES = ("ar", "de", "en", "es", "eu", "fa", "fr", "it", "lv", "nl", "pt", "ru")
"""The languages with a base vocabulary (BCP 47)."""
BOOKS_WEIGHT = 1.0
SPEECH_WEIGHT = 0.2
"""The weight of pyspellchecker's frequencies, from subtitles, beside those of books: queries are not spoken."""
TECHNICAL_WEIGHT = 0.02
STRICT = {"fr": 4.0}
"""The score that a correction of letters needs in addition, by language. Chosen on two samples of made errors."""


@lru_cache(maxsize=2)
def base_corrector(language: str) -> Corrector:
    """Return the corrector of a language that knows no index. It takes about a second to make."""
    vocabulary = Vocabulary(base_counts(language), base_pairs(language))
    return Corrector(vocabulary, Model(strict=STRICT.get(language, 0.0)))


def base_counts(language: str) -> dict[str, float]:
    """Return the base vocabulary of a language, per billion words; empty if there is none."""
    if language not in LANGUAGES:
        return {}
    spoken = {word: float(count) for word, count in SpellChecker(language).word_frequency.dictionary.items()}
    if language == "fr":
        return add_french_forms(merge_counts([(spoken, 1.0)]))
    if language != "en":
        return merge_counts([(spoken, 1.0)])
    written = {row[0]: float(row[1]) for row in _books() if len(row) == 2}
    merged = merge_counts([(written, BOOKS_WEIGHT), (spoken, SPEECH_WEIGHT), (_technical(), TECHNICAL_WEIGHT)])
    return add_regular_forms(merged)


def base_pairs(language: str) -> dict[tuple[str, str], float]:
    """Return how often two words stand one after the other; empty if it is not known for the language."""
    if language != "en":
        return {}
    return {(row[0], row[1]): float(row[2]) for row in _books() if len(row) == 3}


def _books() -> list[list[str]]:
    """Return the rows of books: a word or a pair of words, and how often books have it."""
    packed = resources.files(__package__).joinpath("books.zst").read_bytes()
    return [line.split() for line in zstandard.decompress(packed).decode().splitlines()]


def _technical() -> dict[str, float]:
    text = resources.files(__package__).joinpath("technical.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {word: float(count) for word, count in rows}
