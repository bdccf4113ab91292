"""When a running process is restarted: a pure judgement, with what was seen of the process as arguments.

A busy machine makes a process slow, and a slow process must not be restarted: a restart throws away its work and makes
the machine busier. So an answer that is late counts for nothing by itself:

- An answered "unhealthy" counts: several in a row mean a restart.
- Silence counts by the CPU time that the process uses meanwhile: a process that computes for minutes and never answers
  is in an endless loop.
- Silence of a process that uses no CPU time counts by the clock, slowly while the machine is busy: it hangs, unless
  something else keeps the processor from it.
"""

import math
from dataclasses import dataclass

from streams.local.servers.server import BUSY_WEIGHT, IDLE_SHARE, Answer

REFUSALS = 3
"""Number of answers "unhealthy" in a row after which a process is restarted."""
SPIN_CPU_SECONDS = 300.0
"""CPU time that a process may use without an answer (seconds)."""
QUIET_SECONDS = 180.0
"""Time without an answer and without CPU time, on an idle machine (seconds)."""
QUIET_SHARE = 0.05
"""Maximum share of one processor that counts as no CPU time: a process that hangs may have timers."""
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
    forced: int = 0
    """Number of restarts because of this judgement, without a steady run after them."""
    healthy_seconds: float = 0.0
    started_at: float = 0.0
    _checked_at: float = math.nan
    _cpu_seconds: float = 0.0

    def restarted(self, now: float) -> None:
        """Forget the former process: a new one starts now."""
        self.answered, self.started_at, self._checked_at = False, now, math.nan
        self.refusals, self.spun_seconds, self.quiet_seconds, self.healthy_seconds = 0, 0.0, 0.0, 0.0

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
        if answer == "silent":
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
        return ""
