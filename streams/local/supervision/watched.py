"""A child of the supervisor: when it is started again after an end, and what is known of its health."""

import math
from dataclasses import dataclass, field

from streams.local.child_process import Child
from streams.local.riffle_processes import RiffleProcess
from streams.local.servers.server import Server
from streams.local.servers.triton import Triton
from streams.local.state import ProcessState
from streams.local.supervision.patience import SPIN_CPU_SECONDS, Patience

BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before the first, second, ... restart of a process. The last value repeats."""
STEADY_SECONDS = 60.0
"""Seconds of running after which the backoff begins at its first value again."""
SERVER_SPIN_CPU_SECONDS = 6 * SPIN_CPU_SECONDS
"""CPU time that a server may use without an answer (seconds). It answers between requests, which may be large."""


@dataclass(slots=True)
class Watched:
    """A child process, and the number of its restarts."""

    server: Server
    child: Child
    started_at: float
    restarts: int = 0
    failures: int = 0
    """Number of ends in a row, without a steady run between them."""
    start_again_at: float | None = None
    is_paused: bool = False
    """True from a stop on request until the next start, which counts as no restart after an end."""
    patience: Patience = field(init=False)

    def __post_init__(self) -> None:
        spin_seconds = SPIN_CPU_SECONDS if isinstance(self.server, RiffleProcess) else SERVER_SPIN_CPU_SECONDS
        if isinstance(self.server, Triton):  # a request may wait behind many others that it computes
            spin_seconds = math.inf
        self.patience = Patience(self.server.ready_timeout_seconds, spin_seconds)

    def ended(self, now: float) -> float:
        """Record the end. Returns the seconds to wait before the next start."""
        self.failures = 0 if now - self.started_at > STEADY_SECONDS else self.failures
        wait_seconds = BACKOFF_SECONDS[min(self.failures, len(BACKOFF_SECONDS) - 1)]
        self.failures += 1
        self.start_again_at = now + wait_seconds
        return wait_seconds

    def pause(self) -> None:
        """Record that the process is stopped on request, if it runs. It is not started again before `resume`."""
        self.is_paused = self.child.exit_code is None
        self.start_again_at = math.inf

    def resume(self, now: float) -> None:
        """Have the process started again."""
        self.start_again_at, self.failures = now, 0

    def restarted(self, now: float) -> None:
        """Record a start after an end, or after a pause."""
        self.started_at, self.start_again_at = now, None
        self.restarts += not self.is_paused
        self.is_paused = False
        self.patience.restarted(now)

    def is_restarting(self, now: float) -> bool:
        """Return whether the process waits for its next start, or has not answered since the start."""
        waits = self.start_again_at is not None and self.start_again_at < math.inf
        return waits or self.child.exit_code is not None or self.patience.is_starting(now)

    @property
    def is_worker(self) -> bool:
        return self.server.name.startswith("worker")

    @property
    def state(self) -> ProcessState:
        return ProcessState(
            name=self.server.name,
            title=self.server.title,
            pid=self.child.pid,
            create_time=self.child.create_time,
            port=self.server.port,
            log=str(self.child.log),
            health=self.server.health,
            restarts=self.restarts,
        )
