"""`/tavily/search` and `/tavily/extract`: the two requests of Tavily's API (docs.tavily.com).

`search_depth`, `topic`, `country`, images and favicons change nothing: the index has no more than texts of the web.
"""

import asyncio
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.compatible.loading import Loaded, PageLoader
from streams.gateway.compatible.shown import answers_of, results_of, text_of
from streams.gateway.http.requests import compatible_router, read_json
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.service import SearchService
from streams.search.query_language.query import Choices, apply_choices
from streams.search.request import ALL_LANGUAGES, Parameters

MAX_BODY_BYTES = 100_000
WITHIN = {"d": "day", "w": "week", "m": "month", "y": "year"}
"""Tavily's short names of times."""
RawContent = bool | Literal["markdown", "text"]


class TavilySearch(BaseModel):
    """The parameters of a search that change something here."""

    query: str
    max_results: int = Field(5, ge=0, le=20)
    include_answer: bool | Literal["basic", "advanced"] = False
    include_raw_content: RawContent = False
    include_domains: tuple[str, ...] = ()
    include_domains_mode: Literal["restrict", "prefer"] = "restrict"
    exclude_domains: tuple[str, ...] = ()
    time_range: Literal["day", "week", "month", "year", "d", "w", "m", "y"] | None = None
    start_date: str = ""
    end_date: str = ""
    language: str | None = None
    filter_by_language: bool = False


class TavilyExtract(BaseModel):
    """The parameters of an extraction that change something here."""

    urls: str | tuple[str, ...]


def tavily_routes(service: SearchService, loader: PageLoader, guard: Guard) -> APIRouter:
    router = compatible_router("/tavily")

    @router.post("/search")
    async def search(request: Request, charge: Annotated[Charge, Depends(guard.needs("search"))]) -> dict[str, Any]:
        started = _now()
        sent = await read_json(request, TavilySearch, MAX_BODY_BYTES)
        answer = await service.ask(_query_of(sent, service), charge, _parameters_of(sent))
        results = results_of(answer)[: sent.max_results]
        loaded: dict[str, Loaded] = {}
        if sent.include_raw_content:
            allowed = [result.url for result in results if not result.kept_from_models]
            loaded = {page.asked: page for page in await loader.load(allowed, charge, fetch=False)}
        return {
            "query": sent.query,
            "answer": _answer_of(answer) if sent.include_answer else None,
            "follow_up_questions": None,
            "images": [],
            "results": _to_results(answer, sent.max_results, loaded),
            **_about(started),
        }

    @router.post("/extract")
    async def extract(request: Request, charge: Annotated[Charge, Depends(guard.needs("pages"))]) -> dict[str, Any]:
        started = _now()
        sent = await read_json(request, TavilyExtract, MAX_BODY_BYTES)
        urls = [sent.urls] if isinstance(sent.urls, str) else list(sent.urls)
        pages = await loader.load(urls, charge)
        return {
            "results": [{"url": page.asked, "raw_content": page.text, "images": []} for page in pages if page.text],
            "failed_results": [{"url": page.asked, "error": page.failure} for page in pages if not page.text],
            **_about(started),
        }

    return router


def _now() -> float:
    return asyncio.get_running_loop().time()


def _query_of(sent: TavilySearch, service: SearchService) -> str:
    within = sent.time_range or ""
    chosen = Choices(published=WITHIN.get(within, within), after=sent.start_date, before=sent.end_date)
    return sent.query if chosen == Choices() else apply_choices(sent.query, chosen, service.searcher.clock().date())


def _parameters_of(sent: TavilySearch) -> Parameters:
    return Parameters(
        per_page=max(sent.max_results, 1),
        include=sent.include_domains if sent.include_domains_mode == "restrict" else (),
        exclude=sent.exclude_domains,
        language=(sent.language or "") if sent.filter_by_language else ALL_LANGUAGES if sent.language else "",
    )


def _to_results(answer: SearchAnswer, count: int, loaded: dict[str, Loaded]) -> list[dict[str, Any]]:
    """Return the results as Tavily has them. A score is a share of the best one's, since Tavily's is from 0 to 1."""
    results = results_of(answer)[:count]
    best = max((result.score for result in results), default=0.0)
    shown = []
    for result in results:
        page = loaded.get(result.url)
        score = round(max(result.score, 0.0) / best, 4) if best > 0 else 0.0
        shown.append({
            "url": result.url,
            "title": result.title,
            "content": text_of(result),
            "score": score,
            "raw_content": page.text or None if page else None,
            **({"published_date": result.published} if result.published else {}),
        })  # fmt: skip
    return shown


def _answer_of(answer: SearchAnswer) -> str | None:
    return "\n".join(each.text for each in answers_of(answer)) or None


def _about(started: float) -> dict[str, Any]:
    return {"response_time": round(_now() - started, 3), "request_id": str(uuid4())}
