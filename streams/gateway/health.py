"""For operators and load balancers: whether the process is alive, which stores answer, and the metrics."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

import orjson
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from streams.gateway.context import GatewayContext
from streams.gateway.http import examples

PROBE_SECONDS = 1.0
"""Seconds in which a store must answer the smallest request."""
_NO_PAGE = UUID(int=0)


class Readiness(BaseModel):
    """The state of the stores. `partial`: searches are answered in part. `unavailable`: send no traffic."""

    status: Literal["ready", "partial", "unavailable"]
    stores: dict[str, str]
    """For each store `ok`, or why it does not answer."""


def health_routes(context: GatewayContext) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get(
        "/healthz",
        summary="Is the process alive?",
        responses={200: examples.json_response("It is", {"status": "ok"})},
    )
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get(
        "/readyz",
        summary="Which stores answer?",
        response_model=Readiness,
        responses={
            200: examples.json_response("Searches can be answered, perhaps in part", examples.READY),
            503: {**examples.json_response("Searches can't be answered", examples.NOT_READY), "model": Readiness},
        },
    )
    async def readyz() -> Response:
        readiness = await check(context)
        status = 503 if readiness.status == "unavailable" else 200
        content = orjson.dumps(readiness.model_dump())
        return Response(content, status, {"Cache-Control": "no-store"}, media_type="application/json")

    @router.get(
        "/metrics",
        summary="Prometheus metrics",
        response_class=Response,
        responses={
            200: {"description": "Text exposition format", "content": {"text/plain": {"example": examples.METRICS}}}
        },
    )
    async def metrics() -> Response:
        return Response(context.metrics.exposition(), media_type=context.metrics.content_type)

    return router


async def check(context: GatewayContext) -> Readiness:
    """Send every store its smallest request, all at once."""
    probes: dict[str, Callable[[], Awaitable[object]]] = {
        "cassandra": lambda: context.stores.ledger.history(_NO_PAGE),
        "qdrant": lambda: context.stores.vectors.collections(),
        "triton": lambda: context.stores.embedder.embed(["ready"], deadline_seconds=PROBE_SECONDS),
    }
    states = dict(zip(probes, await asyncio.gather(*map(_probe, probes.values())), strict=True))
    if states["qdrant"] != "ok":
        return Readiness(status="unavailable", stores=states)
    return Readiness(status="ready" if set(states.values()) == {"ok"} else "partial", stores=states)


async def _probe(request: Callable[[], Awaitable[object]]) -> str:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await request()
    except TimeoutError:
        return f"no answer within {PROBE_SECONDS:g} s"
    except Exception as error:  # with any error, the store does not answer
        return str(error) or type(error).__name__
    return "ok"
