"""Backpressure: which stage is too far behind, and that an unknown lag changes nothing."""

import asyncio
import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from streams.errors import StoreUnavailable
from streams.runtime.lags.backpressure import CHECK_SECONDS, LagWatch, PausingSource, describe_shortage, stage_behind
from streams.runtime.lags.stage_lags import Lag
from streams.settings import CrawlSettings, Settings


@pytest.mark.parametrize(
    ("lags", "behind"),
    [
        pytest.param([], "", id="no stage"),
        pytest.param([Lag("embed", "pages.chunked", 100)], "", id="at the bound"),
        pytest.param([Lag("embed", "pages.chunked", 101)], "embed", id="above the bound"),
        pytest.param([Lag("index", "pages.embedded", 60), Lag("index", "index.retry", 60)], "index", id="both topics"),
        pytest.param([Lag("fetch", "a", 200), Lag("embed", "b", 300)], "embed", id="the one furthest behind"),
    ],
)
def test_a_stage_is_behind_by_the_events_of_all_its_topics(lags: list[Lag], behind: str) -> None:
    assert stage_behind(lags, 100) == behind


async def test_if_kafka_does_not_answer_the_last_answer_stays() -> None:
    answers: list[list[Lag] | None] = [[Lag("embed", "b", 300)], None, []]

    def read() -> Sequence[Lag]:
        if (answer := answers.pop(0)) is None:
            raise StoreUnavailable("Kafka is away")
        return answer

    watch = LagWatch(read, 100)
    seen = []
    for _ in range(3):
        await watch.check()
        seen.append(watch())
    assert [why.split()[1] if why else "" for why in seen] == ["embed", "embed", ""]


@pytest.mark.parametrize(("counts_replays", "behind"), [(False, ""), (True, "index")])
async def test_replays_count_only_for_the_source_of_replays(counts_replays: bool, behind: str) -> None:
    watch = LagWatch(lambda: [Lag("index", "index.replay", 5_000)], 100, counts_replays=counts_replays)
    await watch.check()
    assert watch.behind == behind


async def test_the_watch_knows_what_each_later_stage_has_lost() -> None:
    answers = [
        [Lag("embed", "pages.chunked", 3, lost=7), Lag("embed", "embed.replay", 0, lost=2), Lag("index", "b", 0)],
        [Lag("embed", "pages.chunked", 3), Lag("index", "b", 0)],
    ]
    watch = LagWatch(lambda: answers.pop(0), 100)
    await watch.check()
    assert watch.lost == {"embed": 9, "index": 0}
    await watch.check()
    assert watch.lost == {"embed": 0, "index": 0}, "an operator has accepted the loss"


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


async def test_a_source_waits_until_the_stage_is_near_again_and_says_why() -> None:
    clock, shown = Clock(), list[str]()
    lags = iter([250, 180, 101, 100, 300])
    watch = LagWatch(lambda: [Lag("embed", "pages.chunked", next(lags))], 100)
    source = PausingSource(watch, shown.append, clock.now, clock.sleep)
    await source.wait()
    assert clock.seconds == 3 * CHECK_SECONDS
    assert set(shown[:-1]) == {" (waits: stage embed is more than 100 events behind)"}
    assert shown[-1] == ""


async def test_the_lag_is_asked_for_once_in_some_seconds() -> None:
    clock, asked = Clock(), list[float]()

    def read() -> list[Lag]:
        asked.append(clock.seconds)
        return []

    source = PausingSource(LagWatch(read, 100), lambda _: None, clock.now, clock.sleep)
    for _ in range(30):
        await source.wait()
        clock.seconds += 1
    assert asked == [0.0, CHECK_SECONDS, 2 * CHECK_SECONDS]


async def test_a_source_pauses_while_the_disk_is_nearly_full() -> None:
    shortages = ["only 5 MB are free", ""]
    watch = LagWatch(list, 100, describe_shortage=lambda: shortages.pop(0))
    await watch.check()
    assert watch() == "only 5 MB are free"
    await watch.check()
    assert watch() == ""


@pytest.mark.parametrize(
    ("profile", "min_free_bytes", "is_short"),
    [("local", 0, False), ("local", 1 << 60, True), ("production", 1 << 60, False)],
)
def test_the_disk_of_the_local_stack_counts(tmp_path: Path, profile: str, min_free_bytes: int, is_short: bool) -> None:
    crawl = CrawlSettings(min_free_bytes=min_free_bytes)
    settings = Settings().model_copy(update={"home": tmp_path, "profile": profile, "crawl": crawl})
    assert bool(describe_shortage(settings)) == is_short


async def test_a_look_that_fails_in_an_unforeseen_way_is_not_the_last_one() -> None:
    """A source that was paused would be paused for ever."""
    answers: list[list[Lag] | None] = [[Lag("embed", "b", 300)], None, []]
    seen = list[str]()

    def read() -> list[Lag]:
        if (answer := answers.pop(0)) is None:
            raise RuntimeError("the client has a bug")
        return answer

    async def sleep(_: float) -> None:
        seen.append(watch.behind)
        if not answers:
            raise asyncio.CancelledError

    watch = LagWatch(read, 100)
    with pytest.raises(asyncio.CancelledError):
        await watch.run(sleep)
    assert seen == ["embed", "embed", ""]


@pytest.mark.parametrize("failure", [OSError(errno.ESTALE, "Stale file handle"), RuntimeError("a bug")])
@pytest.mark.parametrize("first", [True, False], ids=["at the first look", "at a look in between"])
async def test_a_disk_that_does_not_answer_ends_no_watch(first: bool, failure: Exception) -> None:
    """A calm watch looks at the disk in between, too."""
    seen, looks = list[str](), 0

    def look() -> str:
        nonlocal looks
        looks += 1
        if looks == (2 if first else 3):
            raise failure
        return "only 5 MB are free"

    async def sleep(_: float) -> None:
        seen.append(watch.shortage)
        if len(seen) > 6:
            raise asyncio.CancelledError

    watch = LagWatch(list, 100, describe_shortage=look)
    await watch.check()
    with pytest.raises(asyncio.CancelledError):
        await watch.run(sleep)
    assert set(seen) == {"only 5 MB are free"}
    assert looks > 4


async def test_an_import_goes_on_while_the_disk_does_not_answer() -> None:
    def look() -> str:
        raise OSError(errno.ESTALE, "Stale file handle")

    clock, lags = Clock(), iter([101, 0])
    watch = LagWatch(lambda: [Lag("embed", "pages.chunked", next(lags))], 100, describe_shortage=look)
    await PausingSource(watch, lambda _: None, clock.now, clock.sleep).wait()
    assert clock.seconds == CHECK_SECONDS


async def test_a_lag_far_from_its_bound_is_read_less_often_and_the_disk_is_not() -> None:
    lags, looked, disk, slept = iter([0, 10, 11, 150, 5]), list[int](), list[int](), list[float]()

    def read() -> list[Lag]:
        looked.append(len(slept))
        return [Lag("embed", "pages.chunked", next(lags))]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 9:
            raise asyncio.CancelledError

    def describe() -> str:
        disk.append(len(slept))
        return ""

    watch = LagWatch(read, 100, describe_shortage=describe)
    with pytest.raises(asyncio.CancelledError):
        await watch.run(sleep)
    assert looked == [0, 3, 6, 7, 8], "after each third pause up to a tenth of the bound, else after each"
    assert disk == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert {*slept} == {CHECK_SECONDS}
