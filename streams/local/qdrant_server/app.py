"""The HTTP service: one function per call of the API."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from streams.allowed_hosts import LOCAL_NAMES, AllowedHosts
from streams.local.qdrant_server.catalog import Catalog
from streams.local.qdrant_server.collection import SEAL_POINTS, Builds, Collection
from streams.local.qdrant_server.errors import ApiError, BadRequest, Forbidden, NotFound

log = structlog.get_logger()

API_VERSION = "1.19.0"
"""The version of Qdrant's API that this server has. Clients compare it with their own."""
FLUSH_SECONDS = 5.0
"""Time between two writes of the logs to the disk (seconds), as in Qdrant."""
VACUUM_TURNS = 12
"""Number of flushes between two looks for runs that are due: one minute."""

Body = Mapping[str, Any]


def build_app(data: Path, seal_points: int = SEAL_POINTS) -> Starlette:
    """Return the service over one data folder. Opens the collections and replays their logs."""
    catalog = Catalog(data, Builds(seal_points))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        flushing = asyncio.create_task(maintain_regularly(catalog))
        yield
        flushing.cancel()
        with suppress(asyncio.CancelledError):
            await flushing
        await asyncio.to_thread(catalog.close)

    return Starlette(
        routes=_list_routes(catalog),
        lifespan=lifespan,
        # A page in a browser of this machine may neither read nor change the index.
        middleware=[Middleware(AllowedHosts, LOCAL_NAMES, _refuse_host, checked=("Host", "Origin"))],
        exception_handlers={
            ApiError: _answer_error,
            Exception: _answer_unforeseen,
            404: _answer_no_route,
            405: _answer_no_route,
        },
    )


async def maintain_regularly(catalog: Catalog, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Flush all collections every few seconds, and clean them up every minute, until the task is cancelled."""
    for turn in itertools.count(1):
        await sleep(FLUSH_SECONDS)
        await asyncio.to_thread(_maintain, catalog.all(), clean_up=turn % VACUUM_TURNS == 0)


def _maintain(collections: Sequence[Collection], *, clean_up: bool) -> None:
    """Flush collections. A failed flush is tried again at the next turn, and keeps no other collection waiting."""
    for collection in collections:
        try:
            collection.flush()
            if clean_up:
                collection.vacuum()
        except ApiError:
            continue  # the collection was removed meanwhile
        except BaseException as error:
            log.warning("a collection could not be flushed", error=repr(error))


def _list_routes(catalog: Catalog) -> list[Route]:
    def on_catalog(call: Callable[[Catalog, Request, Body], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            started = time.perf_counter()
            body = await _read_body(request)
            return _build_answer(await asyncio.to_thread(_call_checked, call, catalog, request, body), started)

        return endpoint

    async def upsert(request: Request) -> Response:
        started, content = time.perf_counter(), await request.body()

        def write() -> Any:
            catalog.get(request.path_params["name"]).upsert(content)
            return _COMPLETED

        return _build_answer(await asyncio.to_thread(write), started)

    def on_collection(call: Callable[[Collection, Body], Any]) -> Callable[[Request], Awaitable[Response]]:
        return on_catalog(lambda catalog, request, body: call(catalog.get(request.path_params["name"]), body))

    name = "/collections/{name}"
    return [
        Route("/", _answer_root),
        *(Route(path, _answer_alive) for path in ("/healthz", "/readyz", "/livez")),
        Route("/collections", on_catalog(lambda c, *_: {"collections": [{"name": name} for name in c.names()]})),
        Route("/collections/aliases", on_catalog(_change_aliases), methods=["POST"]),
        Route("/aliases", on_catalog(lambda c, *_: {"aliases": c.aliases()})),
        Route(name, on_catalog(_create_collection), methods=["PUT"]),
        Route(name, on_catalog(lambda c, r, _: c.delete(r.path_params["name"])), methods=["DELETE"]),
        Route(name, on_collection(lambda collection, _: collection.info())),
        Route(f"{name}/exists", on_catalog(lambda c, r, _: {"exists": c.exists(r.path_params["name"])})),
        Route(f"{name}/index", on_collection(_create_index), methods=["PUT"]),
        Route(f"{name}/points", upsert, methods=["PUT"]),
        Route(f"{name}/points", on_collection(_retrieve), methods=["POST"]),
        Route(f"{name}/points/delete", on_collection(_delete_points), methods=["POST"]),
        Route(f"{name}/points/payload", on_collection(_set_payload), methods=["POST"]),
        Route(f"{name}/points/payload/delete", on_collection(_delete_payload), methods=["POST"]),
        Route(f"{name}/points/scroll", on_collection(_scroll), methods=["POST"]),
        Route(f"{name}/points/count", on_collection(_count), methods=["POST"]),
        Route(f"{name}/points/query", on_collection(_query), methods=["POST"]),
        Route(f"{name}/points/query/batch", on_collection(_query_batch), methods=["POST"]),
    ]


def _create_collection(catalog: Catalog, request: Request, body: Body) -> bool:
    catalog.create(request.path_params["name"], body)
    return True


def _change_aliases(catalog: Catalog, _: Request, body: Body) -> bool:
    catalog.change_aliases(body["actions"])
    return True


def _create_index(collection: Collection, body: Body) -> Any:
    collection.create_index(body["field_name"], body.get("field_schema"))
    return _COMPLETED


def _retrieve(collection: Collection, body: Body) -> Any:
    return collection.retrieve(body)


def _delete_points(collection: Collection, body: Body) -> Any:
    if "points" in body:
        collection.delete(list(body["points"]))
    else:
        collection.delete_by_filter(body["filter"])
    return _COMPLETED


def _set_payload(collection: Collection, body: Body) -> Any:
    new = body["payload"]
    collection.change_payload(body["filter"], lambda payload: {**payload, **new})
    return _COMPLETED


def _delete_payload(collection: Collection, body: Body) -> Any:
    gone = set(body["keys"])
    collection.change_payload(
        body["filter"], lambda payload: {key: value for key, value in payload.items() if key not in gone}
    )
    return _COMPLETED


def _scroll(collection: Collection, body: Body) -> Any:
    points, following = collection.scroll(body)
    return {"points": points, "next_page_offset": following}


def _count(collection: Collection, body: Body) -> Any:
    return {"count": collection.count(body.get("filter"))}


def _query(collection: Collection, body: Body) -> Any:
    return {"points": collection.query([body])[0]}


def _query_batch(collection: Collection, body: Body) -> Any:
    return [{"points": points} for points in collection.query(body["searches"])]


_COMPLETED = {"operation_id": 0, "status": "completed"}


async def _answer_root(_: Request) -> Response:
    return Response(
        orjson.dumps({"title": "qdrant - local engine of Riffle", "version": API_VERSION}),
        media_type="application/json",
    )


async def _answer_alive(_: Request) -> Response:
    return PlainTextResponse("all shards are ready")


def _call_checked(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the call's result. Raises BadRequest for a body with a missing field or a wrong type."""
    try:
        return call(*arguments)
    except KeyError as error:
        raise BadRequest(f"Format error in JSON body: missing field {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"Format error in JSON body: {error}") from error


async def _read_body(request: Request) -> Body:
    content = await request.body()
    if not content:
        return {}
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"Format error in JSON body: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("Format error in JSON body: an object is expected")
    return body


def _build_answer(result: Any, started: float) -> Response:
    content = orjson.dumps({"result": result, "status": "ok", "time": time.perf_counter() - started})
    return Response(content, media_type="application/json")


async def _answer_error(_: Request, error: Exception) -> Response:
    return _error_response(error if isinstance(error, ApiError) else ApiError(str(error)))


def _error_response(error: ApiError) -> Response:
    content = orjson.dumps({"status": {"error": error.message}, "time": 0.0})
    return Response(content, error.status, media_type="application/json")


def _refuse_host(_scope: Mapping[str, Any], header: str, _value: str) -> Response:
    return _error_response(Forbidden(f"Forbidden: the {header} is not this machine"))


async def _answer_unforeseen(request: Request, error: Exception) -> Response:
    return await _answer_error(request, ApiError(f"Service internal error: {error}"))


async def _answer_no_route(request: Request, _: Exception) -> Response:
    return await _answer_error(request, NotFound(f"Not found: this server has no {request.method} {request.url.path}"))
