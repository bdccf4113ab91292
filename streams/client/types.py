"""The types of the API's answers, made by `make schemas` of the OpenAPI document."""

from typing import Any, Literal, NotRequired, TypedDict


class DocumentBlock(TypedDict):
    """One text of a document."""

    tag: str
    text: str
    parent: NotRequired[int]
    spans: NotRequired[list["DocumentSpan"]]
    language: NotRequired[str]


class DocumentContainer(TypedDict):
    """A structural element around blocks, such as `ul` or `table`."""

    tag: str
    parent: NotRequired[int]
    spanned_by: NotRequired[int]


class DocumentContent(TypedDict):
    """The text and structure of a page, without its markup and boilerplate (docs/reference/document.md)."""

    title: NotRequired[str]
    description: NotRequired[str]
    language: NotRequired[str]
    containers: NotRequired[list["DocumentContainer"]]
    blocks: NotRequired[list["DocumentBlock"]]
    links: NotRequired[list["DocumentLink"]]
    facts: NotRequired[dict[str, Any]]
    is_cut: NotRequired[bool]


class DocumentLink(TypedDict):
    url: str
    text: NotRequired[str]
    in_content: bool


class DocumentSpan(TypedDict):
    """A marked part of a block: `text[start:end]`, in Unicode code points."""

    start: int
    end: int
    kind: str
    target: NotRequired[str]
    label: NotRequired[str]


class Explanation(TypedDict):
    """The parts of the search: their state, their time, and the model."""

    parts: dict[str, str]
    timings_ms: dict[str, float]
    model: NotRequired[str]
    fusion: NotRequired[str]
    meaning_weight: NotRequired[float]
    searched: NotRequired[str]
    passes: NotRequired[dict[str, dict[str, int]]]


class Extract(TypedDict):
    """The content of one page: of the index, or fetched now."""

    source: Literal["index", "web"]
    url: str
    page_id: str
    document: "DocumentContent"
    statements: NotRequired[list["PageStatement"]]
    statement_count: NotRequired[int]
    directives: NotRequired[list[str]]
    untrusted: NotRequired[Literal[True]]


class FacetValue(TypedDict):
    """A value of a facet, with the number of candidates that have it."""

    value: str
    count: int


class Facts(TypedDict):
    """Facts that the page's own structured data states."""

    type: NotRequired[str]
    author: NotRequired[str]
    rating: NotRequired[float]
    best: NotRequired[float]
    ratings: NotRequired[int]
    price: NotRequired[float]
    currency: NotRequired[str]
    seconds: NotRequired[int]
    answer: NotRequired[str]


class FetchFailure(TypedDict):
    """The reason why a fetch brought no content."""

    outcome: str
    http_status: NotRequired[int]
    error: NotRequired[str]
    retryable: NotRequired[bool]


class IndexContents(TypedDict):
    """Hosts and languages of a sample of the statements that a client can find."""

    sampled: int
    only: NotRequired[list[str]]
    hosts: NotRequired[list["FacetValue"]]
    languages: NotRequired[list["FacetValue"]]


class IndexedStatement(TypedDict):
    """A statement of the page that searches can find."""

    id: str
    text: str
    context: NotRequired[list[str]]
    doubtful: NotRequired[bool]


class LifeEvent(TypedDict):
    """One event of a page's history."""

    id: str
    at: str
    topic: str
    source: str
    outcome: str
    data: NotRequired[dict[str, Any]]


class LinkFrom(TypedDict):
    """A link to the page from a page of another domain."""

    url: str
    anchor: NotRequired[str]
    nofollow: NotRequired[bool]


class LinkingDomain(TypedDict):
    """A registrable domain that links to the page."""

    domain: str
    links: list["LinkFrom"]


class OtherPage(TypedDict):
    page_id: str
    url: NotRequired[str]


class PageDocument(TypedDict):
    """The document of an indexed page."""

    page_id: str
    url: str
    ref: str
    document: "DocumentContent"
    untrusted: NotRequired[Literal[True]]


class PageRecord(TypedDict):
    """All that is known of a page."""

    page_id: str
    url: str
    title: NotRequired[str]
    status: Literal["indexed", "duplicate", "redirected", "waiting", "removed", "refused", "not_indexed", "unknown"]
    state: "PageStatus"
    says: str
    left_out: NotRequired[str]
    not_rendered: NotRequired[str]
    next_step: NotRequired[str]
    canonical: NotRequired["OtherPage"]
    duplicates: NotRequired[list["OtherPage"]]
    timeline: list["LifeEvent"]
    older_transitions: NotRequired[int]
    statements: NotRequired[list["IndexedStatement"]]
    parts: dict[str, dict[str, Any]]
    linked_from: NotRequired[list["LinkingDomain"]]
    linking_domains: NotRequired[int]
    partial: NotRequired[bool]
    missing: NotRequired[list[str]]


class PageStatement(TypedDict):
    """A statement of a page, as it was indexed."""

    id: str
    ordinal: int
    text: str
    context: NotRequired[list[str]]
    kind: NotRequired[str]
    block: NotRequired[int]
    start: NotRequired[int]
    end: NotRequired[int]
    chain: NotRequired[list[int]]
    doubtful: NotRequired[bool]


class PageStatus(TypedDict):
    """A page's status, with the fields that its reason has."""

    status: Literal["indexed", "duplicate", "redirected", "waiting", "removed", "refused", "not_indexed", "unknown"]
    reason: NotRequired[
        Literal[
            "exact_duplicate",
            "near_duplicate",
            "duplicate",
            "redirect",
            "gone",
            "request",
            "noindex",
            "blocked",
            "refused",
            "unsupported",
            "soft_404",
            "fetch_failed",
            "other",
        ]
    ]
    detail: NotRequired[str]
    refused_by: NotRequired[Literal["robots", "budget", "address"]]
    statements: NotRequired[int]
    left_out: NotRequired[int]
    representative: NotRequired[str]
    distance: NotRequired[int]
    redirect_to: NotRequired[str]
    failure: NotRequired["FetchFailure"]
    waits_for: NotRequired[Literal["frontier", "fetch", "normalize", "dedup", "statements", "embed", "index"]]
    next_step: NotRequired[
        Literal[
            "none", "wait", "crawl", "crawl_again", "ask_owner", "ask_operator", "see_representative", "see_redirect"
        ]
    ]


class QuickCheck(TypedDict):
    """An answer that follows from the query by itself, or a definition that was found."""

    kind: Literal["calculation", "conversion", "time", "date", "definition"]
    asked: str
    answer: str
    value: NotRequired[str]
    note: NotRequired[str]
    url: NotRequired[str]
    title: NotRequired[str]


class Reason(TypedDict):
    """A part of the search that failed or was left out, and why."""

    part: str
    detail: str


class Result(TypedDict):
    """A page, with its statements that matched, best first."""

    page_id: str
    url: str
    title: str
    host: str
    language: NotRequired[str]
    published: NotRequired[str]
    fetched: NotRequired[str]
    site_name: NotRequired[str]
    facts: NotRequired["Facts"]
    breadcrumbs: NotRequired[list[str]]
    statements: list["Statement"]
    similar: NotRequired["Similar"]
    versions: NotRequired[list["Version"]]
    lacks: NotRequired[list[str]]
    site_pages: NotRequired[list["SitePage"]]
    signals: NotRequired[list["Signal"]]
    kept_from_models: NotRequired[list[str]]
    why: str
    score: float
    nearest: NotRequired[Literal[True]]
    parts: NotRequired[dict[str, float]]


class SearchAnswer(TypedDict):
    """The results, and how complete they are."""

    query: str
    text: NotRequired[str]
    operators: NotRequired[list["WrittenOperator"]]
    languages: NotRequired[list[str]]
    page: int
    per_page: int
    has_next: bool
    next: NotRequired[str]
    results: list["Result"]
    nearest_only: NotRequired[bool]
    missing: NotRequired[list[str]]
    facets: NotRequired[dict[str, list["FacetValue"]]]
    partial: bool
    reasons: NotRequired[list["Reason"]]
    took_ms: float
    explain: NotRequired["Explanation"]
    quick: NotRequired["QuickCheck"]
    spelling: NotRequired["Spelling"]
    beside: NotRequired[dict[str, Any]]


class Signal(TypedDict):
    """The part of one signal of the ranking in a result's score."""

    name: str
    share: float
    amount: str
    says: str


class Similar(TypedDict):
    """The duplicates of a result. They are not results of their own."""

    count: int
    more: NotRequired[bool]
    pages: list["SimilarPage"]


class SimilarAnswer(TypedDict):
    """The pages whose content is similar to a page's, the nearest first."""

    page_id: str
    url: str
    pages: list["SimilarByContent"]


class SimilarByContent(TypedDict):
    """A page with similar content."""

    page_id: str
    url: str
    title: str
    host: str
    language: NotRequired[str]
    statement: str
    score: float
    kept_from_models: NotRequired[list[str]]


class SimilarPage(TypedDict):
    """A duplicate of a result."""

    page_id: str
    url: str


class SitePage(TypedDict):
    """A further page of the site that the query names."""

    url: str
    title: str


class Spelling(TypedDict):
    """A correction of the query, and whether the results are its results."""

    kind: Literal["instead", "suggestion"]
    original: str
    corrected: str


class Statement(TypedDict):
    """A sentence, list item or table row that matched. If only a title or links matched: the page's first
    sentence."""

    id: str
    text: str
    kind: NotRequired[str]
    context: NotRequired[list[str]]
    highlights: NotRequired[list[list[int]]]
    score: float
    file_page: NotRequired[int]
    anchor: NotRequired[str]


class Version(TypedDict):
    """The page of a result in another language."""

    language: str
    url: str


class WrittenOperator(TypedDict):
    """An operator of the query, as it was written."""

    name: str
    text: str
    value: str
    query_without: str
