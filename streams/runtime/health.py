"""The progress of a worker, and the pages that show it: /healthz, /readyz, /metrics.

A consumer that hangs after a rebalance still answers pings. So health means progress: while events wait, some are
finished or committed, or a part of a long one is, and a worker without partitions is assigned some (or none) in time.
An unhealthy worker should be restarted. A worker that isn't ready is only not to be relied on yet.
Events that are finished but not committed for long are no reason for a restart (a large page may delay the line).
`riffle_committed_age_seconds` is the metric to alarm on for them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from streams.runtime.metrics import Metrics


@dataclass(slots=True)
class Progress:
    """The progress of one stage, updated by regular observations. Pure: the time is an argument."""

    stall_seconds: float
    committed: dict[object, int] = field(default_factory=dict)
    finished: int = 0
    lag: int = 0
    measurements: dict[str, float] = field(default_factory=dict)
    """The agent's own numbers, shown on /healthz."""
    waiting: bool = False
    committed_at: float | None = None
    moved_at: float | None = None

    def look(self, committed: dict[object, int], finished: int, lag: int, now: float, *, assigned: bool = True) -> None:
        """Record an observation: committed offsets by partition, number of finished and of waiting events, and whether
        the worker has its assignment. A group that never finishes its rebalance counts as a stall, too."""
        self.waiting = lag > 0 or not assigned
        if assigned and not lag:
            self.moved_at = now
        if committed != self.committed or (assigned and lag == 0) or self.committed_at is None:
            self.committed_at = now
            self.moved_at = now if assigned or self.moved_at is None else self.moved_at
        if finished != self.finished:
            self.moved_at = now
        self.committed, self.finished, self.lag = dict(committed), finished, lag

    def stalled_seconds(self, now: float) -> float:
        """Seconds for which events, or the worker, have been waiting without progress. 0 if nothing waits."""
        return now - self.moved_at if self.waiting and self.moved_at is not None else 0.0

    def uncommitted_seconds(self, now: float) -> float:
        """Seconds for which events have been waiting without any commit. 0 if none waits."""
        return 0.0 if self.committed_at is None or self.lag == 0 else now - self.committed_at

    def healthy(self, now: float) -> bool:
        return self.stalled_seconds(now) < self.stall_seconds


class HealthServer:
    """Serves /healthz, /readyz and /metrics of one worker."""

    def __init__(
        self, metrics: Metrics, progress: dict[str, Progress], ready: Callable[[], bool], *, host: str, port: int
    ) -> None:
        self._metrics, self._progress, self._ready = metrics, progress, ready
        self._host, self.port = host, port
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.add_routes(
            [web.get("/healthz", self._healthz), web.get("/readyz", self._readyz), web.get("/metrics", self._page)]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        now = time.monotonic()
        stages = {
            name: {"lag": progress.lag, "stalled_seconds": round(progress.stalled_seconds(now), 1)}
            | progress.measurements
            for name, progress in self._progress.items()
        }
        healthy = all(progress.healthy(now) for progress in self._progress.values())
        return web.json_response({"healthy": healthy, "stages": stages}, status=200 if healthy else 503)

    async def _readyz(self, _: web.Request) -> web.Response:
        ready = self._ready()
        return web.json_response({"ready": ready}, status=200 if ready else 503)

    async def _page(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
