"""The fit of the embedding model for a query: the index has vectors of the model, and it knows the query's language.

`riffle reindex` may switch the index to another model while gateways run. Vectors of two models of the same length can
be compared, but the answers would be nonsense, and nobody would see why. So meaning is then left out, with a reason,
until the gateways have the new model. Only names are compared, since versions of one model on other runtimes give the
same vectors.

A model that was trained on English finds copyright lines and lists of names for a German question, and finds them with
confidence. So only words are searched in a language that the model doesn't know. A wrong answer here costs an English
query its meaning, so a language needs evidence: another script, words that only it has, or a high probability without
an English word. Measured on English queries only, in docs/reference/retrieval.md.
"""

from asyncio import timeout
from collections.abc import Awaitable, Callable, Collection
from time import monotonic

import structlog

from streams.language.function_words import shown_language
from streams.models.protocols import ModelInfo
from streams.pages.text.alphabets import FUNCTION_WORDS
from streams.pages.text.language import identify, primary
from streams.pages.text.tokens import words
from streams.search.deadline import OptionalPart
from streams.stores.vector_collection import ALIAS
from streams.vectors.stemming import LANGUAGES

CHECK_SECONDS = 15.0
"""Maximum age of the active collection's name before it is read again (seconds)."""
MAX_SECONDS = 0.2
"""Maximum time that a search waits for the name (seconds)."""
MODEL_LANGUAGES = {"all-minilm-l6-v2": ("en",)}
"""The languages of the models that Riffle brings, by the model's name. Any other model is taken to know all."""
MIN_CONFIDENCE = 0.9
"""Minimum probability of a language that has a function word in the query."""
MIN_WORDS = 3
"""Minimum words of a query with such a word. Names and keywords have no language."""
MIN_CONFIDENCE_WITHOUT = 0.97
MIN_WORDS_WITHOUT = 4
"""The same for a query without function words."""

log = structlog.get_logger(__name__)


def unknown_language(text: str, asked: Collection[str], known: Collection[str]) -> str:
    """Return the query's language (BCP 47) if the model doesn't know it; else, or if it isn't sure, an empty text.

    `asked` are the languages that the request names: pages of a single unknown one are only found by words.
    """
    if not known:
        return ""
    language = next(iter(asked)) if len(asked) == 1 else _sure_language(text)
    return "" if primary(language) in {"", "und", *known} else language


def query_language(text: str) -> str:
    """Return the language (its primary subtag) that a query shows itself; empty if it shows none."""
    return primary(_sure_language(text) or shown_language(words(text), identify(text).language))


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


class ActiveModel:
    """The model of the active collection. `read` reads the collection's name, again after CHECK_SECONDS."""

    def __init__(self, read: Callable[[], Awaitable[str | None]], alias: str = ALIAS) -> None:
        self._read_name, self._alias = read, alias
        # The search itself counts an index that is away.
        self._part = OptionalPart("name of the active collection")
        self._collection = ""
        self._asked_at = float("-inf")

    async def mismatch(self, model: ModelInfo) -> str:
        """Return the reason why vectors of this model must not be searched, or an empty string."""
        collection = await self._active()
        if not collection or collection.startswith(f"{self._alias}-{model.name}-"):
            return ""
        return (
            f"The index is {collection}, but queries are embedded by {model.name} {model.version}; meaning was not "
            "searched, words were. Restart the gateway with the index's model."
        )

    async def _active(self) -> str:
        if monotonic() - self._asked_at >= CHECK_SECONDS:
            self._asked_at = monotonic()
            collection = await self._part.read(self._read, timeout(MAX_SECONDS))
            if collection is None:
                return self._collection
            if self._collection and collection != self._collection:
                log.warning("the index was switched", before=self._collection, now=collection)
            self._collection = collection
        return self._collection

    async def _read(self) -> str:
        return await self._read_name() or ""
