"""`/api/v1/suggest` for programs and the page, and `/suggest` for the search fields of browsers.

What was typed is in memory until it is answered, and nothing of it is kept or published.
"""

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import Response

from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import invalid_parameter
from streams.gateway.http.requests import refuse_unknown
from streams.gateway.suggest.service import SuggestService
from streams.queries.suggestions.index import MAX_SHOWN

PATH = "/api/v1/suggest"
MAX_CHARS, MAX_LANGUAGE_CHARS = 1_000, 20
"""Maximum length of what was typed, and of the tag of a language (characters)."""
CACHE = {"Cache-Control": "private, max-age=60"}
"""The cache header of suggestions: only the browser of the person keeps what was typed."""
OPENSEARCH_TYPE = "application/x-suggestions+json"
PROBLEMS = openapi.problem_responses(
    PATH,
    (
        "A parameter is not valid",
        invalid_parameter("limit", f"limit: Input should be less than or equal to {MAX_SHOWN}."),
    ),
)


class SuggestedQuery(ApiModel):
    """A query that begins with what was typed, or nearly so."""

    text: str = Field(description="The query, in lower case.")
    language: str = Field("", description="BCP 47; empty when unknown.")


class Suggested(ApiModel):
    """The suggestions for what was typed."""

    query: str = Field(description="What was typed.")
    suggestions: tuple[SuggestedQuery, ...] = Field(description="The best first.")


def suggest_routes(service: SuggestService) -> APIRouter:
    router = APIRouter(dependencies=[Depends(refuse_unknown)], generate_unique_id_function=openapi.operation_id)

    @router.get(
        PATH,
        tags=["search"],
        summary="Suggest queries",
        description=(
            "Completes what a person has typed: with queries that enough people asked, where the operator counts them, "
            "and with titles, headings and frequent phrases of the index. One mistake in what was typed is forgiven."
        ),
        responses={200: openapi.json_response("The suggestions", "suggest"), **PROBLEMS},
        response_model=Suggested,
    )
    async def suggest(
        q: Annotated[str, Query(max_length=MAX_CHARS, description="What was typed so far.", examples=["write-a"])] = "",
        language: Annotated[
            str,
            Query(
                max_length=MAX_LANGUAGE_CHARS,
                description="Suggestions in this language come first (BCP 47).",
                examples=["en"],
            ),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_SHOWN)] = MAX_SHOWN,
    ) -> Response:
        found = await service.suggest(q, language.lower(), limit)
        rows = [{"text": each.text, "language": each.language} for each in found]
        return Response(orjson.dumps({"query": q, "suggestions": rows}), media_type="application/json", headers=CACHE)

    @router.get("/suggest", include_in_schema=False)
    async def opensearch(q: Annotated[str, Query(max_length=MAX_CHARS)] = "", language: str = "") -> Response:
        found = await service.suggest(q, language.lower()[:MAX_LANGUAGE_CHARS])
        texts = orjson.dumps([q, [each.text for each in found]])
        return Response(texts, media_type=OPENSEARCH_TYPE, headers=CACHE)

    return router
