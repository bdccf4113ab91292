"""The kinds of bad servers of `tests/hostile/zoo.py`: outcome, time of a slot, memory. Writes a page of the docs."""

import asyncio
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.machine import describe, machine
from streams.commands.console import err, out, print_json
from tests.hostile.zoo import CAP_BYTES, SHORT_SECONDS, TIMEOUT_SECONDS, ZOO, Kind, meet

_INTRODUCTION = """\
# Bad servers

The fetcher meets {kinds} kinds of bad servers in its tests ([`tests/hostile/zoo.py`](../../tests/hostile/zoo.py)), on
loopback. Each ends in an outcome, and none in an exception: `tests/hostile/test_zoo.py` compares the outcomes with
this page.

Here a body has at most {cap:,} bytes, and a request at most {timeout:g} seconds, or {short:g} where nothing else ends
it. In a crawl these are `RIFFLE_CRAWL__MAX_BODY_BYTES` and `RIFFLE_CRAWL__TIMEOUT_SECONDS`. Traps that need more than
one request are in the tests of the frontier.

A request holds one slot of the fetcher for the time in the table. The memory is Python's at its highest, above the
memory before the request, with the memory of the test's server and its TLS. Measured by
`make bench ARGS="zoo --page docs/reference/hostile-servers.md"`:
{conditions}."""


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


def run(page: Path | None, *, as_json: bool) -> None:
    """Measure, and print or write the page."""
    conditions = machine()
    meetings = [asyncio.run(_meet(kind)) for kind in ZOO]
    if page:
        page.write_text("\n".join(render_page(meetings, describe(conditions))))
        err.print(f"{page} has {len(meetings)} kinds", highlight=False)
    elif as_json:
        print_json({"machine": conditions, "kinds": [asdict(meeting) for meeting in meetings]})
    else:
        out.print("\n".join(render_page(meetings, describe(conditions))), highlight=False, markup=False)


async def _meet(kind: Kind) -> Meeting:
    with tempfile.TemporaryDirectory() as folder:
        tracemalloc.start()
        before, began = tracemalloc.get_traced_memory()[0], time.monotonic()
        answer = await meet(kind, Path(folder))
        held_ms = (time.monotonic() - began) * 1000
        memory_kb = (tracemalloc.get_traced_memory()[1] - before) / 1024
        tracemalloc.stop()
    verdict = answer.verdict
    held_ms = answer.elapsed_ms or held_ms
    return Meeting(kind.group, kind.name, verdict.outcome, verdict.retryable, round(held_ms), round(memory_kb))


def render_page(meetings: Iterable[Meeting], conditions: str) -> Iterator[str]:
    """Yield the lines of the page in Markdown."""
    found = list(meetings)
    yield _INTRODUCTION.format(
        kinds=len(found), cap=CAP_BYTES, timeout=TIMEOUT_SECONDS, short=SHORT_SECONDS, conditions=conditions
    )
    for group, members in groupby(found, key=lambda meeting: meeting.group):
        yield from ("", f"## {group.capitalize()}", "", "| server | outcome | tried again | slot (ms) | memory (KB) |")
        yield "|---|---|---|---:|---:|"
        for each in members:
            again = "yes" if each.retried else "no"
            yield f"| {each.name} | `{each.outcome}` | {again} | {each.held_ms:,.0f} | {each.memory_kb:,.0f} |"
    yield ""
