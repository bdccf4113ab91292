"""The bad servers, traps and hostile scripts of `tests/hostile`: outcome, time of a slot, memory."""

import asyncio
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from rich.table import Table

from benchmarks.machine import describe, machine
from streams.commands.console import AsJson, command, err, out, print_json
from streams.errors import UsageError
from streams.pages.sandbox.pool import ParsePool
from streams.render.chromium import find_chromium
from tests.hostile.rendered_pages import HOSTILE_PAGES
from tests.hostile.rendered_pages import Meeting as RenderMeeting
from tests.hostile.rendered_pages import measure as render_hostile
from tests.hostile.traps import TRAPS, Trap, crawl
from tests.hostile.zoo import ZOO, Kind, meet

Result = TypeVar("Result")


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
def run(as_json: AsJson = False) -> None:
    """Meet each bad server, trap and hostile script of the test suite: its outcome, time of a slot, and memory.

    Scripts need Chromium.

    Example:  python -m benchmarks zoo
    """
    conditions = machine()
    meetings = [asyncio.run(_meet(kind)) for kind in ZOO]
    traps = asyncio.run(_crawl_traps())
    scripts = _meet_scripts()
    if as_json:
        kinds, hosts = [asdict(meeting) for meeting in meetings], [asdict(trap) for trap in traps]
        rows = [{"name": name, **asdict(found), "rendered": None} for name, found in scripts]
        print_json({"machine": conditions, "kinds": kinds, "traps": hosts, "scripts": rows})
        return
    out.print(describe(conditions), highlight=False)
    table = Table("kind", "outcome", "seconds", "memory (KB)")
    measured: list[Meeting | TrapMeeting] = [*meetings, *traps]
    for each in measured:
        table.add_row(each.name, each.outcome, f"{each.held_ms / 1000:.3f}", f"{each.memory_kb:,.0f}")
    for name, found in scripts:
        table.add_row(name, found.outcome, f"{found.held_seconds:.1f}", f"{found.memory_bytes / 1024:,.0f}")
    out.print(table)


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
