"""Headers, counters and checks around every route: plain ASGI, so that streamed answers stay streamed.

Compression (starlette-compress) flushes behind each part of a page that leaves in parts: a browser shows the head and
the search box while the results are still looked for. No answer has a secret beside text that a stranger chose, so the
length of an answer tells nothing (the attack BREACH). Scripts of other sites get answers of paths of the API, never a
page, a form or an operator's route, and never with cookies.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, add_compress_type

from streams.allowed_hosts import AllowedHosts
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.presentation import clean_line
from streams.gateway.http.problems import foreign_host
from streams.gateway.http.responses import respond
from streams.gateway.http.templates import Views
from streams.tracing import OTHER_METHOD, answered, request_span

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The search is in the address: a page that is opened from it must not see it.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


MORE_HEADERS = "riffle.headers"
"""Name in a request's scope of the headers that a dependency adds to the answer, whatever the answer is."""


def content_security_policy(styles: Iterable[str], scripts: Collection[str] = ()) -> str:
    """Return the policy of all pages: no third parties, and only the styles and scripts with these hashes.

    Hostile text that got through the escaping would still run nothing.
    """
    running = f"script-src {' '.join(scripts)}; connect-src 'self'; " if scripts else ""
    return (
        f"default-src 'none'; {running}style-src {' '.join(styles)}; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def headers_of_all_answers(policy: str) -> dict[str, str]:
    """Return the headers that each answer has. `policy`: the policy of all pages."""
    return {"Content-Security-Policy": policy, **SECURITY_HEADERS}


class HeadersAndMetrics:
    """ASGI middleware that adds the security headers, and counts requests by route, method and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics, policy: str) -> None:
        self._app = app
        self._headers = headers_of_all_answers(policy)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        more: dict[str, str] = {}
        scope[MORE_HEADERS] = more
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in (*self._headers.items(), *more.items()):
                    headers.setdefault(name, value)
            await send(message)

        method = _method_of(scope)
        try:
            with request_span(_traced_method(method), scope["scheme"], scope["http_version"]) as traced:
                try:
                    await self._app(scope, receive, send_with_headers)
                finally:
                    answered(traced, _traced_method(method), _route_of(scope), status)
        finally:
            route = _route_of(scope) or "none"
            self._metrics.requests.labels(route, method, status).inc()
            self._metrics.latency.labels(route).observe(perf_counter() - started)


def _route_of(scope: dict[str, Any] | Scope) -> str:
    """Return the route's template, so that the number of label values is fixed. Empty: no route has the path."""
    return getattr(scope.get("route"), "path", "")


def _method_of(scope: dict[str, Any] | Scope) -> str:
    method = str(scope["method"])
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"


def _traced_method(method: str) -> str:
    return OTHER_METHOD if method == "other" else method


BROTLI_QUALITY = 5
ZSTD_LEVEL = 6
GZIP_LEVEL = 6
"""The levels: a page of ten results takes less than a millisecond with each of them."""


def install_compression(app: FastAPI) -> None:
    """Make the app compress its answers."""
    add_compress_type("text/html", streaming=True)
    add_compress_type("application/problem+json")
    app.add_middleware(CompressMiddleware, brotli_quality=BROTLI_QUALITY, zstd_level=ZSTD_LEVEL, gzip_level=GZIP_LEVEL)


PATHS_BY_ADDRESS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that may be asked for by any IP address: Kubernetes and Prometheus know no name of a pod."""
MAX_HOST_CHARS = 100


def install_host_check(app: FastAPI, names: Collection[str], views: Views) -> None:
    """Make the app answer only requests to these names. Without names it answers all."""

    def refuse(scope: Mapping[str, Any], _header: str, host: str) -> Response:
        # A request without the refused header: its URL could not be read with some hosts, such as `[`.
        headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
        request = Request({**scope, "headers": headers})
        return respond(request, foreign_host(clean_line(host)[:MAX_HOST_CHARS]), views)

    if names:
        app.add_middleware(AllowedHosts, names=names, refuse=refuse, paths_by_address=PATHS_BY_ADDRESS)


API_PATH = "/api/"
REMEMBERED_SECONDS = 600
"""Time for which a browser remembers the answer to a preflight request."""
EXPOSED = ("RateLimit", "RateLimit-Policy", "Retry-After")
"""Headers of an answer that scripts may read, beside those that CORS always allows."""


class ApiCors:
    """ASGI middleware: Starlette's own for paths of the API, and nothing for all others."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._api = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type", "Accept"),
            expose_headers=EXPOSED,
            max_age=REMEMBERED_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope["type"] == "http" and scope["path"].startswith(API_PATH)
        await (self._api if is_api else self._app)(scope, receive, send)


def install_cors(app: FastAPI, origins: Sequence[str]) -> None:
    """Let scripts of these origins ask the API. Without origins nothing is installed."""
    if origins:
        app.add_middleware(ApiCors, origins=origins)
