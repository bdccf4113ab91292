"""The outermost layer of the gateway: it answers plain requests for `/api/v1/suggest`, and hands all others on.

People type several letters a second, so suggestions are asked far more often than anything else. Routes, parameters
and middleware take two thirds of the time of an answer (`python -m benchmarks suggest`), so a plain request is answered
here: with the same checks, headers and counts, from the same parts. Any other request (another method, another
parameter, a wrong value, a foreign host) goes on to the route, which says what is wrong. An answer is too short to gain
by compression.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from time import perf_counter
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from streams.allowed_hosts import is_allowed
from streams.gateway.http.metrics import Metrics
from streams.gateway.suggest.ready import ReadyAnswers

PATH = "/api/v1/suggest"
MAX_CHARS, MAX_LANGUAGE_CHARS = 1_000, 20
"""Maximum length of what was typed, and of the tag of a language (characters)."""
_MAX_QUERY_BYTES = 4_096
_MAX_HOSTS = 100
"""Maximum values of `Host` whose check is remembered."""
Answer = Callable[[str, str], Awaitable[tuple[bytes, bool]]]
"""Return the answer for what was typed and a language, and True if the answer may be kept for some seconds."""


class DirectSuggestions:
    """ASGI middleware that answers plain requests for suggestions."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        answer: Answer,
        ready: ReadyAnswers,
        names: Collection[str],
        headers: Iterable[tuple[str, str]],
        metrics: Metrics,
    ) -> None:
        """`names`: hosts that are answered; empty for all. `headers`: of each answer."""
        self._app, self._answer, self._ready, self._names = app, answer, ready, names
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers]
        self._requests = metrics.requests.labels(PATH, "GET", 200)
        self._latency = metrics.latency.labels(PATH)
        self._allowed_hosts: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET" or not self._may_pass(scope):
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        parameters: bytes = scope["query_string"]
        body = self._ready.find(parameters)
        if body is None:
            given = read_parameters(parameters)
            if given is None:
                await self._app(scope, receive, send)
                return
            body, may_be_kept = await self._answer(*given)
            if may_be_kept:
                self._ready.keep(parameters, body)
        headers = [*self._headers, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._requests.inc()
        self._latency.observe(perf_counter() - started)

    def _may_pass(self, scope: Scope) -> bool:
        """Return True if the request is to a host that is answered, and not of another site's script (CORS)."""
        hosts = []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                return False
        if not self._names:
            return True
        return bool(hosts) and all(host in self._allowed_hosts or self._check(host) for host in hosts)

    def _check(self, host: bytes) -> bool:
        allowed = is_allowed(host.decode("latin-1"), self._names)
        if allowed and len(self._allowed_hosts) < _MAX_HOSTS:
            self._allowed_hosts.add(host)
        return allowed


def read_parameters(query_string: bytes) -> tuple[str, str] | None:
    """Return what was typed, and the language; None if the request has anything else."""
    if len(query_string) > _MAX_QUERY_BYTES:
        return None
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name not in ("q", "language") or name in values:
            return None
        values[name] = value
    typed, language = values.get("q", ""), values.get("language", "")
    return (typed, language) if len(typed) <= MAX_CHARS and len(language) <= MAX_LANGUAGE_CHARS else None
