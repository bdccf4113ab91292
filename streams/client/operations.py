"""A function for each operation of the API, made by `make schemas` of the OpenAPI document.

They return requests, which the methods of the clients with the same names send.
"""

from collections.abc import Sequence
from typing import Literal

from .requests import (
    AnswerInSteps,
    ApiRequest,
    ModelAnswer,
    RankedPages,
    key_of_request,
    path_of,
    read_answer,
    read_nothing,
    read_ranked,
    read_steps,
    read_text,
    request,
    texts_of,
)
from .types import (
    CrawlAnswer,
    CrawlList,
    Deliveries,
    EntityAnswer,
    Extract,
    HookAnswer,
    HookList,
    IndexContents,
    PageDocument,
    PageRecord,
    PagesRemoved,
    PageStatements,
    PageVectors,
    Panel,
    Related,
    SearchAnswer,
    SimilarAnswer,
    Suggested,
    Tested,
    WordsAnswer,
)


def begin_crawl(
    seeds: str | Sequence[str],
    *,
    idempotency_key: str = "",
    depth: int = 2,
    max_pages: int = 100,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    any_host: bool = False,
    sitemap_only: bool = False,
) -> ApiRequest[CrawlAnswer]:
    """Begin a crawl.

    Sends the seeds, as `riffle crawl` does. A key of some domains crawls only hosts of these.

    idempotency_key: A name of this request that you choose. A repetition within a day gets the first answer.
    seeds: Addresses at which it begins.
    depth: Maximum hops from the seeds. 0: only the seeds.
    max_pages: Maximum pages of each host. The key's quota pays for all of them.
    include: Only addresses like these globs, as `/docs/*`.
    exclude: No addresses like these globs.
    any_host: Also follow links to other hosts. Needs a key for every domain.
    sitemap_only: The seeds are sitemaps, and no link is followed.
    """
    return request(
        "POST",
        "/crawls",
        {},
        body={
            "seeds": texts_of(seeds),
            "depth": depth,
            "max_pages": max_pages,
            "include": texts_of(include),
            "exclude": texts_of(exclude),
            "any_host": any_host,
            "sitemap_only": sitemap_only,
        },
        headers={"Idempotency-Key": key_of_request(idempotency_key)},
    )


def list_crawls() -> ApiRequest[CrawlList]:
    """The crawls of the key.

    The crawls that the key has begun, with the state of each.
    """
    return request("GET", "/crawls", {})


def crawl(crawl_id: str) -> ApiRequest[CrawlAnswer]:
    """A crawl.

    The state of a crawl that the key has begun.

    crawl_id: The crawl's `id`.
    """
    return request("GET", f"/crawls/{path_of(crawl_id)}", {})


def cancel_crawl(crawl_id: str) -> ApiRequest[CrawlAnswer]:
    """Cancel a crawl.

    What waits is not fetched any more. Pages that are searchable stay so.

    crawl_id: The crawl's `id`.
    """
    return request("DELETE", f"/crawls/{path_of(crawl_id)}", {})


def changes(*, prefix: str = "", last_event_id: str = "") -> ApiRequest[None]:
    """Pages that became searchable, or were removed.

    Server-sent events from now on, or behind `Last-Event-ID`, of pages that the key may see.

    prefix: Only pages whose addresses begin with it.
    last_event_id: Where to go on.
    """
    return request("GET", "/changes", {"prefix": prefix}, headers={"Last-Event-ID": last_event_id}, read=read_nothing)


def crawl_events(crawl_id: str, *, last_event_id: str = "") -> ApiRequest[None]:
    """The events of a crawl.

    Server-sent events from its begin on, or behind `Last-Event-ID`: each fetch, each page that became searchable or
    was removed, `progress` with the counts, and `end`.

    crawl_id: The crawl's `id`.
    last_event_id: Where to go on.
    """
    return request(
        "GET", f"/crawls/{path_of(crawl_id)}/events", {}, headers={"Last-Event-ID": last_event_id}, read=read_nothing
    )


def make_hook(
    url: str,
    *,
    idempotency_key: str = "",
    events: str | Sequence[str] = ("pages.indexed", "pages.removed"),
    prefix: str = "",
    note: str = "",
) -> ApiRequest[HookAnswer]:
    """Make a webhook.

    Its receiver hears of pages that the key may see. The secret is in this answer only.

    idempotency_key: A name of this request that you choose. A repetition within a day gets the first answer.
    url: Address of the receiver: https, on port 443.
    prefix: Only pages whose addresses begin with it.
    """
    return request(
        "POST",
        "/hooks",
        {},
        body={"url": url, "events": texts_of(events), "prefix": prefix, "note": note},
        headers={"Idempotency-Key": key_of_request(idempotency_key)},
    )


def list_hooks() -> ApiRequest[HookList]:
    """The webhooks of the key.

    The webhooks of the key, without their secrets.
    """
    return request("GET", "/hooks", {})


def hook(hook_id: str) -> ApiRequest[HookAnswer]:
    """A webhook.

    A webhook of the key, without its secrets.

    hook_id: The webhook's `id`.
    """
    return request("GET", f"/hooks/{path_of(hook_id)}", {})


def remove_hook(hook_id: str) -> ApiRequest[None]:
    """Remove a webhook.

    Events that wait for it are dropped.

    hook_id: The webhook's `id`.
    """
    return request("DELETE", f"/hooks/{path_of(hook_id)}", {}, read=read_nothing)


def switch_on_hook(hook_id: str) -> ApiRequest[HookAnswer]:
    """Switch a webhook on again.

    It hears again of pages from now on. What it did not hear of meanwhile does not come.

    hook_id: The webhook's `id`.
    """
    return request("POST", f"/hooks/{path_of(hook_id)}/on", {})


def exchange_secret(hook_id: str) -> ApiRequest[HookAnswer]:
    """Exchange the secret.

    A new secret signs from now on, and the former one beside it for a day.

    hook_id: The webhook's `id`.
    """
    return request("POST", f"/hooks/{path_of(hook_id)}/secret", {})


def test_hook(hook_id: str) -> ApiRequest[Tested]:
    """Test a webhook.

    Sends an event of the type `riffle.hooks.tested.v1`. `deliveries` says what came of it.

    hook_id: The webhook's `id`.
    """
    return request("POST", f"/hooks/{path_of(hook_id)}/test", {})


def deliveries(hook_id: str) -> ApiRequest[Deliveries]:
    """The last deliveries of a webhook.

    The last deliveries of a webhook, with the outcome of each.

    hook_id: The webhook's `id`.
    """
    return request("GET", f"/hooks/{path_of(hook_id)}/deliveries", {})


def delete_pages(*, url: str = "", prefix: str = "") -> ApiRequest[PagesRemoved]:
    """Remove own pages.

    A page leaves the index, and comes back when it is written again: no crawl brings it back.

    url: Address of the page.
    prefix: In place of `url`: the beginning of the addresses, with the host and a `/`.
    """
    return request("DELETE", "/pages", {"url": url, "prefix": prefix})


def site_words(name: str) -> ApiRequest[WordsAnswer]:
    """The own words of a site.

    The synonyms and pinned pages of the key's site.

    name: The site's name.
    """
    return request("GET", f"/sites/{path_of(name)}/words", {})


def put_site_words(
    name: str, *, synonyms: Sequence[Sequence[str]] = (), pinned: dict[str, str] | None = None
) -> ApiRequest[WordsAnswer]:
    """Replace the own words of a site.

    Searches of the site's own search use them after some 5 seconds. A pinned page has to be one of the site.

    name: The site's name.
    synonyms: Groups of 2 to 10 texts that mean the same, of few words.
    pinned: Queries, each with the address of the page that comes first.
    """
    return request("PUT", f"/sites/{path_of(name)}/words", {}, body={"synonyms": list(synonyms), "pinned": pinned})


def search(
    q: str,
    *,
    page: int = 1,
    per_page: int = 10,
    cursor: str = "",
    host: str = "",
    language: str = "",
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    sort: Literal["relevance", "date"] = "relevance",
    exact: bool = False,
    explain: bool = False,
) -> ApiRequest[SearchAnswer]:
    """Search.

    Finds pages by their statements: by meaning (dense vectors) and by words (BM25), and combines both scores. When
    a part fails, the others answer: `partial` is then true, and `reasons` names what is missing.

    q: The query, in any language.
    page: From 1.
    cursor: The page behind another page: the value `next` of its answer. The query and the other parameters stay
        the same, and `page` is not read.
    host: Only pages of this host.
    language: Only pages in this language (BCP 47; `und`: not known), or `*`: in any. Empty: the operator's choice,
        all as a rule; `languages` of the answer lists them.
    include: Only pages of these domains and their subdomains. Give the parameter once for each domain, at most 32
        times.
    exclude: No pages of these domains and their subdomains, in the same form.
    sort: `date`: the best 40 results, the newest first; pages without a date come last.
    exact: Search for exactly this query: its spelling is not corrected.
    explain: Also timings, model and the state of each part.
    """
    return request(
        "GET",
        "/search",
        {
            "q": q,
            "page": page,
            "per_page": per_page,
            "cursor": cursor,
            "host": host,
            "language": language,
            "include": texts_of(include),
            "exclude": texts_of(exclude),
            "sort": sort,
            "exact": exact,
            "explain": explain,
        },
    )


def index() -> ApiRequest[IndexContents]:
    """Hosts and languages of the index.

    Hosts and languages of a sample of the pages that this client can find, at most ten minutes old.
    """
    return request("GET", "/index", {})


def feed(q: str, *, language: str = "", include: str | Sequence[str] = ()) -> ApiRequest[str]:
    """A feed of a query.

    The newest of the best results, at most 30, as a feed that readers of feeds follow.

    q: The query.
    language: As in a search.
    include: As in a search.
    """
    return request("GET", "/feed", {"q": q, "language": language, "include": texts_of(include)}, read=read_text)


def similar(page: str, *, count: int = 10) -> ApiRequest[SimilarAnswer]:
    """Similar pages.

    Pages of similar content, found by the vectors of the page's statements. Its copies are left out.

    page: The page's id or URL.
    count: Maximum number of pages.
    """
    return request("GET", "/similar", {"page": page, "count": count})


def document(page_id: str, *, ref: str = "") -> ApiRequest[PageDocument]:
    """The document of a page.

    The text and structure of the page without its markup and boilerplate, as the index has it.

    page_id: The page's id: UUIDv5 of its URL.
    ref: The reference of an event (`document_ref`, `statements_ref`, `vectors_ref`). Empty: the newest content.
    """
    return request("GET", f"/pages/{path_of(page_id)}/document", {"ref": ref})


def statements(page_id: str, *, ref: str = "", after: int = 0, limit: int = 200) -> ApiRequest[PageStatements]:
    """The statements of a page.

    All statements of the page with their places and chains, in parts.

    page_id: The page's id: UUIDv5 of its URL.
    ref: The reference of an event (`document_ref`, `statements_ref`, `vectors_ref`). Empty: the newest content.
    after: The value `next` of the part before.
    limit: Maximum number of statements or vectors.
    """
    return request("GET", f"/pages/{path_of(page_id)}/statements", {"ref": ref, "after": after, "limit": limit})


def vectors(page_id: str, *, ref: str = "", after: int = 0, limit: int = 200) -> ApiRequest[PageVectors]:
    """The vectors of a page's statements.

    One vector for each statement, in the order of the statements, in parts.

    page_id: The page's id: UUIDv5 of its URL.
    ref: The reference of an event (`document_ref`, `statements_ref`, `vectors_ref`). Empty: the newest content.
    after: The value `next` of the part before.
    limit: Maximum number of statements or vectors.
    """
    return request("GET", f"/pages/{path_of(page_id)}/vectors", {"ref": ref, "after": after, "limit": limit})


def extract(url: str, *, fetch: bool = False) -> ApiRequest[Extract]:
    """The content of a page.

    The document, statements and facts of a page of the index. With `fetch`, a page that is not in the index is
    fetched now, within the rules of the crawler, and nothing of it is stored.

    url: Address of the page.
    fetch: Fetch the page now if the index does not have it. Needs the scope `extract`, as the operator allows.
    """
    return request("GET", "/extract", {"url": url, "fetch": fetch})


def page(page: str) -> ApiRequest[PageRecord]:
    """Why is a page (not) indexed?.

    The page's status, every event of its history, the record of each stage, its duplicates and the statements that
    searches can find. The page is given by its id, or by its percent-encoded URL.

    page: Id or percent-encoded URL.
    """
    return request("GET", f"/pages/{path_of(page)}", {})


def suggest(q: str = "", *, language: str = "", limit: int = 10) -> ApiRequest[Suggested]:
    """Suggest queries.

    Completes what a person has typed: with queries that enough people asked, where the operator counts them, and
    with titles, headings and frequent phrases of the index. One mistake in what was typed is forgiven.

    q: What was typed so far.
    language: Suggestions in this language come first (BCP 47).
    """
    return request("GET", "/suggest", {"q": q, "language": language, "limit": limit})


def entities(q: str, *, confidence: float | None = None, accept_language: str = "") -> ApiRequest[EntityAnswer]:
    """The entity that a text asks for.

    The panel that a search for this text shows: an entity, or the choice between several with one name. `panel` is
    absent if none is probable enough.

    q: A name or a question.
    confidence: Minimum probability.
    accept_language: The languages that the reader reads.
    """
    return request("GET", "/entities", {"q": q, "confidence": confidence}, headers={"accept-language": accept_language})


def entity_by_id(entity: str, *, accept_language: str = "") -> ApiRequest[Panel]:
    """An entity by its id.

    The panel of an entity, with its facts, their sources, and statements of the index.

    entity: `Q42`, `enwiki:Albedo`, or the id of an own entity.
    accept_language: The languages that the reader reads.
    """
    return request("GET", f"/entities/{path_of(entity)}", {}, headers={"accept-language": accept_language})


def answer(q: str, *, then: str | Sequence[str] = ()) -> ApiRequest[ModelAnswer]:
    """Answer by a language model.

    Sentences that the operator's model chose, each with the statement of a page that says it.

    q: The (first) question.
    then: The further questions of the conversation.
    """
    return request("GET", "/answer", {"q": q, "then": texts_of(then)}, read=read_answer)


def summary(page: str, q: str = "") -> ApiRequest[ModelAnswer]:
    """Summary of one page.

    The sentences of an indexed page that say the most, chosen by the operator's model.

    page: `page_id` of a result.
    q: What the reader looks for.
    """
    return request("GET", "/summary", {"page": page, "q": q}, read=read_answer)


def rank(q: str, by: str) -> ApiRequest[RankedPages]:
    """Results by a criterion.

    The results of a query, ordered by how well the operator's model finds them to meet a criterion.

    q: The query.
    by: The criterion, such as `written for beginners`.
    """
    return request("GET", "/rank", {"q": q, "by": by}, read=read_ranked)


def related(q: str) -> ApiRequest[Related]:
    """Related questions.

    Questions and headings of the pages found that a reader may ask next.

    q: The question.
    """
    return request("GET", "/related", {"q": q})


def ask(
    q: str, *, searches: int = 10, calls: int = 16, seconds: float = 30.0, tokens: int = 12000
) -> ApiRequest[AnswerInSteps]:
    """Answer a question in steps.

    The parts of the question, each with statements of pages, word for word, that answer it. The operator's model,
    where there is one, divides the question, chooses statements and asks again for what is open. Without it, each
    clause is searched once.

    q: The question.
    searches: Maximum reads of the index.
    calls: Maximum calls of the model; 0: none.
    seconds: Maximum duration.
    tokens: Maximum tokens of all calls, estimated.
    """
    return request(
        "GET",
        "/ask",
        {"q": q, "searches": searches, "calls": calls, "seconds": seconds, "tokens": tokens},
        read=read_steps,
    )
