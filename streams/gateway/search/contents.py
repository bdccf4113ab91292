"""`/api/v1/index`: what is in the index, for a program that has to decide whether to ask it.

It is a sample: the statements that are nearest to a few general texts. So hosts and languages with many pages are in
it, as far as the client may see them. Texts of pages are left out: the sample goes into the descriptions of tools,
which a language model trusts more than results. It costs nothing: clients that see the same share one sample.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from streams.caches import TimedCache
from streams.errors import RiffleError
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import ProblemError, search_unavailable
from streams.gateway.http.requests import api_router
from streams.gateway.search.answer_model import FacetValue
from streams.stores.protocols import Filters, Visible

TEXTS = (
    "An introduction to a subject for beginners",
    "The history of a place or a person",
    "How to do this, step by step",
    "What was reported this week",
)
"""General texts. Of each, the nearest statements are in the sample."""
SAMPLE = 100
"""Number of statements for each text."""
MAX_HOSTS, MAX_LANGUAGES = 12, 8
FRESH_SECONDS = 600.0
"""Time for which a sample is used (seconds)."""
MAX_KEPT = 100
"""Maximum number of samples in memory: one for each site that has keys."""
PROBLEMS = openapi.problem_responses(
    "/api/v1/index",
    ("A parameter is not valid", openapi.NO_QUERY),
    *openapi.ACCESS_PROBLEMS,
    ("The index does not answer", openapi.NO_SEARCH),
)


class IndexContents(ApiModel):
    """Hosts and languages of a sample of the statements that a client can find."""

    sampled: int = Field(description="Number of statements in the sample. 0: the index has no pages for this client.")
    only: tuple[str, ...] = Field((), description="The domains of the key's site; empty: no site is the only one.")
    hosts: tuple[FacetValue, ...] = Field((), description="The most frequent hosts first.")
    languages: tuple[FacetValue, ...] = Field((), description="The most frequent languages first (BCP 47).")


def contents_routes(context: GatewayContext, guard: Guard) -> APIRouter:
    router, sampling = api_router("search"), asyncio.Lock()
    kept: TimedCache[Visible, IndexContents] = TimedCache(FRESH_SECONDS, MAX_KEPT, lambda: context.clock().timestamp())

    @router.get(
        "/index",
        summary="Hosts and languages of the index",
        description="Hosts and languages of a sample of the pages that this client can find, at most ten minutes old.",
        responses={200: openapi.json_response("The sample", "index"), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def index(charge: Annotated[Charge, Depends(guard.needs_no_budget("search"))]) -> IndexContents:
        async with sampling:  # clients that come together wait for one sample
            known = kept.find(charge.visible)
            if known is not None and known.is_fresh:
                return known.value
            contents = await _sample(context, charge.visible)
            kept.keep(charge.visible, contents)
        return contents

    return router


async def _sample(context: GatewayContext, visible: Visible) -> IndexContents:
    stores = context.stores
    try:
        async with asyncio.timeout(context.settings.gateway.deadline_seconds):
            in_use = await stores.embedder.look()
            vectors = await in_use.embedder.embed(TEXTS, "query")
            found = await asyncio.gather(
                *(
                    stores.candidates(
                        dense=vector.tolist(),
                        sparse=None,
                        visible=visible,
                        filters=Filters(),
                        limit=SAMPLE,
                        collection=in_use.collection,
                    )
                    for vector in vectors
                )
            )
    except (RiffleError, TimeoutError) as error:
        context.metrics.count_failure("vectors", error)
        raise ProblemError(search_unavailable("The index does not answer.", error)) from error
    payloads = list({hit.id: hit.payload for each in found for hit in each.dense}.values())
    return IndexContents(
        sampled=len(payloads),
        only=visible.only,
        hosts=_counted((each.host for each in payloads), MAX_HOSTS),
        languages=_counted((each.language for each in payloads if each.language), MAX_LANGUAGES),
    )


def _counted(values: Iterable[str], most: int) -> tuple[FacetValue, ...]:
    ordered = sorted(Counter(values).items(), key=lambda each: (-each[1], each[0]))
    return tuple(FacetValue(value=value, count=count) for value, count in ordered[:most])
