"""Statements in another language than the query: they may answer it, and have hardly any of its words. Pure.

A missing word says nothing there, and a cosine little: how near a question is to any text depends on both languages.
What tells an answer from the nearest of other texts is its lead: how far its cosine is above the one of the thirtieth
of the other pages' statements, in other languages, too. Names, numbers and codes stand in any language, and count as
words do (`confidence.py`). The bound of a model is measured by `python -m benchmarks across-languages`
(docs/decisions/0141). A model without one is judged as in one language.

For a query of uncertain language, such as a name or a few keywords, no statement is in another language.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from streams.caches import cached_if_short
from streams.language.function_words import FUNCTION_WORDS, MIN_SHOWN, typical_words
from streams.models.protocols import ModelInfo
from streams.pages.text.language import identify, is_written_in, primary
from streams.pages.text.scripts import dominant_script, script_counts
from streams.pages.text.tokens import words
from streams.stores.protocols import Hit
from streams.vectors.stemming import LANGUAGES

PLACE = 30
"""Place of the statement that an answer is compared with, among other pages: behind all that may answer."""
_MIN_LEADS = {"multilingual-e5-small": 0.096, "minilm-and-e5": 0.068}
"""The least lead of each model that knows several languages: chosen so that 8 % of the answers are lost."""
SURE, VERY_SURE = 0.9, 0.97
"""Minimum probability of a language with a typical word or letter in the query, and without."""
MIN_WORDS, MIN_WORDS_WITHOUT = 3, 4
"""Minimum words of a query whose language is only probable: names and keywords have none."""
MAX_CHARS = 500
"""Maximum length of a statement whose letters are looked at (characters)."""
_KEPT_QUERIES, _MAX_KEPT_CHARS = 128, 300
"""Queries whose language is kept in memory: their number, and the maximum length of one (characters)."""
_LATIN = "Latn"


@dataclass(frozen=True, slots=True)
class AskedIn:
    """The language that a query shows, as primary subtag, and its script; both empty if it is not sure."""

    language: str = ""
    script: str = ""

    def excludes(self, language: str) -> bool:
        """Return whether a text in this language (BCP 47) is surely in another one than the query."""
        own = primary(language)
        if not own:
            return False
        if self.language:
            return own != self.language
        return bool(self.script) and not is_written_in(own, self.script)

    def is_written_in(self, text: str) -> bool:
        """Return whether a text has letters of the query's script, if that is another one than Latin."""
        return self.script not in {"", _LATIN} and self.script in script_counts(text[:MAX_CHARS])

    def may_stand_elsewhere(self, word: str) -> bool:
        """Return whether a word of the query may stand in texts in other languages as it is: a code, or a name in
        another script."""
        script = dominant_script(script_counts(word))
        return any(map(str.isdigit, word)) or script not in {"", self.script}


UNSURE = AskedIn()


def min_lead(model: ModelInfo | None) -> float | None:
    """Return the bound of a model; None if it reads one language, or was not measured."""
    return _MIN_LEADS.get(model.name) if model else None


@cached_if_short(_KEPT_QUERIES, _MAX_KEPT_CHARS)  # a search asks for its lists, for longer ones, and for what it shows
def asked_in(text: str) -> AskedIn:
    """Return the language of a query: by its script, by function words, or by a high probability.

    Texts in English pages are in English as a rule, so a Latin query with as many English words shows no other one.
    """
    found = identify(text)
    if found.script != _LATIN:
        # Short texts in one script are taken for each other's languages: Chinese for Japanese.
        return AskedIn(primary(found.language) if found.confidence >= SURE else "", found.script)
    asked, language = words(text), primary(found.language)
    if language == "en":
        is_shown = len(FUNCTION_WORDS["en"].intersection(asked)) >= MIN_SHOWN
        return AskedIn(language, _LATIN) if is_shown else UNSURE
    own, english = typical_words(asked, language)
    if len(own) >= max(MIN_SHOWN, len(english)):
        return AskedIn(language, _LATIN)
    has_letters = any(char.isalpha() and not char.isascii() for char in text)
    is_typical = len(own) > 0 or (has_letters and not english)
    is_probable = found.confidence >= SURE and len(asked) >= MIN_WORDS and is_typical and len(own) >= len(english)
    is_plain = found.confidence >= VERY_SURE and len(asked) >= MIN_WORDS_WITHOUT and language in LANGUAGES
    return AskedIn(language, _LATIN) if is_probable or (is_plain and not english) else UNSURE


def divide(hits: Sequence[Hit], asked: AskedIn) -> tuple[Sequence[Hit], Sequence[Hit]]:
    """Return the statements that may be in the query's language, and those in other languages.

    A page in Latin letters may quote another script, and then has a few words that are near to all in that script.
    """
    own: list[Hit] = []
    elsewhere: list[Hit] = []
    excludes = cache(asked.excludes)
    for hit in hits:
        is_other = excludes(hit.payload.language) and not asked.is_written_in(hit.payload.text)
        (elsewhere if is_other else own).append(hit)
    return own, elsewhere


def lead_of(hits: Sequence[Hit]) -> float:
    """Return the distance of the first statement's cosine above the one at PLACE of other pages; 0 without any.

    A short list is compared with its last statement, and one of a single page with its own statements.
    """
    if not hits:
        return 0.0
    ranked = sorted(hits, key=lambda hit: -hit.score)  # pages that were added stand behind the list
    page = ranked[0].payload.page_key
    rest = [hit for hit in ranked if hit.payload.page_key != page] or ranked
    return ranked[0].score - rest[:PLACE][-1].score
