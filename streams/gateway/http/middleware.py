"""Security headers, counters and timing of every response. Plain ASGI, so that streamed responses stay streamed."""

from collections.abc import Collection, Iterable
from time import perf_counter
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.gateway.http.metrics import Metrics
from streams.tracing import SERVER, span

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
            with span(method, kind=SERVER) as traced:
                try:
                    await self._app(scope, receive, send_with_headers)
                finally:
                    traced.update_name(f"{method} {_route_of(scope)}")
                    traced.set_attribute("http.response.status_code", status)
        finally:
            route = _route_of(scope)
            self._metrics.requests.labels(route, method, status).inc()
            self._metrics.latency.labels(route).observe(perf_counter() - started)


def _route_of(scope: dict[str, Any] | Scope) -> str:
    """Return the route's template, so that the number of label values is fixed."""
    return getattr(scope.get("route"), "path", "none")


def _method_of(scope: dict[str, Any] | Scope) -> str:
    method = str(scope["method"])
    return method if method in ("GET", "HEAD", "POST", "OPTIONS") else "other"
