"""The fit of the embedding model for a query: the index has vectors of the model, and it knows the query's language.

Queries are embedded by the model of the index (`streams.stores.searched_model`). A gateway may lack that model. Vectors
of two models of the same length can be compared, but the answers would be nonsense, and nobody would see why. So
meaning is then left out, with a reason. Only names are compared, since versions of one model on other runtimes give the
same vectors.

A model that was trained on English finds copyright lines and lists of names for a German question, and finds them with
confidence. So only words are searched in a language that the model doesn't know. A wrong answer here costs an English
query its meaning, so a language needs evidence: another script, words that only it has, or a high probability without
an English word. Measured on English queries only, in docs/reference/retrieval.md.
"""

from collections.abc import Collection, Sequence

from streams.language.function_words import MIN_SHOWN, shown_language
from streams.models.protocols import ModelInfo
from streams.pages.text.alphabets import FUNCTION_WORDS
from streams.pages.text.language import identify, primary
from streams.pages.text.tokens import words
from streams.stores.vector_collection import ALIAS
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


def reader_of(text: str, accepted: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that a reader prefers: the query's if it is sure, the browser's, and English."""
    return tuple(dict.fromkeys(filter(None, (sure_language(text), *accepted, "en"))))


def sure_language(text: str) -> str:
    """Return the language (its primary subtag) of a query if it is sure, else an empty text.

    A name shows no language, and is often taken for English: `Mount Everest`.
    """
    asked = words(text)
    sure = primary(_sure_language(text) or shown_language(asked, identify(text).language))
    if sure == "en" and sum(word in FUNCTION_WORDS["en"] for word in asked) < MIN_SHOWN:
        return ""
    return sure


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


def mismatch(collection: str | None, model: ModelInfo, alias: str = ALIAS) -> str:
    """Return the reason why a query's vector of this model must not be searched, or an empty string.

    `collection` is the one that is searched; None: it is not known.
    """
    if not collection or collection.startswith(f"{alias}-{model.name}-"):
        return ""
    return (
        f"The index is {collection}, but queries are embedded by {model.name} {model.version}; meaning was not "
        "searched, words were. The gateway needs the index's model in its model repository."
    )
