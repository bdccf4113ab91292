"""The progress of a worker, and the pages that show it: /healthz, /readyz, /metrics.

A consumer that hangs after a rebalance still answers pings. So health means progress: while events wait, some of them
(or parts of a long one) are finished or committed, and a worker without partitions gets them in time, counted from the
begin of its start. Nor may one partition be stuck for longer than an event may take. An unhealthy worker should be
restarted. A worker that isn't ready has no partitions yet, or waits for a store that is away (/readyz names the store).
A restart would not help it.

The pages are served by a thread of their own, so that a worker that is only slow answers. They say how long ago the
worker's event loop had its last turn.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from streams.runtime.health_thread import HealthThread
from streams.runtime.lags.offsets import PartitionOffsets
from streams.runtime.observer import Metrics

START_STALLS = 2
"""Maximum duration of a start, as a multiple of the time without progress after which a worker is unhealthy."""


@dataclass(slots=True)
class Progress:
    """The progress of one stage, updated by regular observations. Pure: the time is an argument."""

    stall_seconds: float
    stuck_seconds: float = math.inf
    """Maximum time without a commit on a partition with waiting events (seconds). A worker beyond it is unhealthy."""
    committed: dict[object, int | None] = field(default_factory=dict)
    committed_at: dict[object, float] = field(default_factory=dict)
    """Time of the last commit of each partition with waiting events, or of their first observation."""
    finished: int = 0
    lag: int = 0
    lost: int = 0
    """Number of events that Kafka deleted before they were handled."""
    measurements: Mapping[str, float] = field(default_factory=dict)
    """The agent's own numbers, shown on /healthz."""
    waits: bool = False
    answered_at: float | None = None
    """Time of Kafka's last answer, or of the first question."""
    moved_at: float | None = None
    waiting_for: str = ""
    paused_for: str = ""
    """Why the stage sends no new events, though it is ready."""
    """The store that the stage waits for."""
    _lost_before: dict[object, int] = field(default_factory=dict)
    _offsets: Mapping[Any, PartitionOffsets] | None = None

    def observe(
        self,
        offsets: Mapping[Any, PartitionOffsets],
        finished: int,
        now: float,
        *,
        assigned: bool = True,
        waiting_for: str = "",
    ) -> None:
        """Record an observation of the partitions, the number of finished events, and the store that is away, if any.

        The same mapping as before means that the offsets were not asked for again: it must not be changed meanwhile.
        `assigned` is False while the worker has no assignment: a group that never finishes its rebalance is stalled.
        """
        self.waiting_for = waiting_for
        # A worker observes more often than it asks the broker. Without an assignment it does not ask.
        self.note_kafka(offsets is not self._offsets and (assigned or bool(offsets)), now)
        moved = offsets is not self._offsets and self._observe_partitions(offsets, now)
        self._offsets = offsets
        if waiting_for:
            self.committed_at = dict.fromkeys(self.committed_at, now)
        self.waits = (self.lag > 0 or not assigned) and not waiting_for
        if moved or finished != self.finished or (assigned and not self.lag) or waiting_for or self.moved_at is None:
            self.moved_at = now
        self.finished = finished

    def begin(self, now: float) -> None:
        """Note that the worker begins to start, or tries again: from now on it waits for its partitions.

        Nothing is observed before it has started, and a start may hang. It has START_STALLS times as long as a worker
        that runs: on a busy machine Kafka takes a minute for what is asked of it at a start.
        """
        self.waits, self.moved_at = True, now + (START_STALLS - 1) * self.stall_seconds

    def wait_for(self, server: str) -> None:
        """Note that the start waits for a server, which a restart would not help."""
        self.waiting_for, self.waits = server, False

    def note_kafka(self, answered: bool, now: float) -> None:
        if answered or self.answered_at is None:
            self.answered_at = now

    def silent_seconds(self, now: float) -> float:
        """Return the time since Kafka's last answer (seconds). 0 if it was not asked yet."""
        return max(now - self.answered_at, 0.0) if self.answered_at is not None else 0.0

    def _observe_partitions(self, offsets: Mapping[Any, PartitionOffsets], now: float) -> bool:
        """Note new offsets. Returns whether an offset was committed, or a partition was assigned or revoked."""
        moved, lag = offsets.keys() != self.committed.keys() and bool(offsets), 0
        committed_at: dict[object, float] = {}
        for partition, place in offsets.items():
            changed = partition not in self.committed or place.committed != self.committed[partition]
            moved = moved or changed
            if waiting := place.waiting:
                lag += waiting
                committed_at[partition] = now if changed else self.committed_at.get(partition, now)
            if place.lost > self._lost_before.get(partition, 0):
                self.lost += place.lost - self._lost_before.get(partition, 0)
            self._lost_before[partition] = place.lost
        self.lag, self.committed_at = lag, committed_at
        self.committed = {partition: place.committed for partition, place in offsets.items()}
        return moved

    def stalled_seconds(self, now: float) -> float:
        """Return how long events, or the worker, have been waiting without progress (seconds). 0 if nothing waits."""
        return max(now - self.moved_at, 0.0) if self.waits and self.moved_at is not None else 0.0

    def uncommitted_seconds(self, now: float) -> float:
        """Return the time since the last commit of the partition with the longest wait (seconds). 0 if none waits."""
        # A copy, since the thread of the health server asks.
        return max((now - at for at in list(self.committed_at.values())), default=0.0)

    def is_healthy(self, now: float) -> bool:
        """Return whether events move while some wait, and no partition is stuck."""
        return self.stalled_seconds(now) < self.stall_seconds and self.uncommitted_seconds(now) < self.stuck_seconds


class HealthServer(HealthThread):
    """Serves /healthz, /readyz and /metrics of one worker, in a thread of its own."""

    def __init__(
        self,
        metrics: Metrics,
        progress: dict[str, Progress],
        ready: Callable[[], bool],
        *,
        host: str,
        port: int,
        stuck_seconds: float = math.inf,
    ) -> None:
        """`stuck_seconds`: maximum time that the worker's event loop may have for a turn without taking it."""
        routes = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._page}
        super().__init__(routes, host=host, port=port)
        self._metrics, self._progress, self._ready = metrics, progress, ready
        self._stuck_seconds = stuck_seconds

    async def _healthz(self, _: web.Request) -> web.Response:
        now = self.own_time.seconds
        stages = {
            name: {
                "lag": progress.lag,
                "stalled_seconds": round(progress.stalled_seconds(now), 1),
                "uncommitted_seconds": round(progress.uncommitted_seconds(now), 1),
            }
            | dict(progress.measurements)
            for name, progress in self._progress.items()
        }
        loop_turns = self.own_time.missed_seconds < self._stuck_seconds
        healthy = loop_turns and all(progress.is_healthy(now) for progress in self._progress.values())
        answer = {
            "healthy": healthy,
            "loop_turn_age_seconds": round(self.own_time.turn_age_seconds, 1),
            "stages": stages,
        }
        return web.json_response(answer, status=200 if healthy else 503)

    async def _readyz(self, _: web.Request) -> web.Response:
        waiting_for = {name: progress.waiting_for for name, progress in self._progress.items() if progress.waiting_for}
        ready = self._ready() and not waiting_for
        paused_for = {name: progress.paused_for for name, progress in self._progress.items() if progress.paused_for}
        answer = {
            "ready": ready,
            **({"waiting_for": waiting_for} if waiting_for else {}),
            **({"paused_for": paused_for} if paused_for else {}),
        }
        return web.json_response(answer, status=200 if ready else 503)

    async def _page(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self._metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
