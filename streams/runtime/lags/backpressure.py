"""Backpressure to the source of events: it pauses while a later stage is behind by more than a bound.

Without backpressure, a slow stage falls behind until Kafka's retention deletes events that it has not read.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from streams.errors import RiffleError
from streams.runtime.lags.stage_lags import Lag
from streams.topology import is_replay_topic

log = structlog.get_logger()

CHECK_SECONDS = 10.0


@dataclass(slots=True)
class LagWatch:
    """Asks regularly for the lag of the later stages. Calling it returns the stage that is too far behind, or ""."""

    read_lags: Callable[[], Sequence[Lag]]
    max_events: int
    behind: str = ""

    def __call__(self) -> str:
        return self.behind

    async def check(self) -> None:
        """Ask once. If Kafka doesn't answer, the last answer stays."""
        try:
            lags = await asyncio.to_thread(self.read_lags)
        except RiffleError as error:
            log.warning("the lag of later stages is unknown", error=str(error))
            return
        behind = stage_behind(lags, self.max_events)
        if behind != self.behind:
            log.warning("backpressure", paused_for=behind or "no stage")
        self.behind = behind

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(CHECK_SECONDS)


def stage_behind(lags: Sequence[Lag], max_events: int) -> str:
    """Return the stage with the most waiting events if they are more than `max_events`, else an empty string.

    Replays don't count: they keep no event waiting.
    """
    waiting: dict[str, int] = {}
    for lag in lags:
        if is_replay_topic(lag.topic):
            continue
        waiting[lag.stage] = waiting.get(lag.stage, 0) + lag.events
    stage = max(waiting, key=lambda name: waiting[name], default="")
    return stage if stage and waiting[stage] > max_events else ""
