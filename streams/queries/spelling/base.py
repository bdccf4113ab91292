"""The base vocabularies: words that are known before an index is, from the dictionaries of two libraries.

pyspellchecker has words with frequencies in twelve languages; symspellpy has English words and pairs of words with
their frequencies in books. Technical words of documentation come from a file of this package, which
`python -m benchmarks.search.spelling_words` makes.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

from spellchecker import SpellChecker

from streams.queries.spelling.corrector import Corrector, Model
from streams.queries.spelling.french import add_french_forms
from streams.queries.spelling.inflection import add_regular_forms
from streams.queries.spelling.vocabulary import Vocabulary, merge_counts

LANGUAGES = ("ar", "de", "en", "es", "eu", "fa", "fr", "it", "lv", "nl", "pt", "ru")
"""The languages with a base vocabulary (BCP 47)."""
BOOKS_WEIGHT = 1.0
SPEECH_WEIGHT = 0.2
"""The weight of pyspellchecker's frequencies, from subtitles, beside symspellpy's: queries are not spoken."""
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
    merged = merge_counts([(_books(), BOOKS_WEIGHT), (spoken, SPEECH_WEIGHT), (_technical(), TECHNICAL_WEIGHT)])
    return add_regular_forms(merged)


def base_pairs(language: str) -> dict[tuple[str, str], float]:
    """Return how often two words stand one after the other; empty if it is not known for the language."""
    if language != "en":
        return {}
    rows = _rows("frequency_bigramdictionary_en_243_342.txt")
    return {(first, second): count for (first, second), count in rows}


def _books() -> dict[str, float]:
    return {word: count for (word,), count in _rows("frequency_dictionary_en_82_765.txt")}


def _technical() -> dict[str, float]:
    text = resources.files(__package__).joinpath("technical.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {word: float(count) for word, count in rows}


def _rows(name: str) -> Iterator[tuple[list[str], float]]:
    """Yield the words of each row, and the count behind them."""
    for line in resources.files("symspellpy").joinpath(name).read_text("utf-8-sig").splitlines():
        *words, count = line.split()
        yield words, float(count)
