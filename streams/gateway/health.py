"""Routes for operators and load balancers: whether the process is alive, which stores answer, and the metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Literal

import orjson
import structlog
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from streams.errors import DeadlineExceeded, RestoreUnfinished, StoreUnavailable
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.servers import STORES

PROBE_SECONDS = 1.0
"""Maximum time until a store answers the smallest request (seconds)."""
KEPT_SECONDS = 1.0
"""Time for which the stores' answers are kept (seconds). So any number of checks costs one request a second."""

log = structlog.get_logger(__name__)


class Readiness(BaseModel):
    """The state of the stores. `partial`: searches are answered in part. `unavailable`: send no traffic."""

    status: Literal["ready", "partial", "unavailable"]
    stores: dict[str, str]
    """For each store `ok`, or why it does not answer. Addresses and errors are in the log: this is public."""


def liveness_routes() -> APIRouter:
    router = APIRouter(tags=["operations"], generate_unique_id_function=openapi.operation_id)

    @router.get(
        "/healthz",
        summary="Is the process alive?",
        description="Answers while the process runs, whatever its stores do.",
        responses={200: openapi.json_response("It is", "alive")},
    )
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    return router


Probes = Mapping[str, tuple[str, Exception | None]]
"""The state of each store, and its error."""


class KeptProbes:
    """The last answers of the stores. Checks at the same moment share one request to each store."""

    def __init__(self, ask: Callable[[], Awaitable[Probes]], clock: Callable[[], float]) -> None:
        """`clock`: seconds, from any beginning."""
        self._ask, self._clock = ask, clock
        self._task: asyncio.Future[Probes] | None = None
        self._until = 0.0

    async def states(self) -> Probes:
        """Return the answers, which are at most `KEPT_SECONDS` old, or come now."""
        if self._task is None or (self._task.done() and self._clock() >= self._until):
            self._task = asyncio.ensure_future(self._ask_stores())
        return await asyncio.shield(self._task)

    async def _ask_stores(self) -> Probes:
        probes = await self._ask()
        self._until = self._clock() + KEPT_SECONDS
        return probes


class Rehearsal:
    """One search before the first search of a person, at the first readiness check that finds the stores open.

    A process that has just started opens connections and imports code in its first search. Beside other processes that
    start, as in a roll-out, this takes longer than a search may. It is tried once: readiness must not depend on it.
    """

    def __init__(self, search: Callable[[], Awaitable[None]]) -> None:
        self._search = search
        self._task: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        """Begin the search with the first call, and wait until it has ended."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._search())
        # A probe that gives up must not cancel the search for the next probe.
        await asyncio.shield(self._task)


def operations_routes(
    context: GatewayContext, rehearse: Callable[[], Awaitable[None]], clock: Callable[[], float]
) -> APIRouter:
    """Return the routes. `rehearse` searches once, and raises nothing. `clock`: seconds, from any beginning."""
    router = APIRouter(tags=["operations"], generate_unique_id_function=openapi.operation_id)
    last: dict[str, str] = {}
    rehearsal, probes_kept = Rehearsal(rehearse), KeptProbes(lambda: probe(context), clock)

    @router.get(
        "/readyz",
        summary="Which stores answer?",
        description="The state of each store by its role. The first call that finds them open makes one search.",
        response_model=Readiness,
        responses={
            200: openapi.json_response("Searches can be answered, perhaps in part", "ready"),
            503: {**openapi.json_response("Searches can't be answered", "not_ready"), "model": Readiness},
        },
    )
    async def readyz() -> Response:
        probes = await probes_kept.states()
        readiness = readiness_of({store: state for store, (state, _) in probes.items()})
        status = 503 if readiness.status == "unavailable" else 200
        if status == 200:
            await rehearsal.wait()
        for store, (state, error) in probes.items():
            # Load balancers ask every few seconds: the log has one line for each change.
            if error is not None and last.get(store) != state:
                log.warning("a store does not answer", store=store, error=str(error) or type(error).__name__)
            last[store] = state
        content = orjson.dumps(readiness.model_dump())
        return Response(content, status, {"Cache-Control": "no-store"}, media_type="application/json")

    @router.get(
        "/metrics",
        summary="Prometheus metrics",
        description="The metrics of this process, in the text form of Prometheus.",
        response_class=Response,
        responses={
            200: {"description": "Text exposition format", "content": {"text/plain": {"example": openapi.METRICS}}}
        },
    )
    async def metrics() -> Response:
        return Response(context.metrics.exposition(), media_type=context.metrics.content_type)

    return router


async def probe(context: GatewayContext) -> Probes:
    """Send every store its smallest request, all at once. Return each store's state, and its error."""
    answers = await asyncio.gather(*(_probe(partial(context.stores.probe, store)) for store in STORES))
    return dict(zip(STORES, answers, strict=True))


def readiness_of(states: dict[str, str]) -> Readiness:
    """Return what the states mean for searches: without vectors there are none, without the others they are partial."""
    if states["vectors"] != "ok":
        return Readiness(status="unavailable", stores=states)
    return Readiness(status="ready" if set(states.values()) == {"ok"} else "partial", stores=states)


async def _probe(request: Callable[[], Awaitable[object]]) -> tuple[str, Exception | None]:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await request()
    except (TimeoutError, DeadlineExceeded) as error:
        return f"no answer within {PROBE_SECONDS:g} s", error
    except RestoreUnfinished as error:
        return "a restore is not finished", error
    except StoreUnavailable as error:
        return "not reachable", error
    except Exception as error:
        return "failed", error
    return "ok", None
