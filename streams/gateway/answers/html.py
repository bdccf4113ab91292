"""`/ask`, `/rank` and `/summary`: a conversation over the results, results by a criterion, the summary of one result.

All three are HTML that leaves in parts.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from streams.answers.choices import Chosen
from streams.answers.criteria import LEAST, clean_criterion
from streams.answers.disagreement import differ
from streams.answers.evidence import Evidence
from streams.answers.follow_up import clean_turns, search_of_turns
from streams.answers.writer import Outcome
from streams.errors import InvalidQuery, RiffleError
from streams.gateway.access.bucket import ANSWER
from streams.gateway.access.clients import person_of
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.answers.service import ModelAnswers, RunningAnswer
from streams.gateway.clicks.links import plain_link
from streams.gateway.http.problems import Problem, invalid_query, search_unavailable
from streams.gateway.http.templates import Views, address
from streams.gateway.search.service import SearchService
from streams.plain_text import message
from streams.search.searcher import Found
from streams.stores.protocols import Visible

STREAMED = {"Cache-Control": "private, no-store", "X-Accel-Buffering": "no"}
"""The headers of a page that leaves in parts: NGINX, which would wait for the whole page, passes each part on."""
OFF = 404
"""The status of these pages where no model is configured."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who asks: the pages that they may see, and the network whose budget they use."""

    visible: Visible
    person: str


@dataclass(frozen=True, slots=True)
class Slider:
    """A person's own criterion, and the judgement below which results are folded."""

    by: str
    least: float


InSteps = Callable[[Request, str, Charge], Response]
"""Return the page of a question in steps."""


def ask_html_routes(
    search: SearchService,
    answers: ModelAnswers | None,
    views: Views,
    guard: Guard,
    proxies: Sequence[str],
    in_steps: InSteps,
) -> APIRouter:
    """Return the routes. `in_steps` answers a question whose `steps` is 1: it needs no model."""
    router = APIRouter(include_in_schema=False)

    @router.get("/ask")
    async def ask(
        request: Request,
        q: str = "",
        then: Annotated[list[str] | None, Query()] = None,
        steps: Annotated[int, Query(ge=0, le=1)] = 0,
    ) -> Response:
        turns = clean_turns([q, *(then or ())])
        charge = await guard.charge_person(request)
        if steps and q.strip():
            return in_steps(request, q, charge)
        if answers is None or not turns:
            return _off(views, request, q)
        charge.spend(ANSWER)
        viewer = Viewer(charge.visible, person_of(request, proxies))
        parts = _conversation(request, turns, search, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    @router.get("/rank")
    async def rank(
        request: Request, q: str = "", by: str = "", least: Annotated[float, Query(ge=0, le=1)] = LEAST
    ) -> Response:
        criterion, query = clean_criterion(by), " ".join(q.split())
        charge = await guard.charge_person(request)
        if answers is None or not query or not criterion:
            return _off(views, request, q)
        charge.spend(ANSWER)
        viewer = Viewer(charge.visible, person_of(request, proxies))
        slider = Slider(criterion, least)
        parts = _rank(request, query, slider, search, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    @router.get("/summary")
    async def summary(request: Request, page: UUID, q: str = "") -> Response:
        charge = await guard.charge_person(request)
        if answers is None:
            return _off(views, request, q)
        charge.spend(ANSWER)
        viewer = Viewer(charge.visible, person_of(request, proxies))
        parts = _summary(request, page, q, answers, views, viewer)
        return StreamingResponse(parts, media_type="text/html", headers=STREAMED)

    return router


def _off(views: Views, request: Request, query: str) -> Response:
    return HTMLResponse(views.render("ask_off.html", request, query=query), status_code=OFF)


async def _conversation(
    request: Request, turns: list[str], search: SearchService, answers: ModelAnswers, views: Views, viewer: Viewer
) -> AsyncIterator[str]:
    """Yield the questions at once, then the answer to the last one, and the way to its results."""
    earlier = [_address_of(turns[: place + 1]) for place in range(len(turns) - 1)]
    shared = {"query": turns[-1], "turns": turns, "earlier": earlier, "searched": search_of_turns(turns)}
    yield views.render("ask_head.html", request, **shared, has_steps=True)
    problem = None
    try:
        running = await answers.converse(turns, search, viewer.visible, viewer.person)
        async for part in AnswerSection(answers, views).render(request, running, turns=turns):
            yield part
    except RiffleError as error:
        problem = _problem_of(error)
    yield views.render("ask_end.html", request, **shared, problem=problem)


async def _rank(
    request: Request,
    query: str,
    slider: Slider,
    search: SearchService,
    answers: ModelAnswers,
    views: Views,
    viewer: Viewer,
) -> AsyncIterator[str]:
    """Yield the criterion at once, then each result as soon as it is judged, and at last those that are left out."""
    shared = {"query": query, "by": slider.by, "least": slider.least}
    yield views.render("rank_head.html", request, **shared)
    problem, reason, below = None, "", []
    try:
        running = await answers.rank(query, slider.by, search, viewer.visible, viewer.person)
        async with aclosing(running.pages()) as pages:
            async for result, page in pages:
                if page.is_below(slider.least):
                    below.append((result, page))
                else:
                    yield views.render("_rank_result.html", request, result=result, page=page)
        reason = reason_of(running.outcome)
    except RiffleError as error:
        problem = _problem_of(error)
    yield views.render("rank_end.html", request, **shared, problem=problem, reason=reason, below=below)


async def _summary(
    request: Request, page: UUID, query: str, answers: ModelAnswers, views: Views, viewer: Viewer
) -> AsyncIterator[str]:
    """Yield the summary of one page."""
    asked = query or "This page"
    shared = {"query": query, "turns": [asked], "earlier": [], "searched": query or ""}
    yield views.render("ask_head.html", request, **shared)
    problem = None
    try:
        running = await answers.summarize(page, query, viewer.visible, viewer.person)
        if running is None:
            problem = Problem("not-indexed", message("Search again for it."))
        else:
            section = AnswerSection(answers, views)
            async for part in section.render(request, running, turns=[], heading=message("Summary")):
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


ANSWER_HEADING = message("Answer")
WORDS = {
    "unknown": message("The language model found no answer in these results."),
    "unavailable": message("The language model does not answer at the moment."),
    "late": message("The language model took too long."),
    "cut": message("The language model's text was cut off before its end."),
    "nothing": message("The model got no statement: nothing was found, or the publishers do not allow it."),
    "person": message("You have had as many answers as one person gets. Ask again later; the results are not limited."),
    "installation": message(
        "This search engine has given as many answers in this hour as it may. The results are not limited."
    ),
}
"""The reasons why there is no answer, for people."""


def reason_of(outcome: Outcome) -> str:
    """Return why there is no answer, or why it may be incomplete; empty if neither is so."""
    if outcome.status == "answered" and outcome.lacks:
        return message("The answer may be incomplete. %(reason)s", reason=WORDS[outcome.lacks])
    return WORDS.get(outcome.refusal or outcome.status, "")


class AnswerSection:
    """The renderer of answers on the pages."""

    def __init__(self, answers: ModelAnswers, views: Views, proxies: Sequence[str] = ()) -> None:
        """`proxies`: the addresses whose `X-Forwarded-For` is believed."""
        self._answers, self._views, self._proxies = answers, views, proxies
        self.wants = answers.wants

    async def stream(self, request: Request, question: str, found: Found) -> AsyncIterator[str]:
        """Yield the answer to a question behind the results of its search, though it is shown above them; and a way on.

        Where the results are only the nearest by meaning, the page says that nothing was found, and no answer follows.
        """
        if found.notes.nearest_only:
            return
        person = person_of(request, self._proxies)
        running = self._answers.answer(question, found, person)
        async for part in self.render(request, running, turns=[question], is_beside=True):
            yield part
        if running.outcome.status == "answered":
            related = await self._answers.related(
                question, running.evidence, person, Outcome(running.outcome.audiences), running.outcome
            )
            if related:
                yield self._views.render("_model_related.html", request, related=related)

    async def render(
        self,
        request: Request,
        running: RunningAnswer,
        *,
        turns: list[str],
        heading: str = ANSWER_HEADING,
        is_beside: bool = False,
    ) -> AsyncIterator[str]:
        """Yield the parts of one answer. `turns` are the questions so far, for the next one.

        Where the model chose nothing, the quoted answer stands, if there is one: on a page of results it stands above.
        """
        shown: list[Evidence] = []
        of_pages: dict[UUID, str] = {}
        is_prose = self._answers.writes_prose
        yield self._views.render("_model_head.html", request, heading=heading, is_prose=is_prose)
        async with aclosing(running.chosen) as chosen:  # type: ignore[type-var]  # generators can be closed
            async for each in chosen:
                of_pages.setdefault(each.evidence.page_id, each.text)
                yield self._views.render("_model_sentence.html", request, **_values(each, shown))
        disagree = bool(turns) and differ(turns[-1], [*of_pages.values()])
        quoted = await running.quoted() if turns and not is_beside else None
        values = {"reason": reason_of(running.outcome), "shown": shown, "outcome": running.outcome, "turns": turns}
        ways = {"is_prose": is_prose, "is_beside": is_beside, "disagree": disagree}
        yield self._views.render("_model_end.html", request, **values, **ways)
        if quoted:
            beside = {"found": quoted, "answer": {"quick": None}, "leave": plain_link}
            yield self._views.render("_beside_answer.html", request, **beside)


def _values(chosen: Chosen, shown: list[Evidence]) -> dict[str, Any]:
    """Return the values of what was chosen, and number its statement if it is a new one."""
    is_new_page = all(each.page_id != chosen.evidence.page_id for each in shown)
    if chosen.evidence not in shown:
        shown.append(chosen.evidence)
    number, whole = shown.index(chosen.evidence) + 1, chosen.evidence.text.strip()
    return {
        "chosen": chosen,
        "number": number,
        "is_new_page": is_new_page,
        "begins_inside": chosen.form == "span" and not whole.startswith(chosen.text),
        "ends_inside": chosen.form == "span" and not whole.endswith(chosen.text),
    }
