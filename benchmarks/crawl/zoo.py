"""The bad servers, traps and hostile scripts of `tests/hostile`: outcome, time of a slot, memory. Writes the page."""

import asyncio
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from benchmarks.machine import describe, machine
from streams.commands.console import AsJson, command, err, out, print_json
from streams.errors import UsageError
from streams.pages.sandbox.pool import ParsePool
from streams.render.chromium import find_chromium
from tests.hostile.rendered_pages import HOSTILE_PAGES, LIMITS
from tests.hostile.rendered_pages import Meeting as RenderMeeting
from tests.hostile.rendered_pages import meet as render_hostile
from tests.hostile.traps import MAX_PAGES, TRAPS, Trap, crawl
from tests.hostile.zoo import CAP_BYTES, SHORT_SECONDS, TIMEOUT_SECONDS, ZOO, Kind, meet

Result = TypeVar("Result")

_INTRODUCTION = """\
# Bad servers

The fetcher meets {kinds} kinds of bad servers in its tests ([`tests/hostile/zoo.py`](../../tests/hostile/zoo.py)), on
loopback, {traps} [traps](#traps), and {pages} [pages with hostile scripts](#scripts). Each ends in an outcome, and none
in an exception: `tests/hostile/test_zoo.py` compares the outcomes with this page.

Here a body has at most {cap:,} bytes, and a request at most {timeout:g} seconds, or {short:g} where nothing else ends
it. In a crawl these are `RIFFLE_CRAWL__MAX_BODY_BYTES` and `RIFFLE_CRAWL__TIMEOUT_SECONDS`.

A request holds one slot of the fetcher for the time in the table. The memory is Python's at its highest, above the
memory before the request, with the memory of the test's server and its TLS. Measured by
`make bench ARGS="zoo --page docs/reference/hostile-servers.md"`:
{conditions}."""

_TRAPS = """\

## Traps

Hosts that make pages or addresses without end ([`tests/hostile/traps.py`](../../tests/hostile/traps.py)), each crawled
by the frontier, the fetcher, the normalize and the dedup stage over stores in memory. The outcome is what is recorded
of the URLs that are left out: the name of the trap (`riffle frontier show HOST`, or the record of a seed), the outcome
of their rows, or the verdict of their pages. `ok`: the session ids are no part of the URLs. Each host has two pages
beside its trap, which are fetched. The requests are all that the host gets in a crawl, robots.txt included, with a
budget of {pages} pages, or of {budgets} where the budget ends it. They hold a slot of the fetcher for the time in the
table, all together. The memory includes the crawl's state in the stores, and not the processes that parse pages.

| host | outcome | requests | slot (ms) | memory (KB) |
|---|---|---:|---:|---:|"""


SCRIPTS = "\n## Scripts\n"
_SCRIPTS = """
Pages whose scripts are hostile ([`tests/hostile/rendered_pages.py`](../../tests/hostile/rendered_pages.py)), each in a
browser of its own, as the stage `render` reads them. `rendered`: the document is taken after its scripts ran, without
what was refused. `static document`: a limit was reached, the page's process ended without memory, or its scripts left
nothing of it. Then the page keeps the document that it has without scripts. Here
the limits are {cpu:g} s of CPU time, {seconds:g} s, {memory} MiB,
{requests} requests and {html:,} characters; in a crawl they are [higher](rendering.md#what-holds). The requests are
those that the crawler's client was asked for, of which it refuses private addresses. A page holds a place of the stage
for the time in the table, of which the start of the browser takes a second or more. The memory is that of all processes
of the browser at its highest, as seen ten times a second. Measured by the same command, on a machine with Chromium:
{conditions}.

| page | outcome | limit | requests | slot (s) | CPU (s) | memory (MB) |
|---|---|---|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The cost of one request to a kind of bad server."""

    group: str
    name: str
    outcome: str
    retried: bool
    held_ms: float
    """Time of the request, for which it holds a slot of the fetcher."""
    memory_kb: float
    """Memory of Python at its highest during the request, above the memory before it. It includes the server's."""


@dataclass(frozen=True, slots=True)
class TrapMeeting:
    """The cost of a crawl of a trap."""

    name: str
    outcome: str
    requests: int
    held_ms: float
    """Time of all requests together."""
    memory_kb: float
    """Memory of Python at its highest during the crawl, above the memory before it. It includes the server's."""


@command
def run(
    page: Annotated[Path | None, typer.Option(dir_okay=False, help="A file of Markdown for the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Meet each bad server, trap and hostile script of the test suite: its outcome, time of a slot, and memory.

    Without Chromium, the rows of scripts stay as they are in the file.

    Example:  python -m benchmarks zoo --page docs/reference/hostile-servers.md
    """
    conditions = machine()
    meetings = [asyncio.run(_meet(kind)) for kind in ZOO]
    traps = asyncio.run(_crawl_traps())
    scripts = _meet_scripts()
    kept = page.read_text().partition(SCRIPTS)[2] if page and page.exists() else ""
    section = "\n".join(render_scripts(scripts, describe(conditions))) if scripts else kept
    text = "\n".join(render_page(meetings, traps, describe(conditions))) + SCRIPTS + section
    if page:
        page.write_text(text)
        err.print(f"{page} has {len(meetings)} kinds and {len(traps)} traps", highlight=False)
    elif as_json:
        kinds, hosts = [asdict(meeting) for meeting in meetings], [asdict(trap) for trap in traps]
        rows = [{"name": name, **asdict(found), "rendered": None} for name, found in scripts]
        print_json({"machine": conditions, "kinds": kinds, "traps": hosts, "scripts": rows})
    else:
        out.print(text, highlight=False, markup=False)


def _meet_scripts() -> list[tuple[str, RenderMeeting]]:
    """Return the meeting with each hostile page by its name. Empty, with a message, if there is no browser."""
    try:
        find_chromium()
    except UsageError as error:
        err.print(f"Hostile scripts are not measured: {error}", highlight=False)
        return []
    asyncio.run(render_hostile(HOSTILE_PAGES[0]))  # the first browser reads its files from the disk
    return [(hostile.name, asyncio.run(render_hostile(hostile))) for hostile in HOSTILE_PAGES]


async def _crawl_traps() -> list[TrapMeeting]:
    async with ParsePool(1) as pool:
        await _crawl_trap(TRAPS[0], pool)  # what is imported at the first page counts for no trap
        return [await _crawl_trap(trap, pool) for trap in TRAPS]


async def _crawl_trap(trap: Trap, pool: ParsePool) -> TrapMeeting:
    with tempfile.TemporaryDirectory() as folder:
        found, memory_kb = await _traced(crawl(trap, Path(folder), pool))
    return TrapMeeting(trap.name, found.outcome, len(found.answers), round(found.held_ms), round(memory_kb))


async def _traced(measured: Awaitable[Result]) -> tuple[Result, float]:
    """Return a result, and Python's memory at its highest until then, above the memory before (KB)."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    result = await measured
    memory_kb = (tracemalloc.get_traced_memory()[1] - before) / 1024
    tracemalloc.stop()
    return result, memory_kb


async def _meet(kind: Kind) -> Meeting:
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        answer, memory_kb = await _traced(meet(kind, Path(folder)))
        held_ms = (time.monotonic() - began) * 1000
    verdict = answer.verdict
    held_ms = answer.elapsed_ms or held_ms
    return Meeting(kind.group, kind.name, verdict.outcome, verdict.retryable, round(held_ms), round(memory_kb))


def render_page(meetings: Iterable[Meeting], traps: Sequence[TrapMeeting], conditions: str) -> Iterator[str]:
    """Yield the lines of the page in Markdown."""
    found = list(meetings)
    yield _INTRODUCTION.format(
        kinds=len(found),
        traps=len(traps),
        pages=len(HOSTILE_PAGES),
        cap=CAP_BYTES,
        timeout=TIMEOUT_SECONDS,
        short=SHORT_SECONDS,
        conditions=conditions,
    )
    for group, members in groupby(found, key=lambda meeting: meeting.group):
        yield from ("", f"## {group.capitalize()}", "", "| server | outcome | tried again | slot (ms) | memory (KB) |")
        yield "|---|---|---|---:|---:|"
        for each in members:
            again = "yes" if each.retried else "no"
            yield f"| {each.name} | `{each.outcome}` | {again} | {each.held_ms:,.0f} | {each.memory_kb:,.0f} |"
    smaller = sorted({trap.max_pages for trap in TRAPS} - {MAX_PAGES})
    yield _TRAPS.format(pages=MAX_PAGES, budgets=f"{', '.join(map(str, smaller[:-1]))} or {smaller[-1]}")
    for trap in traps:
        yield f"| {trap.name} | `{trap.outcome}` | {trap.requests} | {trap.held_ms:,.0f} | {trap.memory_kb:,.0f} |"
    yield ""


def render_scripts(meetings: Sequence[tuple[str, RenderMeeting]], conditions: str) -> Iterator[str]:
    """Yield the lines of the part about hostile scripts."""
    process = LIMITS.process
    yield _SCRIPTS.format(
        conditions=conditions,
        cpu=process.cpu_seconds,
        seconds=LIMITS.seconds,
        memory=process.memory_bytes >> 20,
        requests=LIMITS.requests,
        html=LIMITS.html_bytes,
    )
    for name, found in meetings:
        cost = f"{found.held_seconds:.1f} | {found.cpu_seconds:.1f} | {found.memory_bytes / 1e6:,.0f}"
        yield f"| {name} | `{found.outcome}` | {found.limit} | {len(found.asked)} | {cost} |"
    yield ""
