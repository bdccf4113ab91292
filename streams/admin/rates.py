"""The rate of each stage, and the time until it is done, from looks at its lag. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streams.doctor.overview import StageLag

KEPT_LOOKS = 30
"""Number of looks that a rate covers: five minutes, with one look in ten seconds."""


MIN_JUDGED_SECONDS = 60.0
"""Minimum time between the first and the last look for a judgement of queues (seconds)."""
MAX_BEHIND_SECONDS = 60.0
"""Maximum time that a queue takes that does not get shorter, while the stage keeps up (seconds)."""


class HandledLag(StageLag, Protocol):
    """The events of one topic that wait for a stage, and those it has handled."""

    @property
    def handled(self) -> int: ...


@dataclass(frozen=True, slots=True)
class StageRate:
    """A stage as operators see it."""

    stage: str
    waiting: int
    per_second: float | None
    """Events handled in a second, over the last minutes. None: there was only one look yet."""
    seconds_left: float | None
    """Time until nothing waits, if it goes on like this. None: unknown, or the queue does not get shorter."""
    falls_behind: bool = False
    """True if the queue does not get shorter, and is more than the stage handles in MAX_BEHIND_SECONDS."""


@dataclass(slots=True)
class Rates:
    """The last looks at the lags of all stages."""

    looks: deque[tuple[float, dict[str, tuple[int, int]]]] = field(default_factory=lambda: deque(maxlen=KEPT_LOOKS))
    """Time (seconds), and the waiting and handled events of each stage."""

    def note(self, now: float, lags: Sequence[HandledLag]) -> None:
        """Remember a look."""
        stages: dict[str, tuple[int, int]] = {}
        for lag in lags:
            waiting, handled = stages.get(lag.stage, (0, 0))
            stages[lag.stage] = (waiting + lag.events, handled + lag.handled)
        self.looks.append((now, stages))

    @property
    def may_judge(self) -> bool:
        """True if the looks cover enough time to see whether queues get shorter."""
        return bool(self.looks) and self.looks[-1][0] - self.looks[0][0] >= MIN_JUDGED_SECONDS

    def stages(self) -> list[StageRate]:
        """Return all stages, in the order of the last look."""
        if not self.looks:
            return []
        (first_at, first), (last_at, last) = self.looks[0], self.looks[-1]
        return [_rate(stage, first.get(stage), now, last_at - first_at) for stage, now in last.items()]


def _rate(stage: str, before: tuple[int, int] | None, now: tuple[int, int], seconds: float) -> StageRate:
    waiting, handled = now
    if before is None or seconds <= 0:
        return StageRate(stage, waiting, None, None)
    per_second = max(handled - before[1], 0) / seconds
    shrinks = (before[0] - waiting) / seconds
    left = 0.0 if waiting == 0 else waiting / shrinks if shrinks > 0 else None
    return StageRate(stage, waiting, per_second, left, left is None and waiting > MAX_BEHIND_SECONDS * per_second)
