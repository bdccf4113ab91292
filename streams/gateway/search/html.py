"""`/` and `/search`: the pages on which people search. No script is needed; one suggests queries."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Any, Protocol
from uuid import UUID

import structlog
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from schemas.ids import page_id
from streams.answers.choosing import asks
from streams.errors import SearchUnavailable
from streams.gateway.access.guard import Guard
from streams.gateway.clicks.links import Leave, OutgoingLinks, plain_link
from streams.gateway.http.problems import Problem, internal, search_unavailable
from streams.gateway.http.templates import Views, address
from streams.gateway.preferences.cookies import Cookies, accepted_by
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.api import FEED_PATH, FEED_TYPE
from streams.gateway.search.service import RunningSearch, SearchService
from streams.search.query_language.matching import read_wish, steps_of_wish
from streams.search.query_language.query import Choices, apply_choices
from streams.search.request import ALL_LANGUAGES, Parameters, SearchRequest
from streams.search.searcher import Found
from streams.search.sentences import clauses_of

log = structlog.get_logger(__name__)

FIRST_PAINT_SECONDS = 0.001
"""Time after which a search without an answer yet shows its head and search box (seconds).

A faster search is one response with an exact status.
"""
BESIDE_SECONDS = 0.03
"""Time that results wait for the answers beside them (seconds): an answer that is there in time stands above them.

A later one comes into a place that the page keeps free, or below, so that nothing on the page moves.
"""
CACHE = "private, max-age=60"
"""The cache header of results: going back does not search again, and no proxy keeps a person's search."""
STREAMED = {"Cache-Control": "private, no-cache", "X-Accel-Buffering": "no"}
"""The headers of a page that leaves in parts. Going back does not search again, but following a link does, since the
parts may be about a failure. NGINX, which would wait for the whole page, passes each part on.
"""


class LateSection(Protocol):
    """A part of the page that is written behind the results, and that nothing waits for."""

    def wants(self, request: SearchRequest) -> bool:
        """Return True for a search whose page has this part."""

    def stream(self, request: Request, question: str, found: Found) -> AsyncIterator[str]:
        """Yield the part. Raises nothing."""


def read_choices(
    published: str = "",
    after: str = "",
    before: str = "",
    filetype: str = "",
    pagetype: str = "",
    recent: Annotated[int, Query(ge=0, le=3)] = 0,
) -> Choices:
    """Return the choices of the form of the filters; none if it was not sent."""
    return Choices(published, after, before, filetype, pagetype, recent)


SentChoices = Annotated[Choices, Depends(read_choices)]
"""The parameter of a route that takes the form of the filters."""
ResultValues = Callable[[SearchAnswer, SearchRequest], dict[str, Any]]
"""Return the values of the templates of the results."""


def search_html_routes(
    service: SearchService,
    views: Views,
    links: OutgoingLinks,
    cookies: Cookies,
    guard: Guard,
    late: LateSection | None = None,
) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def home(request: Request) -> Response:
        return HTMLResponse(views.render("home.html", request), headers={"Cache-Control": "public, max-age=300"})

    @router.get("/search")
    async def search(
        request: Request,
        q: str = "",
        page: Annotated[int, Query(ge=1, le=1_000)] = 1,
        cursor: str = "",
        host: str = "",
        language: str = "",
        sort: str = "",
        *,
        sent: SentChoices,
        exact: bool = False,
    ) -> Response:
        if not q.strip():
            return HTMLResponse(views.render("home.html", request, host=host, language=language))
        if sent != Choices():
            chosen = apply_choices(q, sent, service.searcher.clock().date())
            return RedirectResponse(address("/search", q=chosen, host=host, language=language, sort=sort), 303)
        charge = await guard.charge_person(request)
        own = cookies.read(request)
        # The value of `language` that searches all languages.
        everywhere = ALL_LANGUAGES if service.default_languages or own.language else ""

        def shown(answer: SearchAnswer, asked: SearchRequest) -> dict[str, Any]:
            """Charge for the answer, and return its values."""
            charge.spend(service.cost_of(answer))
            query = replace(asked, text=answer.query)  # the corrected query, if the results are its results
            # A corrected query has other results than the query that was asked.
            asked_hash = service.asked.hash_of(asked) if query.text == asked.text else ""
            leave = links.for_results(service.hash_of(query.text), _places(answer, query), asked_hash)
            values = result_values(answer, query, cursor, everywhere, leave)
            return {
                **values,
                "personal": query.personal if cookies.are_on else None,
                "own_language": own.language,
                "hidden_results": _hidden_results(running),
                "has_model": late is not None,
            }

        given = Parameters(
            page=page,
            per_page=own.per_page,
            cursor=cursor,
            host=host,
            language=language or own.language,
            sort=sort,
            personal=own.rules(),
            accepted=accepted_by(own, request),
        )
        running = service.start(q, charge.visible, given, exact=exact, person=service.asked.identify(request))
        both = {running.results, running.beside}
        await asyncio.wait(both, timeout=FIRST_PAINT_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        has_late = late is not None and late.wants(running.request)
        if not has_late and running.results.done() and (running.beside.done() or running.results.exception()):
            answer = await running.answer()
            return HTMLResponse(
                views.render("search.html", request, **shown(answer, running.request), is_ready=True),
                headers={"Cache-Control": CACHE},
            )
        return StreamingResponse(
            _head_first(views, request, running, cursor, shown, late if has_late else None),
            media_type="text/html",
            headers=STREAMED,
        )

    return router


async def _head_first(
    views: Views,
    request: Request,
    running: RunningSearch,
    cursor: str,
    shown: ResultValues,
    late: LateSection | None,
) -> AsyncIterator[str]:
    """Yield the page's head at once, then the results, then the answers beside them, then what comes late.

    The status is already sent when a failure is found: it is shown in words.
    """
    query = _query_values(running.request, cursor)
    try:
        yield views.render("search_head.html", request, **query)
        try:
            answer = await running.results
            await asyncio.wait({running.beside}, timeout=BESIDE_SECONDS)
        except Exception as error:
            yield views.render("search_failed.html", request, problem=_problem_of(error), **query)
            return
        is_ready = running.beside.done()
        values = shown(answer, running.request) | {
            "answer": await running.answer() if is_ready else answer,
            "is_ready": is_ready,
            "is_asked": not is_ready and query["page"] == 1 and _is_to_answer(answer),
            "has_late": late is not None,
        }
        yield views.render("search_results.html", request, **values)
        found = await running.found
        values |= {"answer": await running.answer()}
        yield views.render("search_beside.html", request, **values)
        if late is not None:
            async for part in late.stream(request, answer.query, found):
                yield part
        yield views.render("_footer.html", request, **values)
    finally:
        running.cancel()  # the person may have left


def _is_to_answer(answer: SearchAnswer) -> bool:
    """Return whether a late answer has a place above these results: a quick answer stands there already."""
    return asks(answer.text) and bool(answer.results) and not answer.nearest_only and answer.quick is None


def _hidden_results(running: RunningSearch) -> int:
    """Return the number of results that are left out since the person hides their sites, as far as they were read."""
    if not running.found.done():
        return 0
    return int(running.found.result().notes.passes.get("filters", {}).get("hidden", 0))


def _problem_of(error: Exception) -> Problem:
    """Return the problem of a search that failed. An unexpected error goes to the log."""
    if isinstance(error, SearchUnavailable):
        return search_unavailable(str(error), error.__cause__)
    log.error("a search failed with an unexpected error", exc_info=error)
    return internal()


def _query_values(query: SearchRequest, cursor: str) -> dict[str, Any]:
    return {
        "query": query.text,
        "host": query.host,
        "language": query.language,
        "sort": "" if query.sort == "relevance" else query.sort,
        "page": query.page,
        "again": _address_again(query, cursor),
        "feed": address(FEED_PATH, q=query.text, language=query.language or "", include=query.host),
        "feed_type": FEED_TYPE,
    }


def _address_again(query: SearchRequest, cursor: str) -> str:
    """Return the address of this page of results; of the first page if parts are left out of all pages behind it."""
    is_first = query.page == 1 or (query.cursor is not None and bool(query.cursor.left_out))
    place = {} if is_first else {"page": query.page, "cursor": cursor}
    sort = "" if query.sort == "relevance" else query.sort
    return address("/search", q=query.text, sort=sort, host=query.host, language=query.language, **place)


def _first_place(query: SearchRequest) -> int:
    return (query.cursor.results if query.cursor else (query.page - 1) * query.per_page) + 1


def _places(answer: SearchAnswer, query: SearchRequest) -> dict[str, tuple[UUID, int]]:
    """Return the page id and the rank of each page that the results link to, by its URL."""
    places: dict[str, tuple[UUID, int]] = {}
    for rank, result in enumerate(answer.results, _first_place(query)):
        for other in result.similar.pages if result.similar else ():
            places.setdefault(other.url, (other.page_id, rank))
        for version in result.versions:
            places.setdefault(version.url, (page_id(version.url), rank))
        for page in result.site_pages or ():
            places.setdefault(page.url, (page_id(page.url), rank))
        places[result.url] = (result.page_id, rank)
    return places


def result_values(
    answer: SearchAnswer, query: SearchRequest, cursor: str, everywhere: str, leave: Leave = plain_link
) -> dict[str, Any]:
    """Return the values of a page of results. `everywhere`: the value of `language` that searches all languages."""
    return {
        **_query_values(query, cursor),
        "answer": answer,
        "first": _first_place(query),
        "leave": leave,
        "everywhere": everywhere,
        "has_steps": query.page == 1 and (asks(query.text) or bool(clauses_of(query.text))),
        **_chosen_values(answer),
    }


def _chosen_values(answer: SearchAnswer) -> dict[str, Any]:
    """Return the operators of the query as the form of the filters shows them. A date field needs a whole date."""
    written = {each.name: each.value for each in answer.operators}
    return {
        "chosen_after": f"{written.get('after', '')}-01-01"[:10] if written.get("after") else "",
        "chosen_before": f"{written.get('before', '')}-01-01"[:10] if written.get("before") else "",
        "chosen_page_type": written.get("pagetype", "").lower(),
        "chosen_type": written.get("filetype", "").lower(),
        "chosen_recent": steps_of_wish(read_wish(written["prefer"])) if "prefer" in written else 0,
    }
