"""The page of a question in steps: `/ask` with `steps=1`. It is HTML that leaves in parts, without a script."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from fastapi import Request
from starlette.responses import StreamingResponse

from streams.answers.research.bounds import Bounds
from streams.answers.research.loop import Researcher
from streams.answers.research.results import Fault, StepKind
from streams.gateway.access.clients import person_of
from streams.gateway.access.guard import Charge
from streams.gateway.answers.html import STREAMED
from streams.gateway.http.templates import Views
from streams.gateway.research.service import MAX_QUESTION_CHARS, ResearchService
from streams.plain_text import message
from streams.search.deadline import IN_WORDS

STEPS: dict[StepKind, str] = {
    "divide": message("The parts of the question"),
    "search": message("Search"),
    "link": message("Page behind a link"),
    "around": message("More around a statement"),
    "similar": message("Similar pages"),
    "choose": message("The model reads the best pages"),
    "rephrase": message("The model writes another search"),
    "follow": message("The model looks for a way on"),
}
"""The names of steps for people."""
FAULTS: dict[Fault, str] = {
    "late": IN_WORDS["late"],
    "unavailable": IN_WORDS["failed"],
    "refused": message("can't be searched"),
}
AT_A_BOUND = message("The research ended at its bound.")
NOTHING_NEW = message("Further searches found nothing new.")
NO_ANSWER = message("The language model does not answer at the moment.")


class ResearchPage:
    """The pages of one process."""

    def __init__(self, research: ResearchService, views: Views, proxies: Sequence[str]) -> None:
        """`proxies`: the addresses whose `X-Forwarded-For` is believed."""
        self._research, self._views, self._proxies = research, views, proxies

    def __call__(self, request: Request, question: str, charge: Charge) -> StreamingResponse:
        """Return the page, which leaves step by step."""
        asked = question[:MAX_QUESTION_CHARS]
        running = self._research.start(asked, Bounds(), charge, person_of(request, self._proxies))
        return StreamingResponse(self._parts(request, running), media_type="text/html", headers=STREAMED)

    async def _parts(self, request: Request, running: Researcher) -> AsyncIterator[str]:
        research = running.research
        has_model = self._research.answers is not None
        shared = {"query": research.question, "has_model": has_model}
        yield self._views.render("research_head.html", request, **shared)
        async with aclosing(running.run()) as steps:
            async for step in steps:
                values = {"step": step, "does": STEPS[step.kind], "fault": FAULTS.get(step.fault, "")}
                yield self._views.render("_research_step.html", request, **values)
        reasons = [_REASONS[research.end]] if research.end in _REASONS else []
        reasons += [NO_ANSWER] if research.model == "failed" else []
        yield self._views.render("research_end.html", request, **shared, research=research, reasons=reasons)


_REASONS = {
    "nothing-new": NOTHING_NEW,
    **dict.fromkeys(("searches", "calls", "tokens", "time", "budget", "rounds"), AT_A_BOUND),
}
