"""Backpressure to sources of events: they pause while a later stage is far behind, or the disk is nearly full.

Without backpressure, a slow stage falls behind until the retention of Kafka deletes events that it has not read.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

import structlog

from streams.errors import RiffleError
from streams.runtime.lags.stage_lags import Lag
from streams.settings import Settings
from streams.topology import STAGES, is_replay_topic

log = structlog.get_logger()

CHECK_SECONDS = 10.0
"""Time between two looks at the lag of the later stages, and at the disk (seconds)."""
CALM_SHARE = 0.1
"""Share of the bound up to which the lag is looked at less often: each CALM_CHECKS times."""
CALM_CHECKS = 3
"""A look costs half a second of CPU time here and in the broker. Until the next one, the lag grows by half a minute's
events, less than the rest of any bound that is worth having."""
AFTER_SOURCES = tuple(stage for stage in STAGES if not stage.source)
"""The stages whose lag makes a source of events pause."""


def describe_shortage(settings: Settings) -> str:
    """Return a sentence if the disk of the local stack is nearly full, else an empty string.

    Elsewhere the servers have other disks, which their operators watch.
    """
    if settings.profile != "local" or not settings.home.exists():
        return ""
    free = shutil.disk_usage(settings.home).free
    if free >= settings.crawl.min_free_bytes:
        return ""
    return (
        f"only {free / 1e6:,.0f} MB are free on the disk of {settings.home}, and crawling needs "
        f"{settings.crawl.min_free_bytes / 1e6:,.0f} MB (RIFFLE_CRAWL__MIN_FREE_BYTES)"
    )


@dataclass(slots=True)
class LagWatch:
    """Asks regularly for the lag of the later stages. Calling it returns why sources pause, or ""."""

    read_lags: Callable[[], Sequence[Lag]]
    max_events: int
    behind: str = ""
    counts_replays: bool = False
    """True for the source of replays. To other sources they don't count: they keep no event waiting."""
    describe_shortage: Callable[[], str] = lambda: ""
    """Returns a sentence if the disk is nearly full, else "" (`describe_shortage`)."""
    shortage: str = ""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Number of events that each of these stages has lost to retention, and that nobody has accepted yet."""
    _is_calm: bool = field(default=False, init=False)

    @property
    def reason(self) -> str:
        """Why sources of events pause, or "" if they go on."""
        behind = f"stage {self.behind} is more than {self.max_events} events behind" if self.behind else ""
        return self.shortage or behind

    def __call__(self) -> str:
        return self.reason

    async def check(self) -> None:
        """Ask once. If Kafka doesn't answer, the last answer stays."""
        self._check_disk()
        try:
            lags = await asyncio.to_thread(self.read_lags)
        except RiffleError as error:
            log.warning("the lag of later stages is unknown", error=str(error))
            self._is_calm = False
            return
        self.lost = sum_by_stage((lag.stage, lag.lost) for lag in lags)
        counted = [lag for lag in lags if self.counts_replays or not is_replay_topic(lag.topic)]
        behind = stage_behind(counted, self.max_events)
        if behind != self.behind:
            log.warning("backpressure", paused_for=behind or "no stage")
        self.behind = behind
        self._is_calm = not stage_behind(counted, int(self.max_events * CALM_SHARE))

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Ask until cancelled, less often while the lag is far from its bound. `sleep`: for tests."""
        while True:
            try:
                await self.check()
                for _ in range(CALM_CHECKS - 1 if self._is_calm else 0):
                    await sleep(CHECK_SECONDS)
                    self._check_disk()
            except Exception:  # without a next look, sources would pause for ever, or never
                log.exception("the lag of later stages could not be read")
            await sleep(CHECK_SECONDS)

    def _check_disk(self) -> None:
        """Look at the disk. If the system does not answer, the last answer stays."""
        try:
            shortage = self.describe_shortage()
        except OSError as error:
            log.warning("the free space on the disk is unknown", error=str(error))
            return
        if bool(shortage) != bool(self.shortage):
            log.warning("the free space on the disk", paused_for=shortage or "nothing")
        self.shortage = shortage


def stage_behind(lags: Sequence[Lag], max_events: int) -> str:
    """Return the stage with the most waiting events if they are more than `max_events`, else an empty string."""
    waiting = sum_by_stage((lag.stage, lag.events) for lag in lags)
    stage = max(waiting, key=lambda name: waiting[name], default="")
    return stage if stage and waiting[stage] > max_events else ""


def sum_by_stage(numbers: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for stage, number in numbers:
        sums[stage] = sums.get(stage, 0) + number
    return sums


@dataclass(slots=True)
class PausingSource:
    """A source of many events that a command runs: an import or a replay. It waits before its next events."""

    watch: LagWatch
    show: Callable[[str], None]
    """Shows why the source waits. Called with "" when it goes on."""
    now: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _checked_at: float = field(default=float("-inf"), init=False)

    async def wait(self) -> None:
        """Return when no later stage is too far behind. The lag is asked for at most once in CHECK_SECONDS."""
        if self.now() - self._checked_at < CHECK_SECONDS:
            return
        await self._check()
        while reason := self.watch():
            self.show(f" (waits: {reason})")
            await self.sleep(CHECK_SECONDS)
            await self._check()
        self.show("")

    async def _check(self) -> None:
        await self.watch.check()
        self._checked_at = self.now()
