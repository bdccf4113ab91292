"""A search for programs: `/api/v1/search` as JSON, and the newest results as Atom, `/api/v1/feed` (RFC 4287).

A reader of feeds asks again and again, so a feed is one page of results, the newest first. Entries keep their ids (the
page's id) and their times: the date that the page states, or the day on which its text was fetched.
"""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Depends, Query, Request, Response

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.http import openapi
from streams.gateway.http.requests import api_router
from streams.gateway.search.answer_model import Result, SearchAnswer
from streams.gateway.search.service import SearchService
from streams.search.paging import SORTED_RESULTS
from streams.search.request import MAX_DOMAINS, MAX_PER_PAGE, Parameters, Sort

PROBLEMS = openapi.problem_responses(
    "/api/v1/search",
    ("The query or a parameter is not valid", openapi.NO_QUERY),
    *openapi.ACCESS_PROBLEMS,
    ("The index does not answer", openapi.NO_SEARCH),
)

_LANGUAGE = (
    "Only pages in this language (BCP 47; `und`: not known), or `*`: in any. Empty: the operator's choice, all as a "
    "rule; `languages` of the answer lists them."
)
_INCLUDE = (
    f"Only pages of these domains and their subdomains. Give the parameter once for each domain, at most {MAX_DOMAINS} "
    "times."
)
_EXCLUDE = "No pages of these domains and their subdomains, in the same form."
_CURSOR = (
    "The page behind another page: the value `next` of its answer. The query and the other parameters stay the same, "
    "and `page` is not read."
)
_EXACT = "Search for exactly this query: its spelling is not corrected."
_SORT = f"`date`: the best {SORTED_RESULTS} results, the newest first; pages without a date come last."


def search_api_routes(service: SearchService, guard: Guard) -> APIRouter:
    router = api_router("search")

    @router.get(
        "/search",
        summary="Search",
        description=(
            "Finds pages by their statements: by meaning (dense vectors) and by words (BM25), and combines both "
            "scores. When a part fails, the others answer: `partial` is then true, and `reasons` names what is missing."
        ),
        responses={200: openapi.json_response("What was found", "search"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def search(
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        request: Request,
        q: Annotated[str, Query(description="The query, in any language.", examples=["write-ahead log"])],
        page: Annotated[int, Query(ge=1, le=1_000, description="From 1.")] = 1,
        per_page: Annotated[int, Query(ge=1, le=MAX_PER_PAGE)] = 10,
        cursor: Annotated[str, Query(description=_CURSOR)] = "",
        host: Annotated[str, Query(description="Only pages of this host.", examples=["sqlite.org"])] = "",
        language: Annotated[str, Query(description=_LANGUAGE, examples=["en"])] = "",
        include: Annotated[list[str] | None, Query(description=_INCLUDE)] = None,
        exclude: Annotated[list[str] | None, Query(description=_EXCLUDE)] = None,
        sort: Annotated[Sort, Query(description=_SORT)] = "relevance",
        exact: Annotated[bool, Query(description=_EXACT)] = False,
        explain: Annotated[bool, Query(description="Also timings, model and the state of each part.")] = False,
    ) -> SearchAnswer:
        given = Parameters(
            page=page,
            per_page=per_page,
            cursor=cursor,
            host=host,
            language=language,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            sort=sort,
            explain=explain,
            accepted=request.headers.get("accept-language", ""),
        )
        return await service.ask(q, charge, given, exact=exact)

    return router


ENTRIES = 30
"""Number of entries of a feed."""
FEED_CACHE = "private, max-age=900"
FEED_TYPE = "application/atom+xml"
FEED_PATH = "/api/v1/feed"
ATOM = "http://www.w3.org/2005/Atom"


def feed_routes(service: SearchService, guard: Guard, public_url: str) -> APIRouter:
    """Return the route. `public_url` is the gateway's address for people, or empty if it is not known."""
    router = api_router("search")

    @router.get(
        "/feed",
        summary="A feed of a query",
        description=f"The newest of the best results, at most {ENTRIES}, as a feed that readers of feeds follow.",
        response_class=Response,
        responses={
            200: {
                "description": "The feed",
                "content": {FEED_TYPE: {"schema": {"type": "string"}, "example": f'<feed xmlns="{ATOM}"/>'}},
            },
            **PROBLEMS,
        },
    )
    async def feed(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        q: Annotated[str, Query(description="The query.", examples=["write-ahead log"])],
        language: Annotated[str, Query(description="As in a search.")] = "",
        include: Annotated[list[str] | None, Query(description="As in a search.")] = None,
    ) -> Response:
        given = Parameters(per_page=ENTRIES, sort="date", language=language, include=tuple(include or ()))
        running = service.start(q, charge.visible, given, exact=True)
        answer = await running.answer()
        charge.spend(service.cost_of(answer))
        base = (public_url or str(request.base_url)).rstrip("/")
        here = f"{base}{FEED_PATH}?{request.url.query}"
        content = write_atom(answer, f"{base}/search?{urlencode({'q': answer.query})}", here)
        return Response(content, media_type=FEED_TYPE, headers={"Cache-Control": FEED_CACHE})

    return router


def write_atom(answer: SearchAnswer, home: str, here: str) -> bytes:
    """Return the answer as Atom. `home` is the page for people, `here` the feed's own address.

    An entry without any date is of 1970: Atom wants one, and it must not change.
    """
    root = Element("feed", {"xmlns": ATOM})
    times = [_time(result) or datetime.fromtimestamp(0, UTC) for result in answer.results]
    newest = max(times, default=datetime.fromtimestamp(0, UTC))
    _texts(root, title=_title(answer), id=here, updated=newest.isoformat())
    SubElement(root, "link", {"href": home})
    SubElement(root, "link", {"href": here, "rel": "self", "type": FEED_TYPE})
    author = SubElement(root, "author")
    _texts(author, name="Riffle")
    for result, when in zip(answer.results, times, strict=True):
        entry = SubElement(root, "entry")
        _texts(entry, title=result.title, id=f"urn:uuid:{result.page_id}", updated=when.isoformat())
        SubElement(entry, "link", {"href": result.url})
        _texts(entry, summary=_summary(result))
    return _bytes(root)


def _title(answer: SearchAnswer) -> str:
    return f"{answer.query} - Riffle"


def _summary(result: Result) -> str:
    return " … ".join(statement.text for statement in result.statements)


def _time(result: Result) -> datetime | None:
    """Return the date that the page states, or else the time of its fetch. A month or year is its first day."""
    if result.published:
        return datetime.fromisoformat(f"{result.published}-01-01"[:10]).replace(tzinfo=UTC)
    return result.fetched


def _texts(parent: Element, **texts: str) -> None:
    """Add an element for each text. Characters that XML can't have are left out."""
    for name, text in texts.items():
        SubElement(parent, name).text = "".join(char for char in text if char in "\t\n" or char >= " ")


def _bytes(root: Element) -> bytes:
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode").encode("utf-8", "replace")
