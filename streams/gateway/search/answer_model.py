"""The fields of the API's answer to a search, as pydantic models. Programs read their descriptions."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from streams.gateway.http.openapi import ApiModel
from streams.plain_text import Sentence
from streams.queries.quick.model import QuickCheck
from streams.queries.spelling.decision import Spelling
from streams.search.ranking.signals import SIGNALS
from streams.stores.statement_payload import NO_PLACE, Place


class Statement(ApiModel):
    """A sentence, list item or table row that matched. If only a title or links matched: the page's first sentence."""

    id: UUID = Field(description="The same as long as page, position and text are the same.")
    text: str = Field(description="Plain text, never HTML: escape it before you show it. One line; code has its lines.")
    kind: str = Field(
        "",
        description="What it was made from: sentence, item, link (an item that is only links), list (short items of "
        "one list), row, code or heading.",
    )
    context: tuple[str, ...] = Field((), description="The headings and lead-ins above it, widest first.")
    highlights: tuple[tuple[int, int], ...] = Field(
        (), description="Words of the query in `text`: [start, end) in Unicode code points."
    )
    score: float = Field(description="Comparable within one answer, not between answers.")
    file_page: int | None = Field(None, description="The page of a file that has it, such as of a PDF: `#page=3`.")
    anchor: str | None = Field(None, description="The name of the place in the page that has it, as in `#checkpoints`.")
    place: Place = Field(NO_PLACE, exclude=True)


class SimilarPage(ApiModel):
    """A duplicate of a result."""

    page_id: UUID
    url: str


class Version(ApiModel):
    """The page of a result in another language."""

    language: str = Field(description="BCP 47.")
    url: str


class Similar(ApiModel):
    """The duplicates of a result. They are not results of their own."""

    count: int = Field(description="How many are in `pages`.")
    more: bool = Field(False, description="There may be others: `why` lists more.")
    pages: tuple[SimilarPage, ...] = Field(description="The shortest addresses first.")


class Signal(ApiModel):
    """The part of one signal of the ranking in a result's score."""

    name: str = Field(description=", ".join(f"`{one.name}`" for one in SIGNALS) + ".")
    share: float = Field(description="Its share of the score, from 0 to 1.")
    amount: Sentence = Field(description="The share in words.")
    says: Sentence = Field(description="What the signal is about, in words.")


class SitePage(ApiModel):
    """A further page of the site that the query names."""

    url: str
    title: str


class Facts(ApiModel):
    """Facts that the page's own structured data states."""

    type: str | None = Field(None, description="The type of the page by schema.org, such as `Recipe`.")
    author: str | None = None
    rating: float | None = None
    best: float | None = Field(None, description="The best possible rating.")
    ratings: int | None = Field(None, description="The number of ratings.")
    price: float | None = Field(None, description="The price, or the lowest one.")
    currency: str | None = Field(None, description="ISO 4217.")
    seconds: int | None = Field(None, description="The duration of what the page is about: a video, a recipe.")
    answer: str | None = Field(None, description="The accepted answer to the page's question.")


class FacetValue(ApiModel):
    """A value of a facet, with the number of candidates that have it."""

    value: str
    count: int


class Result(ApiModel):
    """A page, with its statements that matched, best first."""

    page_id: UUID
    url: str
    title: str
    host: str
    language: str = Field("", description="BCP 47; empty when unknown.")
    published: str | None = Field(
        None,
        description="The date of publication that the page states (ISO 8601): a day, a month or a year.",
    )
    fetched: datetime | None = Field(None, description="The time of the fetch whose text was found.")
    site_name: str | None = Field(None, description="The name that the site gives itself.")
    facts: Facts | None = Field(None, description="Absent when the page states none, or its record does not answer.")
    breadcrumbs: tuple[str, ...] = Field((), description="Host and path, decoded, for people.")
    statements: tuple[Statement, ...] = Field(
        description="The first one has an empty text where the publisher allows no quotation (`nosnippet`)."
    )
    similar: Similar | None = Field(
        None, description="The duplicates of this page; absent when there are none, or they are not known."
    )
    versions: tuple[Version, ...] = Field((), description="The same page in other languages, each once.")
    lacks: tuple[str, ...] = Field(
        (), description="Rare words of the query that the page does not have, also those that no page has."
    )
    site_pages: tuple[SitePage, ...] = Field((), description="Pages of its site, if the query is the site's name.")
    signals: tuple[Signal, ...] = Field((), description="Why it was found, the largest share of its score first.")
    kept_from_models: tuple[str, ...] = Field(
        (),
        description="The publisher's directives (`noai`, ...) for which no language model gets the page's text; "
        "`record-unread`: they could not be read.",
    )
    why: str = Field(description="Path of the page's history: when and why it was indexed.")
    score: float = Field(description="Comparable within one answer, not between answers.")
    nearest: Literal[True] | None = Field(
        None,
        description="The page is only one of the nearest by meaning: it shares far less with the query than the best.",
    )
    parts: dict[str, float] | None = Field(
        None, description="With `explain`: what each signal of the ranking gave the page, by the signal's name."
    )


class Reason(ApiModel):
    """A part of the search that failed or was left out, and why."""

    part: str = Field(
        description=(
            "`dense` (meaning), `sparse` (words), `index`, `rerank` (the cross-encoder), `authority` (ranks of hosts), "
            "`copies` (texts of near-duplicates), `similar` (lists of duplicates), or a source."
        )
    )
    detail: Sentence


class Explanation(ApiModel):
    """The parts of the search: their state, their time, and the model."""

    parts: dict[str, str] = Field(description="Each part's state: ok, cached, empty or failed.")
    timings_ms: dict[str, float]
    model: str = Field("", description="Embedding model and version; empty when meaning was not searched.")
    fusion: str = Field("", description="How the two rankings became one (`scores`); empty when there was one only.")
    meaning_weight: float | None = Field(
        None, description="The weight of meaning in the sum of both scores; words have the rest to 1."
    )
    searched: str = Field("", description="The query without its operators.")
    passes: dict[str, dict[str, int | float | str]] = Field(
        {},
        description=(
            "What the passes of the ranking did, by their names: `filters` has the number of results that each filter "
            "left out, or moved behind the first page (`host`)."
        ),
    )


class WrittenOperator(ApiModel):
    """An operator of the query, as it was written."""

    name: str = Field(description="`phrase`, `-phrase` (an excluded word or phrase), `site`, `-site`, `after`, ...")
    text: str = Field(description="The operator with its value.", examples=["site:sqlite.org"])
    value: str
    query_without: str = Field(
        description="The query without the operator. The words of a phrase stay; empty if nothing else is left."
    )


class SearchAnswer(ApiModel):
    """The results, and how complete they are."""

    query: str = Field(description="The query as it was searched for: normalised.")
    text: str = Field("", description="The query without its operators.")
    operators: tuple[WrittenOperator, ...] = Field((), description="The operators of the query, in their order.")
    languages: tuple[str, ...] = Field((), description="The languages that were searched; empty: all.")
    page: int
    per_page: int
    has_next: bool
    next: str | None = Field(
        None,
        description="The `cursor` of the next page, where no result is shown again; absent when there is no next page.",
    )
    results: tuple[Result, ...]
    nearest_only: bool = Field(
        False,
        description=(
            "Nothing was found: `results` are at most three pages that are nearest by meaning, and each has `nearest`. "
            "There are no further pages."
        ),
    )
    missing: tuple[str, ...] = Field((), description="Words, names, versions and codes of the query that no page has.")
    facets: dict[str, tuple[FacetValue, ...]] = Field(
        {},
        description=(
            "The candidates found by `host`, `language`, `published` (within a `day`, `week`, `month` or `year`), "
            "`pagetype` and `filetype`, the most frequent values first. Candidates are not all pages of the index."
        ),
    )
    partial: bool = Field(description="A part of the search, or a source beside it, failed or was left out.")
    reasons: tuple[Reason, ...] = ()
    took_ms: float
    explain: Explanation | None = None
    quick: QuickCheck | None = Field(
        None,
        description="The answer to a sum, a conversion of units, a time, a date or a definition that was asked for.",
    )
    spelling: Spelling | None = Field(
        None,
        description="A correction of a query that is probably misspelt; absent when the index has its words.",
    )
    beside: dict[str, Any] | None = Field(
        None, description="What other sources have for the query, by their names; absent when none has anything."
    )
