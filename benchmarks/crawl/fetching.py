"""The fetcher on loopback: memory of many fetches in flight. `make bench ARGS=fetching`.

The server runs in a process of its own, with a host for each fetch. It sends 100 KB over ten seconds, so that all
fetches are in flight at once.
"""

import asyncio
import gc
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, out, print_json
from streams.crawl.fetch.http import close_session, get, limits_of, open_session
from streams.settings import CrawlSettings
from tests.hostile.servers import bad_server

BODY_BYTES = 100_000
PIECES = 20
LOOK_SECONDS = 0.1


async def serve(folder: Path, hosts: int) -> None:
    """Serve `/slow` until the process is ended."""

    async def slow(writer: asyncio.StreamWriter) -> None:
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {BODY_BYTES}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode())
        for _ in range(PIECES):
            writer.write(b"x" * (BODY_BYTES // PIECES))
            await writer.drain()
            await asyncio.sleep(0.5)

    async with bad_server(folder, {"/slow": slow}, host="*.bench.example") as server:
        settings = server.settings(*(f"h{number}.bench.example" for number in range(hosts)))
        found = {"local_hosts": settings.local_hosts, "local_ca_file": str(settings.local_ca_file)}
        await asyncio.to_thread((folder / "settings.json").write_text, json.dumps(found))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def measure(settings: CrawlSettings, in_flight: int) -> dict[str, Any]:
    """Make the fetches, and look at this process's memory meanwhile."""
    process = psutil.Process()
    session = open_session(settings)
    gc.collect()
    before, cpu = process.memory_info().rss, process.cpu_times()
    peak = before

    async def fetch(number: int) -> int:
        answer = await get(
            session,
            f"https://h{number}.bench.example/slow",
            purpose="page",
            limits=replace(limits_of(settings), bytes_per_second=0),
            monotonic=time.monotonic,
        )
        return len(answer.body or b"")

    fetches = asyncio.gather(*(fetch(number) for number in range(in_flight)))
    while not fetches.done():
        await asyncio.sleep(LOOK_SECONDS)
        peak = max(peak, process.memory_info().rss)
    sizes = await fetches
    after = process.cpu_times()
    await close_session(session)
    return {
        "fetches": in_flight,
        "complete": sum(size == BODY_BYTES for size in sizes),
        "process_mb_before": before >> 20,
        "process_mb_at_peak": peak >> 20,
        "kb_a_fetch": round((peak - before) / 1024 / in_flight),
        "cpu_ms_a_fetch": round(1_000 * (after.user + after.system - cpu.user - cpu.system) / in_flight, 1),
    }


@command
async def run(
    in_flight: Annotated[int, typer.Option(min=1, help="Number of fetches in flight.")] = 500,
    as_json: AsJson = False,
) -> int:
    """Measure the memory of many fetches in flight: a host for each, over TLS on loopback.

    Example:  python -m benchmarks fetching --in-flight 500
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        script = f"from benchmarks.crawl.fetching import serve_here; serve_here({str(folder)!r}, {in_flight})"
        server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
        try:
            assert server.stdout
            await server.stdout.readline()
            found = json.loads(await asyncio.to_thread((folder / "settings.json").read_text))
            settings = CrawlSettings(**found, timeout_seconds=120)
            measured = await measure(settings, in_flight)
        finally:
            server.terminate()
            await server.wait()
    result = {"machine": machine(), **measured}
    if as_json:
        print_json(result)
    else:
        out.print(", ".join(f"{name} {value}" for name, value in measured.items()))
    return 0


def serve_here(folder: str, hosts: int) -> None:
    """Run the server in this process."""
    asyncio.run(serve(Path(folder), hosts))
