"""`/` and `/search`: the pages on which people search. No script is needed, and none is sent."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from streams.gateway.context import Site
from streams.gateway.http.problems import ProblemError
from streams.gateway.http.templates import Views
from streams.gateway.search.answers import SearchAnswer, to_search_answer
from streams.gateway.search.request import ALL_LANGUAGES, SearchRequest, parse

FIRST_PAINT_SECONDS = 0.15
"""A search that takes longer shows its head and search box first. A faster one is one response with an exact status."""
CACHE = "private, max-age=60"
"""Going back to the results asks nobody again; no proxy keeps what a person searched for."""


def search_pages(site: Site, views: Views) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def home(request: Request) -> Response:
        return HTMLResponse(views.render("home.html", request), headers={"Cache-Control": "public, max-age=300"})

    @router.api_route("/search", methods=["GET", "HEAD"])
    async def search(
        request: Request,
        q: str = "",
        page: Annotated[int, Query(ge=1, le=1_000)] = 1,
        host: str = "",
        language: str = "",
    ) -> Response:
        if not q.strip():
            return HTMLResponse(views.render("home.html", request, host=host, language=language))
        limits = site.settings.gateway
        asked = parse(
            q,
            page=page,
            host=host,
            language=language,
            max_chars=limits.max_query_chars,
            default_languages=limits.languages,
        )
        everywhere = ALL_LANGUAGES if limits.languages else ""
        answering = asyncio.create_task(_answer(site, asked))
        done, _ = await asyncio.wait({answering}, timeout=FIRST_PAINT_SECONDS)
        if done:
            return HTMLResponse(
                views.render("search.html", request, **_values(answering.result(), asked, everywhere)),
                headers={"Cache-Control": CACHE},
            )
        return StreamingResponse(
            _head_first(views, request, asked, everywhere, answering),
            media_type="text/html",
            headers={"Cache-Control": "no-store"},
        )

    return router


async def _answer(site: Site, asked: SearchRequest) -> SearchAnswer:
    answer = await site.searcher.search(asked)
    site.tell(answer)
    return to_search_answer(answer)


async def _head_first(
    views: Views, request: Request, asked: SearchRequest, everywhere: str, answering: asyncio.Task[SearchAnswer]
) -> AsyncIterator[str]:
    """The head at once, the rest when the answer is there. A failure can only be told in words by then."""
    try:
        yield views.render("search_head.html", request, **_asked(asked))
        try:
            values = _values(await answering, asked, everywhere)
            yield views.render("search_rest.html", request, **values)
        except ProblemError as error:
            yield views.render("search_failed.html", request, problem=error.problem, **_asked(asked))
    finally:
        answering.cancel()  # the person left; a finished task does not mind


def _asked(asked: SearchRequest) -> dict[str, Any]:
    return {"query": asked.text, "host": asked.host, "language": asked.language, "page": asked.page}


def _values(answer: SearchAnswer, asked: SearchRequest, everywhere: str) -> dict[str, Any]:
    """`everywhere`: what the language must be for all to be searched."""
    return {
        **_asked(asked),
        "answer": answer,
        "first": asked.first + 1,
        "hosts": facet(result.host for result in answer.results),
        "everywhere": everywhere,
        "languages": facet(result.language for result in answer.results),
    }


def facet(values: Any) -> list[tuple[str, int]]:
    """What the results could be narrowed to: each value with its number on this page, the most frequent first."""
    return Counter(value for value in values if value).most_common(6)
