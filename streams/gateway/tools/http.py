"""`/mcp`: the tools over streamable HTTP, at the gateway. No gateway keeps a session between two requests.

The SDK is imported with the first request: it takes a second, which no other gateway should pay.

A tool asks the gateway's own API inside the process, with the key and the address of its caller. So its costs are
counted as any request's, on the same budget.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from streams.client import AsyncRiffle
from streams.client.plain_http import plain_async_client
from streams.gateway.http.problems import Problem
from streams.gateway.http.responses import problem_response
from streams.settings import AccessSettings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
MAX_BODY_BYTES = 200_000
_SIGN_IN = "The request has no token. `resource_metadata` of this answer leads to the server that gives one."
_PASSED = ("authorization", "x-forwarded-for")
"""Headers of the caller by which the API knows it."""


class ToolsEndpoint:
    """The endpoint of one app. It starts with the first request, and `close` ends it."""

    def __init__(self, app: FastAPI, refuse: Callable[[Request], Response] | None = None) -> None:
        """`refuse`: returns the answer to a request without a token, which tells a client where it gets one."""
        self._app, self._refuse = app, refuse
        self._manager: StreamableHTTPSessionManager | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if self._refuse is not None and "authorization" not in request.headers:
            await self._refuse(request)(scope, receive, send)
            return
        manager = await self._start()
        await manager.asgi_app(scope, receive, send)

    async def close(self) -> None:
        if self._running is not None:
            self._stop.set()
            await self._running

    async def _start(self) -> "StreamableHTTPSessionManager":
        if self._manager is None:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
            from mcp.server.transport_security import TransportSecuritySettings

            from streams.gateway.tools.server import make_server

            server = make_server(self._open_client)
            self._manager = StreamableHTTPSessionManager(
                server._lowlevel_server,
                json_response=True,
                stateless=True,
                # The gateway checks the name of every request itself (`http.middleware`).
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                max_request_body_size=MAX_BODY_BYTES,
            )
            started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._manager, started))
            await started
        return self._manager

    async def _run(self, manager: "StreamableHTTPSessionManager", started: asyncio.Future[None]) -> None:
        """Hold the manager open until the end, in one task, as it requires."""
        async with manager.run():
            started.set_result(None)
            await self._stop.wait()

    @asynccontextmanager
    async def _open_client(self, request: Request | None) -> AsyncIterator[AsyncRiffle]:
        given = request.headers if request is not None else Headers()
        client = request.client if request is not None else None
        transport = httpx2.ASGITransport(self._app, client=(client.host, client.port) if client else ("", 0))
        headers = [(name, value) for name in _PASSED for value in given.getlist(name)]
        base = f"http://{given.get('host', 'localhost')}"
        async with plain_async_client(transport=transport, headers=headers, base_url=base) as inside:
            yield AsyncRiffle(base, http=inside)


METADATA = "/.well-known/oauth-protected-resource"
"""Path of the metadata that clients of OAuth look for; of `/mcp`, its path stands behind (RFC 9728, 3.1)."""


def install_tools(app: FastAPI, access: AccessSettings, public_url: str = "") -> ToolsEndpoint:
    """Add the endpoint to the app. The caller closes it. `public_url` is the gateway's address, if it is known."""

    def base_of(request: Request) -> str:
        return (public_url or str(request.base_url)).rstrip("/")

    async def metadata(request: Request) -> Response:
        about = {
            "resource": base_of(request) + request.url.path.removeprefix(METADATA),
            "resource_name": "Riffle",
            "authorization_servers": [access.authorization_server],
            "bearer_methods_supported": ["header"],
        }
        return JSONResponse(about, headers={"Cache-Control": "no-store"})

    def refuse(request: Request) -> Response:
        where = f'Bearer realm="riffle", resource_metadata="{base_of(request)}{METADATA}{PATH}"'
        return problem_response(Problem("key-needed", _SIGN_IN, headers={"WWW-Authenticate": where}), PATH)

    endpoint = ToolsEndpoint(app, refuse if access.authorization_server and not access.anonymous else None)
    if access.authorization_server:
        for path in (METADATA, METADATA + PATH):
            app.router.routes.append(Route(path, endpoint=metadata, methods=["GET"], include_in_schema=False))
    # Without sessions there is nothing to stream to a GET: the SDK would hold its connection open for ever.
    app.router.routes.append(Route(PATH, endpoint=endpoint, methods=["POST"], include_in_schema=False))
    return endpoint
