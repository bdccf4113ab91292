"""`/api/v1/ask`: a question in steps, as server-sent events.

event: step   a step when it begins, and again when it has ended (`done`)
event: part   a part of the question with its statements
event: end    what stayed open, why the research ended, and what it has spent
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import StreamingResponse

from streams.answers.choices import Chosen
from streams.answers.research.bounds import MOST, Bounds
from streams.answers.research.loop import Researcher
from streams.answers.research.results import Answered, Research, Step
from streams.gateway.access.clients import person_of
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.answers.api import HEADERS, cited, event
from streams.gateway.http import openapi
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import api_router
from streams.gateway.research.service import MAX_QUESTION_CHARS, ResearchService

DEFAULT = Bounds()
_EXAMPLE = """event: step
data: {"number": 2, "kind": "search", "part": 0, "asked": "what is a WAL file", "done": true, "pages": 9, "new": 24}

event: part
data: {"text": "what is a WAL file", "open": false, "statements": [{"statement": {"url": "https://sqlite.org/wal.html"}}]}

event: end
data: {"open": [], "end": "one-round", "spent": {"searches": 2, "calls": 0, "tokens": 0, "seconds": 0.4}}
"""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `step`, then one `part` for each part of the question, and at last `end`",
        "content": {"text/event-stream": {"example": _EXAMPLE}},  # tools compare each event with a schema
    },
    **openapi.problem_responses(
        "/api/v1/ask",
        *openapi.ACCESS_PROBLEMS,
        ("The question or a parameter is not valid", openapi.NO_QUERY),
    ),
}


def research_api_routes(research: ResearchService, guard: Guard, proxies: Sequence[str]) -> APIRouter:
    """Return the route. `proxies`: the addresses whose `X-Forwarded-For` is believed."""
    router = api_router("answers")

    @router.get(
        "/ask",
        summary="Answer a question in steps",
        description="The parts of the question, each with statements of pages, word for word, that answer it. The "
        "operator's model, where there is one, divides the question, chooses statements and asks again for what is "
        "open. Without it, each clause is searched once.",
        responses=_RESPONSES,
        response_class=StreamingResponse,
    )
    async def ask(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("answer"))],
        q: Annotated[str, Query(description="The question.", min_length=1, max_length=MAX_QUESTION_CHARS)],
        searches: Annotated[
            int, Query(description="Maximum reads of the index.", ge=1, le=MOST.searches)
        ] = DEFAULT.searches,
        calls: Annotated[
            int, Query(description="Maximum calls of the model; 0: none.", ge=0, le=MOST.calls)
        ] = DEFAULT.calls,
        seconds: Annotated[float, Query(description="Maximum duration.", gt=0, le=MOST.seconds)] = DEFAULT.seconds,
        tokens: Annotated[
            int, Query(description="Maximum tokens of all calls, estimated.", ge=0, le=MOST.tokens)
        ] = DEFAULT.tokens,
    ) -> StreamingResponse:
        if not q.strip():
            raise ProblemError(Problem("query-empty", "No question was given.", title="There is nothing to answer"))
        bounds = Bounds(searches, calls, seconds, tokens)
        running = research.start(q, bounds, charge, person_of(request, proxies))
        return StreamingResponse(_events(running), media_type="text/event-stream", headers=HEADERS)

    return router


async def _events(running: Researcher) -> AsyncIterator[bytes]:
    async with aclosing(running.run()) as steps:
        async for step in steps:
            yield event("step", _of_step(step))
    for part in running.research.parts:
        yield event("part", _of_part(part))
    yield event("end", _of_end(running.research))


def _of_step(step: Step) -> dict[str, Any]:
    """Return a step. What is not known at its beginning is in its end only."""
    begun = {"number": step.number, "kind": step.kind, "part": step.part, "asked": step.asked, "done": step.is_done}
    if not step.is_done:
        return begun
    found = {"pages": step.pages, "new": step.new, "kept": step.kept, "texts": step.texts}
    return {**begun, **found, "seconds": step.seconds, "fault": step.fault}


def _of_part(part: Answered) -> dict[str, Any]:
    return {
        "text": part.text,
        "queries": part.queries,
        "open": part.is_open,
        "missing": part.missing,
        "by": part.by,
        "confidence": part.confidence,
        "statements": [_of_chosen(each) for each in part.statements],
    }


def _of_chosen(chosen: Chosen) -> dict[str, Any]:
    found = chosen.evidence
    return {
        "text": chosen.text,
        "form": chosen.form,
        "context": found.context if found.consent.max_snippet is None else (),
        "statement": cited(found).model_dump(mode="json"),
        "kept_from_models": found.consent.kept_from_models,
    }


def _of_end(research: Research) -> dict[str, Any]:
    spent = research.spent
    return {
        "open": [part.text for part in research.open],
        "end": research.end,
        "divided": research.divided,
        "model": research.model,
        "spent": {
            "searches": spent.searches,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "seconds": research.seconds,
        },
        "withheld_pages": research.withheld,
        "partial": research.is_partial,
    }
