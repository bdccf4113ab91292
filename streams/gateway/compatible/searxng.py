"""`/searxng/search`: the JSON of SearXNG's search API (docs.searxng.org/dev/search_api.html).

Riffle is the one engine here, so `engines`, `safesearch` and settings of people are read by nobody. A category of
media has no results, since the index has texts only.
"""

from typing import Annotated, Any
from urllib.parse import urlparse

import orjson
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.compatible.shown import ShownAnswer, answers_of, results_of, text_of
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.gateway.http.requests import compatible_router, read_form
from streams.gateway.search.answer_model import Result, SearchAnswer
from streams.gateway.search.service import SearchService
from streams.search.query_language.query import WITHIN_DAYS, Choices, apply_choices
from streams.search.request import ALL_LANGUAGES, Parameters

ENGINE, CATEGORY = "riffle", "general"
MEDIA = frozenset({"images", "videos", "music", "files", "map"})
"""SearXNG's categories of what is no text."""
LANGUAGES = {"all": ALL_LANGUAGES, "auto": ""}
"""SearXNG's words for languages that are no tags."""


def searxng_routes(service: SearchService, guard: Guard) -> APIRouter:
    router = compatible_router("/searxng")

    async def search(request: Request, charge: Annotated[Charge, Depends(guard.needs("search"))]) -> Response:
        sent = await read_form(request) if request.method == "POST" else {}
        given = {**request.query_params, **sent}
        if given.get("format") != "json":
            wrong = "Only `format=json` is answered here."
            raise ProblemError(Problem("invalid-parameter", wrong, "People search at /search.", "format", status=403))
        within = given.get("time_range", "")
        if within and within not in WITHIN_DAYS:
            raise ProblemError(invalid_parameter("time_range", "time_range is not day, week, month or year."))
        query, today = given.get("q", ""), service.searcher.clock().date()
        asked = apply_choices(query, Choices(published=within), today) if within else query
        answer = await service.ask(asked, charge, Parameters(page=_page_of(given), language=_language_of(given)))
        found = orjson.dumps(to_searxng(answer, query, _categories_of(given)))
        return Response(found, headers={"Cache-Control": "no-store"}, media_type="application/json")

    for path in ("", "/", "/search"):
        router.add_api_route(path, search, methods=["GET", "POST"])
    return router


def to_searxng(answer: SearchAnswer, query: str, categories: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the answer as SearXNG has it. `number_of_results`: those that are known, up to the end of this page."""
    missing = [[f"{ENGINE} {reason.part}", str(reason.detail)] for reason in answer.reasons]
    results = results_of(answer)
    if categories and categories <= MEDIA:
        results, missing = (), [*missing, [ENGINE, f"no such category: {', '.join(sorted(categories))}"]]
    before = (answer.page - 1) * answer.per_page
    return {
        "query": query,
        "number_of_results": before + len(results) if results else 0,
        "results": [_to_result(result, before + number) for number, result in enumerate(results, 1)],
        "answers": [_to_answer(each) for each in answers_of(answer)],
        "corrections": [answer.spelling.corrected] if answer.spelling else [],
        "infoboxes": [],
        "suggestions": []
        if results
        else list(dict.fromkeys(filter(None, (o.query_without for o in answer.operators)))),
        "unresponsive_engines": missing,
    }


def _to_result(result: Result, place: int) -> dict[str, Any]:
    published = result.published or ""
    return {
        "url": result.url,
        "title": result.title,
        "content": text_of(result),
        "publishedDate": f"{published}T00:00:00" if len(published) == len("2026-03-04") else None,
        "pubdate": published,
        "engine": ENGINE,
        "engines": [ENGINE],
        "category": CATEGORY,
        "score": result.score,
        "positions": [place],
        "template": "default.html",
        "parsed_url": list(urlparse(result.url)),
        "thumbnail": "",
        "img_src": "",
        "priority": "",
    }


def _to_answer(answer: ShownAnswer) -> dict[str, Any]:
    parsed = list(urlparse(answer.url)) if answer.url else None
    return {
        "answer": answer.text,
        "url": answer.url or None,
        "engine": ENGINE,
        "template": "answer/legacy.html",
        "parsed_url": parsed,
    }


def _language_of(given: dict[str, str]) -> str:
    """Return the language without its region: SearXNG's programs send `en-US` for all pages in English."""
    language = given.get("language", "")
    return LANGUAGES.get(language, language.partition("-")[0])


def _page_of(given: dict[str, str]) -> int:
    text = given.get("pageno") or "1"
    if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text)):
        raise ProblemError(invalid_parameter("pageno", "pageno is not a number from 1."))
    return int(text)


def _categories_of(given: dict[str, str]) -> frozenset[str]:
    return frozenset(filter(None, (name.strip().lower() for name in given.get("categories", "").split(","))))
