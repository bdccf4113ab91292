"""`/ask`, `/rank` and `/summary`: a conversation over the results, results by a criterion, the summary of one result.

All three are HTML that leaves in parts.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from streams.answers.criteria import clean_criterion
from streams.answers.follow_up import clean_turns, search_of_turns
from streams.errors import RiffleError
from streams.gateway.access.clients import address_of
from streams.gateway.access.guard import Guard
from streams.gateway.access.sight import Sight
from streams.gateway.answers.section import AnswerSection, reason_of
from streams.gateway.answers.service import ModelAnswers, Search
from streams.gateway.http.problems import Problem, invalid_query, search_unavailable
from streams.gateway.http.templates import Views, address
from streams.search.errors import InvalidQuery

STREAMED = {"Cache-Control": "private, no-store", "X-Accel-Buffering": "no"}
"""The headers of a page that leaves in parts: NGINX, which would wait for the whole page, passes each part on."""
OFF = 404
"""The status of these pages where no model is configured."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who asks: the pages that they may see, and the address whose budget they use."""

    sight: Sight
    address: str


def ask_html_routes(
    search: Search, answers: ModelAnswers | None, views: Views, guard: Guard, proxies: Sequence[str]
) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/ask")
    async def ask(request: Request, q: str = "", then: Annotated[list[str] | None, Query()] = None) -> Response:
        turns = clean_turns([q, *(then or ())])
        if answers is None or not turns:
            return _off(views, request, q)
        await guard.check_person(request)
        viewer = Viewer(await guard.sight_of_people(), address_of(request, proxies))
        parts = _conversation(request, turns, search, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    @router.get("/rank")
    async def rank(request: Request, q: str = "", by: str = "") -> Response:
        criterion, query = clean_criterion(by), " ".join(q.split())
        if answers is None or not query or not criterion:
            return _off(views, request, q)
        await guard.check_person(request)
        viewer = Viewer(await guard.sight_of_people(), address_of(request, proxies))
        parts = _rank(request, query, criterion, search, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    @router.get("/summary")
    async def summary(request: Request, page: UUID, q: str = "") -> Response:
        if answers is None:
            return _off(views, request, q)
        await guard.check_person(request)
        viewer = Viewer(await guard.sight_of_people(), address_of(request, proxies))
        parts = _summary(request, page, q, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    return router


def _off(views: Views, request: Request, query: str) -> Response:
    return HTMLResponse(views.render("ask_off.html", request, query=query), status_code=OFF)


async def _conversation(
    request: Request, turns: list[str], search: Search, answers: ModelAnswers, views: Views, viewer: Viewer
) -> AsyncIterator[str]:
    """Yield the questions at once, then the answer to the last one, and the way to its results."""
    earlier = [_address_of(turns[: place + 1]) for place in range(len(turns) - 1)]
    shared = {"query": turns[0], "turns": turns, "earlier": earlier, "searched": search_of_turns(turns)}
    yield views.render("ask_head.html", request, **shared)
    problem = None
    try:
        running = await answers.converse(turns, search, viewer.sight, viewer.address)
        async for part in AnswerSection(answers, views).render(request, running, turns=turns):
            yield part
    except RiffleError as error:
        problem = _problem_of(error)
    yield views.render("ask_end.html", request, **shared, problem=problem)


async def _rank(
    request: Request, query: str, by: str, search: Search, answers: ModelAnswers, views: Views, viewer: Viewer
) -> AsyncIterator[str]:
    """Yield the criterion at once, then each result that was read, then all of them in their new order."""
    yield views.render("rank_head.html", request, query=query, by=by)
    problem, order, reason = None, [], ""
    try:
        running = await answers.rank(query, by, search, viewer.sight, viewer.address)
        titles = {result.page_id: result.title for result in running.results}
        judged = []
        async with aclosing(running.judged) as pages:  # type: ignore[type-var]  # generators can be closed
            async for page in pages:
                judged.append(page)
                yield views.render("_rank_read.html", request, title=titles.get(page.page_id, ""), page=page)
        order, reason = running.order(judged), reason_of(running.outcome)
    except RiffleError as error:
        problem = _problem_of(error)
    yield views.render("rank_end.html", request, query=query, by=by, problem=problem, order=order, reason=reason)


async def _summary(
    request: Request, page: UUID, query: str, answers: ModelAnswers, views: Views, viewer: Viewer
) -> AsyncIterator[str]:
    """Yield the summary of one page."""
    asked = query or "This page"
    shared = {"query": query, "turns": [asked], "earlier": [], "searched": query or ""}
    yield views.render("ask_head.html", request, **shared)
    problem = None
    try:
        running = await answers.summarize(page, query, viewer.sight, viewer.address)
        if running is None:
            problem = Problem(404, "not-indexed", "This page is not in the index", "Search again for it.")
        else:
            section = AnswerSection(answers, views)
            async for part in section.render(request, running, turns=[], heading="Summary"):
                yield part
    except RiffleError as error:
        problem = _problem_of(error)
    yield views.render("ask_end.html", request, **shared, problem=problem)


def _address_of(turns: list[str]) -> str:
    start = address("/ask", q=turns[0])
    return "&".join([start, *(address("", then=turn).removeprefix("?") for turn in turns[1:])])


def _problem_of(error: RiffleError) -> Problem:
    if isinstance(error, InvalidQuery):
        return invalid_query(error)
    return search_unavailable(str(error), error.__cause__)
