"""`/api/v1/answer`, `/api/v1/summary` and `/api/v1/rank`: answers by a model, as server-sent events.

event: sentence   a statement that the model chose, or a span of it
event: page       a result, with its judgement by the criterion
event: end        the outcome

`/api/v1/related` answers with one JSON object, which has the outcome, too: its questions are few and short.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import StreamingResponse

from streams.answers.criteria import clean_criterion
from streams.answers.evidence import Evidence, evidence_of
from streams.answers.follow_up import clean_turns
from streams.answers.writer import Status
from streams.gateway.access.bucket import ANSWER
from streams.gateway.access.clients import person_of
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.answers.html import reason_of
from streams.gateway.answers.service import ModelAnswers, RunningAnswer, RunningRank, outcome_of
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.presentation import fragment_href
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import api_router
from streams.gateway.search.service import SearchService

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_EXAMPLE = """event: sentence
data: {"text": "The log holds changes.", "form": "span", "statement": {"url": "https://sqlite.org/wal.html"}}

event: end
data: {"status": "answered", "reason": "", "asked_pages": 1, "dropped": 0, "partial": false, "quoted": null}
"""
NO_MODEL = Problem("no-model", "The operator may set RIFFLE_ANSWERS__URL. `beside.answer` of a search needs no model.")
NOT_INDEXED = Problem("not-indexed", "Its id may be another one.")
_PROBLEMS = openapi.problem_responses(
    "/api/v1/answer",
    *openapi.ACCESS_PROBLEMS,
    ("The question or a parameter is not valid", openapi.NO_QUERY),
    ("No model, or no such page", NO_MODEL),
    ("The index does not answer", openapi.NO_SEARCH),
)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `sentence` and, at last, `end`",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    },
    **_PROBLEMS,
}
_RANK_EXAMPLE = """event: page
data: {"url": "https://sqlite.org/wal.html", "place": 1, "judgement": 0.7, "met": [{"url": "https://sqlite.org/wal.html"}]}

event: end
data: {"status": "answered", "reason": "", "judged": 1, "partial": false}
"""
_RANK_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `page` and, at last, `end`",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _RANK_EXAMPLE}},
    },
    **_PROBLEMS,
}


class Cited(ApiModel):
    """The statement that was chosen."""

    statement_id: UUID
    page_id: UUID
    text: str = Field(description="The statement, word for word.")
    url: str
    link: str = Field(description="The address of the page at this statement (text fragment).")
    title: str
    host: str
    published: str | None = None


class Related(ApiModel):
    """Questions and headings of a page that a reader may ask next."""

    query: str
    related: tuple[str, ...]
    status: Status = Field(description="As in the `end` of an answer.")
    reason: str = Field(description="Why there are no questions, for people; otherwise empty.")
    partial: bool = Field(description="A part of the search failed: ask again, and there may be more.")


def answer_api_routes(
    search: SearchService, answers: ModelAnswers | None, guard: Guard, proxies: Sequence[str]
) -> APIRouter:
    """Return the routes. `proxies`: the addresses whose `X-Forwarded-For` is believed."""
    router = api_router("answers")

    @router.get(
        "/answer",
        summary="Answer by a language model",
        description="Sentences that the operator's model chose, each with the statement of a page that says it.",
        responses=_STREAM,
        response_class=StreamingResponse,
    )
    async def answer(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("answer"))],
        q: Annotated[str, Query(description="The (first) question.", min_length=1)],
        then: Annotated[list[str] | None, Query(description="The further questions of the conversation.")] = None,
    ) -> StreamingResponse:
        turns = clean_turns([q, *(then or ())])
        if not turns:
            raise ProblemError(Problem("query-empty", "No question was given.", title="There is nothing to answer"))
        running = await _on(answers).converse(turns, search, charge.visible, person_of(request, proxies))
        charge.spend(ANSWER)
        return _streamed(running)

    @router.get(
        "/summary",
        summary="Summary of one page",
        description="The sentences of an indexed page that say the most, chosen by the operator's model.",
        responses=_STREAM,
        response_class=StreamingResponse,
    )
    async def summary(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("answer"))],
        page: Annotated[UUID, Query(description="`page_id` of a result.")],
        q: Annotated[str, Query(description="What the reader looks for.")] = "",
    ) -> StreamingResponse:
        running = await _on(answers).summarize(page, q, charge.visible, person_of(request, proxies))
        if running is None:
            raise ProblemError(NOT_INDEXED)
        charge.spend(ANSWER)
        return _streamed(running)

    @router.get(
        "/rank",
        summary="Results by a criterion",
        description="The results of a query, ordered by how well the operator's model finds them to meet a criterion.",
        responses=_RANK_STREAM,
        response_class=StreamingResponse,
    )
    async def rank(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("answer"))],
        q: Annotated[str, Query(description="The query.", min_length=1)],
        by: Annotated[str, Query(description="The criterion, such as `written for beginners`.", min_length=1)],
    ) -> StreamingResponse:
        criterion = clean_criterion(by)
        if not criterion:
            raise ProblemError(Problem("query-empty", "`by` has no words.", title="There is no criterion"))
        running = await _on(answers).rank(q, criterion, search, charge.visible, person_of(request, proxies))
        charge.spend(ANSWER)
        return StreamingResponse(_ranked(running), media_type="text/event-stream", headers=HEADERS)

    @router.get(
        "/related",
        summary="Related questions",
        description="Questions and headings of the pages found that a reader may ask next.",
        responses={200: openapi.json_response("The questions", "related"), **_PROBLEMS},
    )
    async def related(
        request: Request,
        charge: Annotated[Charge, Depends(guard.needs("answer"))],
        q: Annotated[str, Query(description="The question.", min_length=1)],
    ) -> Related:
        on = _on(answers)
        found = await search.find(q, charge.visible)
        charge.spend(ANSWER)
        outcome = outcome_of(found)
        questions = await on.related(q, evidence_of(found), person_of(request, proxies), outcome)
        status, reason = outcome.status, reason_of(outcome)
        return Related(query=q, related=tuple(questions), status=status, reason=reason, partial=outcome.is_partial)

    return router


def _on(answers: ModelAnswers | None) -> ModelAnswers:
    if answers is None:
        raise ProblemError(NO_MODEL)
    return answers


def _streamed(running: RunningAnswer) -> StreamingResponse:
    return StreamingResponse(_events(running), media_type="text/event-stream", headers=HEADERS)


async def _events(running: RunningAnswer) -> AsyncIterator[bytes]:
    async with aclosing(running.chosen) as chosen:  # type: ignore[type-var]  # generators can be closed
        async for each in chosen:
            statement = cited(each.evidence).model_dump(mode="json")
            yield event("sentence", {"text": each.text, "form": each.form, "statement": statement})
    outcome, quoted = running.outcome, await running.quoted()
    end = {
        "status": outcome.status,
        "reason": reason_of(outcome),
        "asked_pages": outcome.asked,
        "dropped": outcome.dropped,
        "withheld_pages": outcome.withheld,
        "partial": outcome.is_partial,
        "cached": outcome.cached > 0,
        "quoted": quoted.model_dump(mode="json") if quoted else None,
    }
    yield event("end", end)


async def _ranked(running: RunningRank) -> AsyncIterator[bytes]:
    judged = 0
    async with aclosing(running.pages()) as pages:
        async for result, page in pages:
            judged += page.judgement is not None
            value = {
                "page_id": str(result.page_id),
                "url": result.url,
                "place": result.place + 1,
                "judgement": page.judgement,
                "met": [cited(each).model_dump(mode="json") for each in page.met],
            }
            yield event("page", value)
    outcome = running.outcome
    end = {"status": outcome.status, "reason": reason_of(outcome), "judged": judged, "partial": outcome.is_partial}
    yield event("end", end)


def cited(found: Evidence) -> Cited:
    """Return a statement as the API names it."""
    return Cited(
        statement_id=found.id,
        page_id=found.page_id,
        text=found.text,
        url=found.url,
        link=fragment_href(found.url, found.text, found.place),
        title=found.title,
        host=found.host,
        published=found.published or None,
    )


def event(name: str, value: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(value) + b"\n\n"
