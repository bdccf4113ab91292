"""The language of a query that the embedding model doesn't know: then only words are searched, by their stems. Pure.

A model that was trained on English finds copyright lines and lists of names for a German question, and finds them with
confidence. A wrong answer here costs an English query its meaning, so a language needs evidence: another script, words
that only it has, or a high probability without an English word. Measured on English queries only, in
docs/reference/retrieval.md.
"""

from collections.abc import Collection

from streams.pages.text.alphabets import FUNCTION_WORDS
from streams.pages.text.language import identify, primary
from streams.pages.text.tokens import words
from streams.vectors.stemming import LANGUAGES

MODEL_LANGUAGES = {"all-minilm-l6-v2": ("en",)}
"""The languages of the models that Riffle brings, by the model's name. Any other model is taken to know all."""
MIN_CONFIDENCE = 0.9
"""Minimum probability of a language that has a function word in the query."""
MIN_WORDS = 3
"""Minimum words of a query with such a word. Names and keywords have no language."""
MIN_CONFIDENCE_WITHOUT = 0.97
MIN_WORDS_WITHOUT = 4
"""The same for a query without function words."""


def unknown_language(text: str, asked: Collection[str], known: Collection[str]) -> str:
    """Return the query's language (BCP 47) if the model doesn't know it; else, or if it isn't sure, an empty text.

    `asked` are the languages that the request names: pages of a single unknown one are only found by words.
    """
    if not known:
        return ""
    language = next(iter(asked)) if len(asked) == 1 else _sure_language(text)
    return "" if primary(language) in {"", "und", *known} else language


def _sure_language(text: str) -> str:
    found = identify(text)
    if not found.language or found.script != "Latn":
        return found.language
    asked = words(text)
    own, english = FUNCTION_WORDS.get(found.language, frozenset()), FUNCTION_WORDS["en"]
    typical = sum(word in own and word not in english for word in asked)
    foreign = sum(word in english and word not in own for word in asked)
    has_words = len(asked) >= MIN_WORDS and typical >= max(foreign, 1) and found.confidence >= MIN_CONFIDENCE
    is_likely = len(asked) >= MIN_WORDS_WITHOUT and not foreign and found.confidence >= MIN_CONFIDENCE_WITHOUT
    return found.language if has_words or (is_likely and found.language in LANGUAGES) else ""
