"""The supervisor's regular questions to its children, in threads: a child that answers late delays nothing else."""

import ssl
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from typing import Self
from urllib.parse import urlsplit

from streams.errors import StartError
from streams.local.child_process import Child, family_cpu_seconds
from streams.local.probing import http_status, is_closed
from streams.local.riffle_processes import RiffleProcess
from streams.local.servers.server import Answer, Server, idle_share
from streams.local.servers.triton import Triton
from streams.local.supervision.watched import Watched

CHECK_SECONDS = 10.0
"""Seconds between two checks of a process."""
SERVER_CHECK_SECONDS = 30.0
"""Seconds between two checks of a server: a client of Kafka's protocol costs more than a request over HTTP."""
HEALTH_SECONDS = 8.0
"""Maximum wait for the answer of a health check (seconds)."""
THREADS = 8


def ask_health(url: str, context: ssl.SSLContext | None = None) -> Answer:
    """Ask a process for its health over HTTP. Only status 503 is an unhealthy answer."""
    status = http_status(url, HEALTH_SECONDS, context)
    if status is None:
        return "closed" if is_closed(urlsplit(url).port or 0) else "silent"
    return "unhealthy" if status == HTTPStatus.SERVICE_UNAVAILABLE else "healthy"


def ask(server: Server) -> Answer:
    """Ask a process for its health, once."""
    if isinstance(server, RiffleProcess):
        return ask_health(server.health, server.context)
    try:
        if not server.is_ready():
            return "silent"
    except StartError:
        return "silent"  # it answers that it is not ready, which a later check may find otherwise
    return server.models_answer() if isinstance(server, Triton) else "healthy"


def _ask_both(server: Server, child: Child) -> tuple[Answer, bool]:
    """Ask a process for its health, and whether it has started and can be nice from now on.

    A worker answers healthy long before it is ready, and on a busy machine a nice process takes minutes to start.
    """
    answer = ask(server)
    return answer, child.will_be_nice and answer == "healthy" and server.is_ready()


class HealthChecks:
    """The checks of all processes. `with HealthChecks() as checks`: `look` begins checks, and judges ended ones."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="health")
        self._asked: dict[str, tuple[Child, Future[tuple[Answer, bool]]]] = {}
        self._next: dict[str, float] = {}
        self._idle_share, self._idle_at = 0.0, 0.0

    def __enter__(self) -> Self:
        idle_share()  # the share since the last call: the first call begins
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def look(self, watched: Iterable[Watched], now: float) -> list[tuple[Watched, str]]:
        """Begin checks and take their answers. Returns each process that must be restarted, with the reason."""
        if now - self._idle_at >= CHECK_SECONDS:
            self._idle_share, self._idle_at = idle_share(), now
        judged = [(one, self._look_at(one, now)) for one in watched]
        return [(one, reason) for one, reason in judged if reason]

    def _look_at(self, watched: Watched, now: float) -> str:
        name = watched.server.name
        if name not in self._asked:
            if now >= self._next.get(name, 0.0):
                seconds = CHECK_SECONDS if isinstance(watched.server, RiffleProcess) else SERVER_CHECK_SECONDS
                self._next[name] = now + seconds
                self._asked[name] = (watched.child, self._pool.submit(_ask_both, watched.server, watched.child))
            return ""
        child, future = self._asked[name]
        if not future.done():
            return ""
        del self._asked[name]
        if child is not watched.child:  # the answer of a former process
            return ""
        answer, has_started = future.result()
        if has_started:
            child.yield_processor()  # after a restart; at the first start it has done so
        used = family_cpu_seconds(child.pid)
        return watched.patience.check(answer, cpu_seconds=used, idle_share=self._idle_share, now=now)
