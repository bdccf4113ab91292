"""When a watched crawl counts as stuck, and what its progress and its end by Ctrl-C say."""

import re
import signal
import subprocess
import sys
from dataclasses import fields
from io import StringIO
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from schemas import Event, PageDeduplicated, PageDiscovered, PageFetched, PageIndexed, PageSettled
from schemas.ids import page_id
from streams.commands.console import EXIT_INTERRUPTED
from streams.commands.watching import (
    BUSY_LOAD,
    BUSY_WEIGHT,
    IDLE_SECONDS,
    LINE_SECONDS,
    LONG_SECONDS,
    MAX_RECORDS_READ,
    SLOW_SECONDS,
    Bars,
    BrokersAway,
    Seen,
    machine_load,
)
from streams.crawl.frontier.progress import CrawlProgress, describe_results
from streams.stores.page_record import PageRecord


@pytest.mark.parametrize(
    ("silence", "stuck"),
    [
        pytest.param([(IDLE_SECONDS - 1, 0.1)], False, id="idle"),
        pytest.param([(IDLE_SECONDS + 1, 0.1)], True, id="idle for too long"),
        pytest.param([(IDLE_SECONDS + 1, 15.0)], False, id="slow, and nothing else"),
        pytest.param([(IDLE_SECONDS / BUSY_WEIGHT + 1, 15.0)], True, id="busy for too long"),
        pytest.param([(IDLE_SECONDS + 139, 4.0), (1.0, 1.4)], False, id="busy until a moment ago"),
        pytest.param([(IDLE_SECONDS, 4.0), (IDLE_SECONDS, 1.4)], True, id="it has had time since"),
    ],
)
def test_a_crawl_is_stuck_only_after_a_silence_that_load_does_not_explain(
    silence: list[tuple[float, float]], stuck: bool
) -> None:
    """Each part of the silence has its seconds and the load of each processor."""
    seen, now = Seen("crawl", last_event_at=100.0), 100.0
    for seconds, load in silence:
        now += seconds
        found = seen.is_stuck(now, load)
    assert found == stuck


def test_an_event_ends_a_silence() -> None:
    seen, now = Seen("crawl", last_event_at=100.0), 100.0 + IDLE_SECONDS
    assert not seen.is_stuck(now, load=0.1)
    seen.note([fetched(uuid4(), "gone")], now)
    assert not seen.is_stuck(now, load=0.1)
    assert not seen.is_stuck(now + IDLE_SECONDS, load=0.1)
    assert seen.is_stuck(now + IDLE_SECONDS + 1, load=0.1)


@pytest.mark.parametrize(
    ("idle_seconds", "load", "words"),
    [
        (SLOW_SECONDS - 1, 15.0, ""),
        (SLOW_SECONDS, BUSY_LOAD, ""),
        (SLOW_SECONDS, 15.0, "the machine is busy: 15.0 processes for each processor"),
    ],
)
def test_the_progress_says_why_it_is_slow(idle_seconds: float, load: float, words: str) -> None:
    assert Seen("crawl").why_slow(idle_seconds, load) == words


def test_the_progress_names_the_page_that_waits_longest_and_its_stages() -> None:
    def decided(page: UUID, verdict: Any) -> Event:
        return PageDeduplicated(
            page_id=page, verdict="unique", canonical_page_id=page, document_ref="a" * 64, settles=verdict, **URL
        )

    seen, old, new, done = Seen("crawl"), uuid4(), uuid4(), uuid4()
    seen.note([fetched(old, "ok"), fetched(done, "ok")], 0.0)
    seen.note([fetched(new, "ok"), indexed(done, "https://a.test/", 1, 0)], 5.0)
    assert seen.longest(LONG_SECONDS - 1) == ""
    assert re.fullmatch(r"longest under way: https://\S+ \(normalize, dedup: 20 s\)", seen.longest(LONG_SECONDS))
    seen.note([decided(old, "changed"), decided(new, "unchanged")], LONG_SECONDS)
    assert "(statements, embed, index: 20 s)" in seen.longest(2 * LONG_SECONDS), "the other page is settled"
    seen.note([indexed(old, "https://a.test/", 1, 0)], 2 * LONG_SECONDS)
    assert seen.longest(9 * LONG_SECONDS) == ""


def test_without_a_terminal_the_progress_is_a_line_now_and_then() -> None:
    log, now = StringIO(), [0.0]
    with Bars(Console(file=log), lambda: now[0]) as bars:
        addresses, searchable = bars.add_task("Addresses", total=None), bars.add_task("Searchable", total=None)
        for second in range(int(2.5 * LINE_SECONDS)):
            now[0] = float(second)
            bars.update(addresses, completed=2 * second, total=4_000, note=f"{second} refused")
            bars.update(searchable, completed=second, total=2 * second)
    assert log.getvalue().splitlines() == [
        "Addresses: 20 of 4,000 (10 refused), Searchable: 9 of 18",
        "Addresses: 40 of 4,000 (20 refused), Searchable: 19 of 38",
    ]


def test_on_a_terminal_there_are_bars() -> None:
    screen, now = StringIO(), [0.0]
    with Bars(Console(file=screen, force_terminal=True, width=100), lambda: now[0]) as bars:
        task = bars.add_task("Addresses", total=1_000_000)
        now[0] = 3 * LINE_SECONDS
        bars.update(task, completed=300_000, note=", ".join(["300,000 of the longest note"] * 9))
    assert "300000/1000000" in screen.getvalue(), "the note is below the numbers"
    assert "300,000 of" in screen.getvalue()
    assert "3 of 4" not in screen.getvalue()


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (CrawlProgress(), ""),
        (CrawlProgress(discovered=3, pending=2, digesting=1), ""),
        (CrawlProgress(discovered=1_500, fetched=1_200, digesting=300), "1,200 fetched"),
        (
            CrawlProgress(
                discovered=1_028, fetched=237, disallowed=760, refused=5, gone=17, failed=1, redirected=7, seen=1
            ),
            "237 fetched, 7 redirected, 1 known from another crawl, 760 forbidden by robots.txt, 5 refused, 17 gone, "
            "1 failed",
        ),
    ],
)
def test_the_results_of_a_crawl_in_words(progress: CrawlProgress, words: str) -> None:
    assert describe_results(progress) == words


@given(st.lists(st.integers(0, 2_000), min_size=10, max_size=10))
def test_the_results_and_what_is_under_way_are_all_addresses(counts: list[int]) -> None:
    """So no page seems to be missing when a crawl has ended."""
    names = [one.name for one in fields(CrawlProgress) if one.name != "discovered"]
    progress = CrawlProgress(discovered=sum(counts), **dict(zip(names, counts, strict=True)))
    shown = sum(int(count.replace(",", "")) for count in re.findall(r"[\d,]*\d", describe_results(progress)))
    assert shown == progress.finished
    assert progress.finished + progress.pending + progress.deferred + progress.digesting == progress.discovered


def test_the_load_of_this_machine_is_a_number() -> None:
    assert 0.0 <= machine_load() < 10_000


URL = {"url": "https://a.example/", "host": "a.example", "crawl_id": "crawl", "generation": 5}


class Records:
    """The records of pages: each with the generations at which it was indexed and removed."""

    def __init__(self) -> None:
        self.rows: dict[UUID, dict[str, Any]] = {}
        self.reads = 0

    def put(self, page_id: UUID, indexed: int = 0, removed: int = 0, statements: int = 2) -> UUID:
        parts = {"indexed": indexed, "removed": removed}
        rows = {part: {"generation": generation} for part, generation in parts.items() if generation}
        if indexed:
            rows["indexed"]["statements"] = statements
        self.rows[page_id] = rows
        return page_id

    async def get(self, page_id: UUID) -> PageRecord:
        self.reads += 1
        return PageRecord(self.rows[page_id])


def fetched(page_id: UUID, outcome: Any) -> PageFetched:
    return PageFetched(page_id=page_id, outcome=outcome, **URL)


def unchanged(page_id: UUID) -> list[Event]:
    """Return the events of a page that came again with the same content."""
    return [fetched(page_id, "ok"), PageSettled(page_id=page_id, verdict="unchanged", **URL)]


async def test_unchanged_pages_that_are_in_the_index_count_as_searchable() -> None:
    pages, seen = Records(), Seen("crawl")
    not_modified, same = pages.put(uuid4(), indexed=3), pages.put(uuid4(), indexed=4, removed=2)
    noindex = pages.put(uuid4(), indexed=3, removed=4)
    seen.note([fetched(not_modified, "not_modified"), *unchanged(same), fetched(noindex, "not_modified")], 1.0)
    assert seen.under_way == 1, "the page with the same content"
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (seen.searchable, seen.unchanged, seen.under_way, seen.unread) == (2, {not_modified, same}, 0, {})


@pytest.mark.parametrize(
    ("known", "ends"),
    [
        pytest.param({"normalized": 6, "indexed": 6}, (1, 1, 0), id="a later visit is searchable"),
        pytest.param({"normalized": 6}, (0, 1, 0), id="a later visit is under way"),
        pytest.param({"normalized": 5, "removed": 6}, (0, 1, 0), id="gone since"),
        pytest.param({"normalized": 5, "indexed": 5}, (1, 0, 0), id="this very visit"),
        pytest.param({"normalized": 5}, (0, 0, 1), id="its text is under way"),
    ],
)
async def test_a_page_that_is_older_than_what_is_stored_is_not_waited_for(
    known: dict[str, int], ends: tuple[int, int, int]
) -> None:
    pages, seen, page = Records(), Seen("crawl"), uuid4()
    pages.rows[page] = {part: {"generation": generation, "statements": 2} for part, generation in known.items()}
    seen.note(unchanged(page), 1.0)
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (seen.searchable, len(seen.older), seen.under_way) == ends
    assert seen.settled == 1 - seen.under_way


def test_one_line_says_that_the_brokers_are_away_and_one_that_they_are_back() -> None:
    screen = StringIO()
    brokers = BrokersAway(Console(file=screen))
    assert [brokers.look(since, 20.0) for since in (None, 8.0, 8.0, None, None)] == [0.0, 12.0, 12.0, 0.0, 0.0]
    assert screen.getvalue().splitlines() == ["Kafka does not answer any more.", "Kafka answers again."]


async def test_a_page_without_a_statement_is_not_searchable() -> None:
    pages, seen = Records(), Seen("crawl")
    page = pages.put(uuid4(), indexed=3, statements=0)
    seen.note([fetched(page, "not_modified")], 1.0)
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (seen.searchable, seen.empty, seen.settled, seen.brought) == (0, {page}, 1, False)


def indexed(page: UUID, url: str, statements: int, left_out: int) -> PageIndexed:
    facts = {"model": "m", "model_version": "1", "collection": "c"}
    return PageIndexed(
        page_id=page, url=url, generation=1, crawl_id="crawl", statements=statements, left_out=left_out, **facts
    )


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        ([], ""),
        ([("a", 40_000, 0)], ""),
        (
            [("a", 12_000, 18_000)],
            "One page is searchable in part: a (12,000 of about 30,000 statements are searchable: the page is too long "
            "for more).",
        ),
        (
            [("a", 10, 5), ("b", 10, 7), ("c", 3, 0)],
            "2 pages, such as this one, are searchable in part: b (10 of about 17 statements are searchable: the page "
            "is too long for more).",
        ),
        ([("a", 10, 5), ("a", 15, 0)], ""),
    ],
    ids=["none", "all of it", "a long one", "two, the worst of which is named", "a later fetch is whole"],
)
def test_pages_of_which_only_the_beginning_is_searchable_are_named(
    pages: list[tuple[str, int, int]], says: str
) -> None:
    seen, ids = Seen("crawl"), {url: uuid4() for url, _, _ in pages}
    seen.note([indexed(ids[url], url, statements, left_out) for url, statements, left_out in pages], 1.0)
    assert seen.describe_cut() == says


async def test_an_unchanged_page_is_read_again_until_its_earlier_fetch_is_in_the_index() -> None:
    pages, seen = Records(), Seen("crawl")
    page = pages.put(uuid4())
    seen.note([fetched(page, "not_modified")], 1.0)
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (seen.searchable, list(seen.unread)) == (0, [page])
    pages.put(page, indexed=3)
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (seen.searchable, seen.unread) == (1, {})


async def test_each_look_reads_a_bounded_number_of_records() -> None:
    pages, seen = Records(), Seen("crawl")
    seen.note([fetched(pages.put(uuid4(), indexed=1), "not_modified") for _ in range(MAX_RECORDS_READ + 1)], 1.0)
    await seen.look_at_unchanged(pages)  # type: ignore[arg-type] # the part of the store that is read
    assert (pages.reads, len(seen.unread)) == (MAX_RECORDS_READ, 1)


def test_the_pages_that_sitemaps_name_are_counted_each_once() -> None:
    seen = Seen("crawl")
    urls = [f"https://a.example/{path}" for path in "ab"]
    named = {"url": urls[0], "page_id": page_id(urls[0]), "host": "a.example", "depth": 1, "crawl_id": "crawl"}
    events = [
        PageDiscovered(why="sitemap", more_urls=(urls[1],), **named),
        PageDiscovered(why="sitemap", **named),
        PageDiscovered(why="sitemap", purpose="sitemap", **{**named, "page_id": uuid4()}),
        PageDiscovered(why="link", **{**named, "page_id": uuid4()}),
    ]
    seen.note([*events, fetched(page_id(urls[1]), "ok")], 1.0)
    assert (seen.listed, seen.listed & seen.fetched) == (set(map(page_id, urls)), {page_id(urls[1])})


async def test_events_of_other_crawls_do_not_count() -> None:
    seen = Seen("another")
    seen.note([fetched(uuid4(), "not_modified")], 1.0)
    assert not seen.unread


INTERRUPTED = """
import asyncio, signal, sys, typer
from streams.commands.console import command
from streams.commands.pages.crawl import interrupt_advice

signal.signal(signal.SIGINT, signal.default_int_handler)

@command
async def crawl():
    with interrupt_advice():
        print("begun", flush=True)
        await asyncio.sleep(600)

try:
    crawl()
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


def test_who_ends_the_display_reads_that_the_crawl_goes_on() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            _, printed = process.communicate()
        finally:
            process.kill()
    assert process.returncode == EXIT_INTERRUPTED
    assert "The crawl goes on. To stop it:" in printed
    assert "frontier set all --pause" in printed
    assert "Traceback" not in printed
