"""A description of a stack whose crawl does not come to its end: enough to find the cause in the output of a test."""

import asyncio
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from streams.clock import now_micros
from streams.errors import RiffleError
from streams.local.child_process import family_cpu_seconds, tail
from streams.local.home import ProcessState, running_state
from streams.runtime.lags.stage_lags import stage_lags
from streams.settings import Settings
from streams.stores.opener import open_stores

LOG_LINES = 25
MAX_LOG_BYTES = 6_000
ASK_SECONDS = 10.0


async def describe_stack(settings: Settings, hosts: list[str]) -> str:
    """Return the processes with their health, the events that wait, the hosts of the frontier, and the ends of logs."""
    parts = [
        f"load {os.getloadavg()}, {os.cpu_count()} processors, {time.strftime('%H:%M:%S', time.gmtime())} UTC",
        *await asyncio.to_thread(lambda: list(_processes(settings.home))),
        *await asyncio.to_thread(lambda: list(_waiting(settings))),
        *await _hosts(settings, hosts),
        *await asyncio.to_thread(lambda: list(_logs(settings.home / "logs"))),
    ]
    return "\n".join(parts)


def _processes(home: Path) -> Iterator[str]:
    state = running_state(home)
    if state is None:
        yield "the supervisor is gone"
        return
    for one in state.processes:
        cpu = f"{family_cpu_seconds(one.pid):.1f} s of CPU time" if one.alive else "does not run"
        yield f"{one.name} {one.pid}: {cpu}, {one.restarts} restarts, {_share(one)}"
        for page in ("healthz", "readyz") if one.health else ():
            yield f"    {page}: {_ask(one.health.replace('healthz', page))}"


def _share(one: ProcessState) -> str:
    """Return what the kernel gives the process: its state, its niceness and its session's."""
    with suppress(psutil.Error, OSError):
        process = psutil.Process(one.pid)
        session = Path(f"/proc/{one.pid}/autogroup")
        of_session = session.read_text().strip() if session.exists() else "no session"
        return f"{process.status()}, nice {process.nice()}, {of_session}, since {time.time() - one.create_time:.0f} s"
    return ""


def _ask(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=ASK_SECONDS) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError as error:
        return repr(error)


def _waiting(settings: Settings) -> Iterator[str]:
    try:
        for lag in stage_lags(settings):
            if lag.events or lag.lost:
                yield f"{lag.stage} waits for {lag.events} of {lag.topic}, lost {lag.lost}, handled {lag.handled}"
    except RiffleError as error:
        yield f"the lags are unknown: {error}"


async def _hosts(settings: Settings, hosts: list[str]) -> list[str]:
    lines, now = [], now_micros()
    try:
        async with open_stores(settings, ["records"]) as stores:
            owners = await stores.frontier.owners()
            lines.append(f"owners of the frontier: {list(owners.values())}")
            for host in hosts:
                if not (row := await stores.frontier.host(host)):
                    continue
                rest = {name: row.state.get(name) for name in ("cursor", "leases", "failures", "queued", "robots")}
                times = f"due {_ahead(row.due, now)}, next {_ahead(row.state.get('next_at'), now)}"
                lines.append(f"{host}: {times}, written {_ahead(row.at, now)}, {rest}")
    except RiffleError as error:
        lines.append(f"the frontier can't be read: {error}")
    return lines


def _ahead(micros: object, now: int) -> str:
    return f"{(micros - now) / 1e6:+.1f} s" if isinstance(micros, int) else str(micros)


def _logs(folder: Path) -> Iterator[str]:
    for log in sorted(folder.glob("*.log*")):
        lines = "\n".join(tail(log, LOG_LINES))[-MAX_LOG_BYTES:]
        yield f"--- {log.name}, written {time.time() - log.stat().st_mtime:.0f} s ago\n{lines}"
