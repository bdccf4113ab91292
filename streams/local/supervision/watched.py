"""When a child of the supervisor is started again after an end, or restarted while it runs: judgements without a clock.

A busy machine makes a process slow, and a slow process must not be restarted: a restart throws away its work and makes
the machine busier. So an answer that is late counts for nothing by itself:

- An answered "unhealthy" counts: several in a row mean a restart.
- Silence counts by the CPU time that the process uses meanwhile: a process that computes for minutes and never answers
  is in an endless loop.
- Silence of a process that uses no CPU time counts by the clock, slowly while the machine is busy: it hangs, unless
  something else keeps the processor from it.
- A process that has answered and has closed its port since is about to end. If it does not, it hangs at its end, such
  as with threads that go on: no busy machine closes a port.
"""

import math
from dataclasses import dataclass, field

from streams.local.child_process import Child
from streams.local.home import ProcessState
from streams.local.riffle_processes import RiffleProcess
from streams.local.servers.server import BUSY_WEIGHT, IDLE_SHARE, Answer, Server
from streams.local.servers.triton import Triton

REFUSALS = 3
"""Number of answers "unhealthy" in a row after which a process is restarted."""
SPIN_CPU_SECONDS = 300.0
"""CPU time that a process may use without an answer (seconds)."""
QUIET_SECONDS = 180.0
"""Time without an answer and without CPU time, on an idle machine (seconds)."""
QUIET_SHARE = 0.05
"""Maximum share of one processor that counts as no CPU time: a process that hangs may have timers."""
CLOSED_SECONDS = 60.0
"""Time in which a process ends after it has closed its port (seconds)."""
MAX_INTERVAL_SECONDS = 30.0
"""Maximum time between two checks that counts (seconds): the machine may have slept, or the supervisor too."""
MAX_FORCED = 4
"""Maximum number of times that a forced restart doubles the patience with the process."""
STEADY_SECONDS = 600.0
"""Seconds of healthy answers after which a process gets the first patience again."""


@dataclass(slots=True)
class Patience:
    """The judgement of one process. It gets the checks of the process in order."""

    start_seconds: float
    """Duration of a start before silence counts (seconds)."""
    spin_cpu_seconds: float = SPIN_CPU_SECONDS
    answered: bool = True
    """True if the process answered since its start."""
    refusals: int = 0
    spun_seconds: float = 0.0
    quiet_seconds: float = 0.0
    closed_seconds: float = 0.0
    forced: int = 0
    """Number of restarts because of this judgement, without a steady run after them."""
    healthy_seconds: float = 0.0
    started_at: float = 0.0
    _checked_at: float = math.nan
    _cpu_seconds: float = 0.0

    def restarted(self, now: float) -> None:
        """Forget the former process: a new one starts now."""
        self.answered, self.started_at, self._checked_at = False, now, math.nan
        self.refusals, self.healthy_seconds = 0, 0.0
        self.spun_seconds = self.quiet_seconds = self.closed_seconds = 0.0

    def check(self, answer: Answer, *, cpu_seconds: float, idle_share: float, now: float) -> str:
        """Note a check. Returns the reason to restart the process, or an empty string.

        `cpu_seconds`: CPU time of the process and its children since its start. `idle_share`: share of the machine's
        processors that was idle since the last check.
        """
        passed = 0.0 if math.isnan(self._checked_at) else min(now - self._checked_at, MAX_INTERVAL_SECONDS)
        used = max(cpu_seconds - self._cpu_seconds, 0.0) if passed else 0.0
        self._checked_at, self._cpu_seconds = now, cpu_seconds
        if answer == "broken":
            return "it can't go on without a restart"
        self.closed_seconds = self.closed_seconds + passed if answer == "closed" and self.answered else 0.0
        if answer in ("silent", "closed"):
            self._note_silence(passed, used, idle_share, now)
        else:
            self._note_answer(passed, healthy=answer == "healthy")
        return self._find_reason()

    def is_starting(self, now: float) -> bool:
        """Return whether the process has not answered yet, and may still take its time."""
        return not self.answered and now - self.started_at < self.start_seconds

    def _note_answer(self, passed: float, *, healthy: bool) -> None:
        self.answered = True
        self.spun_seconds = self.quiet_seconds = 0.0
        self.refusals = 0 if healthy else self.refusals + 1
        self.healthy_seconds = self.healthy_seconds + passed if healthy else 0.0
        if self.healthy_seconds >= STEADY_SECONDS:
            self.forced = 0

    def _note_silence(self, passed: float, used: float, idle_share: float, now: float) -> None:
        self.healthy_seconds = 0.0
        if self.is_starting(now):
            return
        if used > QUIET_SHARE * passed:
            self.quiet_seconds = 0.0
        else:
            self.quiet_seconds += passed * (1.0 if idle_share >= IDLE_SHARE else BUSY_WEIGHT)
        if self.answered:  # a start may compute for long
            self.spun_seconds += used

    def _find_reason(self) -> str:
        factor = 2 ** min(self.forced, MAX_FORCED)
        if self.refusals >= REFUSALS * factor:
            return f"it said {self.refusals} times that it makes no progress"
        if self.spun_seconds >= self.spin_cpu_seconds * factor:
            return f"it used {self.spun_seconds:.0f} s of CPU time without an answer"
        if self.quiet_seconds >= QUIET_SECONDS * factor:
            return "it does not answer, and does nothing"
        if self.closed_seconds >= CLOSED_SECONDS:
            return "it has closed its port, and does not end"
        return ""


BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before the first, second, ... restart of a process. The last value repeats."""
STEADY_RUN_SECONDS = 60.0
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
        self.failures = 0 if now - self.started_at > STEADY_RUN_SECONDS else self.failures
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
