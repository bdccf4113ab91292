"""`/api/v1/feed`: the newest results of a query, as Atom (RFC 4287).

A reader of feeds asks again and again, so a feed is one page of results, the newest first. Entries keep their ids (the
page's id) and their times: the date that the page states, or the day on which its text was fetched.
"""

from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from streams.gateway.access.costs import cost_of_search
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.search.answer_model import Result, SearchAnswer
from streams.gateway.search.answers import limit_to
from streams.gateway.search.service import SearchService
from streams.search.request import Parameters

ENTRIES = 30
"""Number of entries of a feed."""
CACHE = "private, max-age=900"
FEED_TYPE = "application/atom+xml"
FEED_PATH = "/api/v1/feed"
ATOM = "http://www.w3.org/2005/Atom"
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **examples.ACCESS_PROBLEMS,
    400: examples.problem_response("The query or a parameter is not valid", examples.PROBLEM_EMPTY),
    503: examples.problem_response("The index does not answer", examples.PROBLEM_UNAVAILABLE),
}


def feed_routes(service: SearchService, guard: Guard, public_url: str) -> APIRouter:
    """Return the route. `public_url` is the gateway's address for people, or empty if it is not known."""
    router = APIRouter(prefix="/api/v1", tags=["search"], dependencies=[Depends(refuse_unknown)])

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
            **_PROBLEMS,
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
        running = service.start(q, charge.sight.limit(given), exact=True)
        answer = limit_to(await running.answer(), charge.sight)
        charge.spend(cost_of_search(answer.page, answer.per_page, len(answer.operators), reranks=service.reranks))
        base = (public_url or str(request.base_url)).rstrip("/")
        here = f"{base}{FEED_PATH}?{request.url.query}"
        content = write_atom(answer, f"{base}/search?{urlencode({'q': answer.query})}", here)
        return Response(content, media_type=FEED_TYPE, headers={"Cache-Control": CACHE})

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
