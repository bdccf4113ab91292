"""A query in the form that the index reads: its vectors, and the conditions that the index checks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from streams.errors import SearchUnavailable
from streams.language.function_words import is_function_word
from streams.language.questions import counting_words
from streams.pages.text.language import identify, primary
from streams.pages.text.tokens import index_words, is_spaceless, word_spans, words
from streams.plain_text import message
from streams.search.deadline import Deadline, OnFailure
from streams.search.own_words import NONE_USED, Used, add_synonyms, used_by
from streams.search.query_language.operators import SITE, Conditions, narrow
from streams.search.query_language.query import find_addresses, parse_query
from streams.search.ranking.confidence import NamedWord
from streams.search.request import SearchRequest
from streams.search.retrieval.model_fit import MODEL_LANGUAGES, mismatch, unknown_language
from streams.search.retrieval.query_embedder import QueryEmbedder
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.stores.protocols import Filters, SparseVector, Visible
from streams.stores.searched_model import ModelInUse
from streams.vectors.bm25 import MAX_QUERY_TERMS, named_query_words, query_vector

UNKNOWN_LANGUAGE = "und"


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """A request with at least one of its vectors."""

    request: SearchRequest
    text: str
    """The query without its operators."""
    conditions: Conditions
    filters: Filters = field(default_factory=Filters)
    """The conditions that the index checks before it cuts its lists."""
    dense: Sequence[float] | None = None
    sparse: SparseVector | None = None
    words: tuple[tuple[int, ...], ...] = ()
    """The terms of each word of the query, each word once."""
    named: tuple[NamedWord, ...] = ()
    """These words as they were typed, without numbers and without scripts that have no spaces between words."""
    has_text: bool = True
    """False if the query has only operators, so that `text` is their values."""
    addresses: tuple[str, ...] = ()
    """The URLs that the query may be, if it is the address of a page."""
    in_use: ModelInUse | None = None
    """The model of the vector, and the collection to read."""
    used: Used = NONE_USED
    """The own words of the site that the query uses."""

    @property
    def addressed(self) -> tuple[str, ...]:
        """The URLs of pages that are among the results if they are there: named by the query, or pinned by the site."""
        return (*self.addresses, self.used.pinned) if self.used.pinned else self.addresses

    @property
    def collection(self) -> str | None:
        """The collection to read. None: the one that searches read."""
        return self.in_use.collection if self.in_use else None

    @property
    def is_of_one_site(self) -> bool:
        """True if the request names a host, or sites."""
        return bool(self.request.host or self.request.include) or SITE.name in self.conditions


class QueryReader:
    """The reader of the queries of one process. It holds the cache of vectors."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure, model_languages: Sequence[str] | None = None) -> None:
        self._embedder = QueryEmbedder(on_failure)
        self._searched = stores.embedder
        self._model_languages = model_languages

    async def read(self, request: SearchRequest, deadline: Deadline, trace: Trace) -> IndexQuery:
        """Return the query with its vectors. Raises SearchUnavailable if the query has no vector."""
        parsed = parse_query(request.text)
        with trace.timed("terms_ms"):
            language = request.languages[0] if len(request.languages) == 1 else ""
            used = used_by(parsed.text, request.text, request.visible.site)
            named, vector = named_query_words(parsed.text, language), query_vector(parsed.text, language)
            if used.synonyms:
                named, vector = add_synonyms(named, vector, used, language)
            sparse = _note_words(vector, trace)
        in_use = await self._searched.look()
        dense = await self._make_dense(parsed.text, request.visible, in_use, deadline, trace)
        if dense is not None and sparse is not None and self._is_unknown(request, parsed.text, trace):
            dense = None
        if dense is None and sparse is None:
            raise SearchUnavailable(_nothing_left(trace))
        filters = _index_filters(request, parsed.conditions)
        asked = tuple(dict.fromkeys(forms for _, forms in named))[:MAX_QUERY_TERMS]
        return IndexQuery(
            request,
            parsed.text,
            parsed.conditions,
            filters,
            dense,
            sparse,
            asked,
            _as_typed(parsed.text, named, request.accepted),
            parsed.has_text,
            find_addresses(parsed.text),
            in_use,
            used,
        )

    async def _make_dense(
        self, text: str, visible: Visible, in_use: ModelInUse, deadline: Deadline, trace: Trace
    ) -> Sequence[float] | None:
        if trace.leave_out("dense"):
            return None
        vector = await self._embedder.embed(text, visible, in_use, deadline, trace)
        if vector is not None and trace.model and (reason := mismatch(in_use.collection, trace.model)):
            trace.fail("dense", reason)
            return None
        return vector

    def _is_unknown(self, request: SearchRequest, text: str, trace: Trace) -> bool:
        """Return True, and note the reason, if the embedding model doesn't know the language of the query."""
        known = self._model_languages
        if known is None:
            known = MODEL_LANGUAGES.get(trace.model.name, ()) if trace.model else ()
        if not (language := unknown_language(text, request.languages, known)):
            return False
        trace.states["dense"] = "empty"
        trace.reasons["dense"] = message(
            "The embedding model doesn't know this language (%(language)s); only words were searched.",
            language=language,
        )
        return True


def _as_typed(text: str, named: Sequence[NamedWord], accepted: Sequence[str]) -> tuple[NamedWord, ...]:
    """Return the words with letters as they were typed, each once.

    Function words of the language that the query seems to be in, or that its reader has, are left out, also where a
    search keeps them: "no page has `einer`" helps nobody. So are those that only ask for a number.
    """
    languages = {identify(text).language, *map(primary, accepted)}
    counting = counting_words(words(text))
    spans = [text[start:end] for start, end in word_spans(text)]
    typed = {word: span for span in reversed(spans) for word in index_words(span)}
    of_words = {word: (typed.get(word, word), forms) for word, forms in named if not is_spaceless(word[0])}
    return tuple(
        word
        for folded, word in of_words.items()
        if any(map(str.isalpha, folded))
        and folded not in counting
        and not any(is_function_word(folded, language) for language in languages)
    )


def _note_words(vector: SparseVector, trace: Trace) -> SparseVector | None:
    trace.states["sparse"] = "ok" if vector.indices else "empty"
    if not vector.indices:
        trace.reasons["sparse"] = message("The query has no words that are kept in the word index.")
        return None
    return vector


def _index_filters(request: SearchRequest, conditions: Conditions) -> Filters:
    filters = narrow(Filters(host=request.host or None, languages=request.languages), conditions)
    return replace(
        filters,
        languages=tuple(map(_as_indexed, filters.languages)),
        sites=_limit_sites(filters.sites, request.include),
        exclude_sites=tuple(dict.fromkeys((*filters.exclude_sites, *request.exclude))),
    )


def _limit_sites(sites: Sequence[str], included: Sequence[str]) -> tuple[str, ...]:
    """Return the domains that are of both lists. An empty list is no condition.

    If no domain is of both, the included ones remain: the results are checked for the sites of the query's operators,
    and none of them meets that condition.
    """
    if not sites or not included:
        return tuple(sites or included)
    both = [a if _is_within(a, b) else b for a in sites for b in included if _is_within(a, b) or _is_within(b, a)]
    return tuple(dict.fromkeys(both)) or tuple(included)


def _is_within(domain: str, other: str) -> bool:
    return domain == other or domain.endswith(f".{other}")


def _as_indexed(language: str) -> str:
    """Return the language as the index has it: an empty string for an unknown language, which BCP 47 calls `und`."""
    return "" if language == UNKNOWN_LANGUAGE else language


def _nothing_left(trace: Trace) -> str:
    reason = trace.reasons.get("dense", "").partition(";")[0] or "The query has no meaning that could be searched"
    return f"{reason}, and the query has no words that are kept in the word index."
