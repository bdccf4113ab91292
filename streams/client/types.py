"""The types of the API's answers and events, made by `make schemas` of the OpenAPI document."""

from typing import Any, Literal, NotRequired, TypedDict


class CrawlAnswer(TypedDict):
    """A crawl, as far as it is."""

    id: str
    self: str
    state: Literal["queued", "running", "waiting", "done", "cancelled"]
    says: NotRequired[str]
    created: str
    cancelled: NotRequired[str]
    seeds: list["Seed"]
    depth: int
    max_pages: int
    include: NotRequired[list[str]]
    exclude: NotRequired[list[str]]
    any_host: NotRequired[bool]
    sitemap_only: NotRequired[bool]
    counts: "CrawlCounts"


class CrawlCounts(TypedDict):
    """The number of addresses of a crawl in each state, as `riffle crawl --json` has them. Each is in one."""

    discovered: int
    waiting: int
    digesting: int
    deferred: int
    fetched: int
    redirected: int
    known_from_another_crawl: int
    forbidden_by_robots: int
    refused: int
    gone: int
    failed: int


class CrawlList(TypedDict):
    """The crawls of a key."""

    crawls: list["CrawlAnswer"]


class Deliveries(TypedDict):
    """The last tries of a webhook."""

    deliveries: list["Delivery"]


class Delivery(TypedDict):
    """A try to deliver an event."""

    at: str
    id: str
    type: str
    url: NotRequired[str]
    attempt: int
    status: NotRequired[int]
    error: NotRequired[str]
    took_ms: float


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


class EntityAnswer(TypedDict):
    """The entity that a text asks for."""

    query: str
    panel: NotRequired["Panel"]


class Explanation(TypedDict):
    """The parts of the search: their state, their time, and the model."""

    parts: dict[str, str]
    timings_ms: dict[str, float]
    model: NotRequired[str]
    fusion: NotRequired[str]
    meaning_weight: NotRequired[float]
    searched: NotRequired[str]
    passes: NotRequired[dict[str, dict[str, int | float | str]]]


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


class HookAnswer(TypedDict):
    """A webhook."""

    id: str
    self: str
    url: str
    events: list[str]
    prefix: NotRequired[str]
    note: NotRequired[str]
    created: str
    state: NotRequired[Literal["on", "failing", "off"]]
    failing_since: NotRequired[str]
    off_since: NotRequired[str]
    off_why: NotRequired[str]
    secret: NotRequired[str]
    former_secret_until: NotRequired[str]


class HookList(TypedDict):
    """The webhooks of a key."""

    hooks: list["HookAnswer"]


class HookTested(TypedDict):
    """The data of a test."""

    hook: str


class HookTestedEvent(TypedDict):
    """Somebody tests a webhook. No page has changed."""

    specversion: Literal["1.0"]
    id: str
    source: str
    subject: str
    time: str
    datacontenttype: Literal["application/json"]
    type: Literal["riffle.hooks.tested.v1"]
    data: "HookTested"


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


class LastContent(TypedDict):
    """The last content of a page before an answer: its blobs and headers."""

    outcome: Literal[
        "ok",
        "not_modified",
        "redirect",
        "gone",
        "refused",
        "client_error",
        "server_error",
        "rate_limited",
        "network_error",
        "timeout",
        "too_large",
        "unsupported_type",
        "guarded",
        "invalid",
    ]
    body_ref: str
    body_bytes: NotRequired[int]
    exchange_ref: NotRequired[str]
    not_found_ref: NotRequired[str]
    headers: NotRequired[dict[str, str]]


class LifeEvent(TypedDict):
    """One event of a page's history."""

    id: str
    at: str
    topic: str
    source: str
    outcome: str
    data: NotRequired[dict[str, Any]]


class LineWritten(TypedDict):
    """The answer for one of many pages."""

    line: int
    status: Literal["accepted", "refused"]
    url: NotRequired[str]
    page_id: NotRequired[str]
    history: NotRequired[str]
    problem: NotRequired["Problem"]


class LinkFrom(TypedDict):
    """A link to the page from a page of another domain."""

    url: str
    anchor: NotRequired[str]
    nofollow: NotRequired[bool]


class LinkingDomain(TypedDict):
    """A registrable domain that links to the page."""

    domain: str
    links: list["LinkFrom"]


class Mention(TypedDict):
    """A statement of the index that mentions the entity."""

    text: str
    title: str
    url: str


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


class PageFetched(TypedDict):
    """The result of a fetch: a response or a failure. The body is a blob. Redirects are reported, not
    followed."""

    page_id: str
    url: str
    host: str
    purpose: NotRequired[Literal["page", "robots", "sitemap"]]
    outcome: Literal[
        "ok",
        "not_modified",
        "redirect",
        "gone",
        "refused",
        "client_error",
        "server_error",
        "rate_limited",
        "network_error",
        "timeout",
        "too_large",
        "unsupported_type",
        "guarded",
        "invalid",
    ]
    retryable: NotRequired[bool]
    generation: int
    lease_id: NotRequired[str]
    attempt: NotRequired[int]
    depth: NotRequired[int]
    max_depth: NotRequired[int]
    max_pages: NotRequired[int]
    same_host: NotRequired[bool]
    patterns: NotRequired[list[str]]
    crawl_id: NotRequired[str]
    status: NotRequired[int]
    headers: NotRequired[dict[str, str]]
    body_ref: NotRequired[str]
    body_bytes: NotRequired[int]
    exchange_ref: NotRequired[str]
    redirect_to: NotRequired[str]
    error: NotRequired[str]
    elapsed_ms: NotRequired[float]
    source: NotRequired[Literal["crawl", "warc", "html"]]
    origin: NotRequired[str]
    brought_ref: NotRequired[str]
    not_found_ref: NotRequired[str]
    last_content: NotRequired["LastContent"]
    rendered: NotRequired[bool]
    lease_expired: NotRequired[bool]
    postponed_seconds: NotRequired[float]
    removed_on_request: NotRequired[bool]
    seen_at: NotRequired[int]
    sitemap_level: NotRequired[int]
    redirects: NotRequired[int]


class PageFetchedEvent(TypedDict):
    """A page was fetched for a crawl, or could not be."""

    specversion: Literal["1.0"]
    id: str
    source: str
    subject: str
    time: str
    datacontenttype: Literal["application/json"]
    type: Literal["riffle.pages.fetched.v1"]
    dataschema: str
    data: "PageFetched"


class PageIndexed(TypedDict):
    """A page is searchable from now on."""

    page_id: str
    url: str
    generation: int
    crawl_id: NotRequired[str]
    title: NotRequired[str]
    language: NotRequired[str]
    statements: int
    left_out: NotRequired[int]
    model: str
    model_version: str
    collection: str


class PageIndexedEvent(TypedDict):
    """A page became searchable."""

    specversion: Literal["1.0"]
    id: str
    source: str
    subject: str
    time: str
    datacontenttype: Literal["application/json"]
    type: Literal["riffle.pages.indexed.v1"]
    dataschema: str
    data: "PageIndexed"


class PageLine(TypedDict):
    """A line of many pages: the file is `text`, or `base64`."""

    url: str
    content_type: NotRequired[str]
    text: NotRequired[str]
    base64: NotRequired[str]


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


class PageRemoved(TypedDict):
    """A page must be removed from all stores that answer searches."""

    page_id: str
    url: str
    generation: int
    crawl_id: NotRequired[str]
    reason: Literal["gone", "noindex", "blocked", "duplicate", "refused", "unsupported", "request"]
    canonical_page_id: NotRequired[str]
    detail: NotRequired[str]
    refused_by: NotRequired[Literal["robots", "budget", "address"]]


class PageRemovedEvent(TypedDict):
    """A page was removed from the index."""

    specversion: Literal["1.0"]
    id: str
    source: str
    subject: str
    time: str
    datacontenttype: Literal["application/json"]
    type: Literal["riffle.pages.removed.v1"]
    dataschema: str
    data: "PageRemoved"


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


class PageStatements(TypedDict):
    """A part of the statements of a page."""

    page_id: str
    url: str
    ref: str
    total: int
    statements: list["PageStatement"]
    next: NotRequired[int]
    untrusted: NotRequired[Literal[True]]


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


class PageVectors(TypedDict):
    """A part of the vectors of a page's statements."""

    page_id: str
    url: str
    ref: str
    statements_ref: str
    model: str
    dimensions: int
    total: int
    vectors: list[list[float]]
    next: NotRequired[int]


class PageWritten(TypedDict):
    """A page that the stages have now: its history says what becomes of it."""

    url: str
    page_id: str
    status: NotRequired[Literal["accepted"]]
    history: str


class PagesRemoved(TypedDict):
    """The pages that leave the index now."""

    removed: int
    more: NotRequired[bool]


class Panel(TypedDict):
    """An entity, or the choice between several with one name."""

    kind: NotRequired[Literal["entity", "choice"]]
    id: NotRequired[str]
    label: str
    type: NotRequired[str]
    description: NotRequired[str]
    summary: NotRequired[str]
    summary_url: NotRequired[str]
    summary_licence: NotRequired[str]
    image: NotRequired["PanelImage"]
    facts: NotRequired[list["PanelFact"]]
    website: NotRequired[str]
    related: NotRequired[list["RelatedEntity"]]
    others: NotRequired[list["RelatedEntity"]]
    mentions: NotRequired[list["Mention"]]
    sources: NotRequired[list["PanelSource"]]
    confidence: NotRequired[float]


class PanelFact(TypedDict):
    """A fact with its values."""

    label: str
    property: NotRequired[str]
    values: list["PanelValue"]
    source: NotRequired[str]


class PanelImage(TypedDict):
    """An image. Nobody asks for it before a person wants to see it."""

    url: str
    page: NotRequired[str]
    licence: NotRequired[str]
    author: NotRequired[str]
    host: NotRequired[str]


class PanelSource(TypedDict):
    """A source of the panel."""

    name: str
    url: NotRequired[str]
    licence: NotRequired[str]
    licence_url: NotRequired[str]


class PanelValue(TypedDict):
    """One value of a fact."""

    text: str
    time: NotRequired[str]
    note: NotRequired[str]
    entity: NotRequired[str]
    url: NotRequired[str]
    source: NotRequired[str]
    source_host: NotRequired[str]


class Problem(TypedDict):
    """Problem details, RFC 9457."""

    type: str
    title: str
    status: int
    detail: NotRequired[str]
    instance: NotRequired[str]
    hint: NotRequired[str]
    parameter: NotRequired[str]


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


class Related(TypedDict):
    """Questions and headings of a page that a reader may ask next."""

    query: str
    related: list[str]
    status: Literal["answered", "unknown", "unavailable", "late", "limited", "nothing"]
    reason: str
    partial: bool


class RelatedEntity(TypedDict):
    """A related entity, or one of several meanings."""

    id: str
    label: str
    description: NotRequired[str]
    has_panel: NotRequired[bool]


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


class Seed(TypedDict):
    """A seed, and its status as `/page` says it."""

    url: str
    page_id: str
    status: str
    says: NotRequired[str]


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


class Suggested(TypedDict):
    """The suggestions for what was typed."""

    query: str
    suggestions: list["SuggestedQuery"]


class SuggestedQuery(TypedDict):
    """A query that begins with what was typed, or nearly so."""

    text: str
    language: NotRequired[str]


class Tested(TypedDict):
    """A test that is on its way."""

    id: str


class Version(TypedDict):
    """The page of a result in another language."""

    language: str
    url: str


class WordsAnswer(TypedDict):
    """The own words of a site, as they are compared with queries."""

    synonyms: list[list[str]]
    pinned: dict[str, str]


class WrittenOperator(TypedDict):
    """An operator of the query, as it was written."""

    name: str
    text: str
    value: str
    query_without: str
