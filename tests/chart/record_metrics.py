"""Records what a real stack exports while it works, and while each of some faults lasts, for the tests of the alerts.

    .venv/bin/python -m tests.chart.record_metrics     # some 15 minutes; writes tests/chart/recorded/

The stack crawls the bundled web and answers searches meanwhile. Its backlog is read every 15 seconds, from the first
waiting event to the last. Then each scenario is read twice, `WINDOW_SECONDS` apart,
while the fault lasts. A series becomes promtool's `FIRST+STEPxMINUTES`: counters, and the ages of waiting events, go on
at the pace at which they really grew; all other gauges stay. A series that nobody exports any more ends. So the
recording says which series a fault moves, and in which direction; how long a fault of hours would last is extrapolated.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from streams.local.demo import unpack
from streams.local.state import running_state
from streams.settings import Settings
from tests.chart.rendering import CHART
from tests.faults.processes import RIFFLE, process, stopped, until_healthy

FOLDER = Path(__file__).parent / "recorded"
WINDOW_SECONDS = 30.0
SETTLE_SECONDS = 20.0
"""Time between the begin of a fault and the first reading: what a server does in the first moments is no pattern."""
SEARCH_SECONDS = 0.3
GROWING = {"riffle_lag_seconds", "riffle_committed_age_seconds"}
"""Gauges that grow with the time: they go on at their pace."""
FAULTS = {"healthy": None, "Cassandra is away": "cassandra", "Kafka is away": "kafka", "Triton is away": "triton",
          "the worker is away": "worker"}  # fmt: skip
BACKLOG = "a backlog that ends"
"""The scenario that is read again and again, from the first waiting event to the last, and not extrapolated."""
BACKLOG_READ_SECONDS = 15.0
QUIET_READINGS = 4
"""Number of readings without a waiting event after which the backlog has ended."""
MAX_BACKLOG_READINGS = 120
Reading = dict[str, float]


def used_names() -> set[str]:
    """Return the names of the metrics in the rules of the chart."""
    rules = "".join(path.read_text() for path in sorted((CHART / "rules").glob("*.yaml")))
    return set(re.findall(r"\b(?:riffle|nv)_[a-z_]+", rules))


async def read(addresses: list[str], names: set[str]) -> Reading:
    """Return the values of all series with these names. A process that does not answer exports nothing."""
    found: Reading = {}
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        for address in addresses:
            with suppress(httpx.HTTPError):
                text = (await client.get(f"{address}/metrics")).text
                for family in text_string_to_metric_families(text):
                    for sample in family.samples:
                        if sample.name in names:
                            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
                            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def extrapolate(first: Reading, second: Reading, seconds: float) -> dict[str, list[float]]:
    """Return the last value of each series, and its step in a minute."""
    series = {}
    for name, value in second.items():
        grows = name.partition("{")[0] in GROWING or re.search(r"_(total|count|sum|bucket)\{", name)
        step = (value - first.get(name, value)) * 60 / seconds if grows else 0.0
        series[name] = [round(value, 3), round(max(step, 0.0), 3)]
    return series


async def search_on(address: str) -> None:
    """Search again and again, as people do."""
    words = ("commit branch", "index database", "regular expression", "memory", "undo a merge", "table column type")
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        number = 0
        while True:
            number += 1
            with suppress(httpx.HTTPError):
                await client.get(f"{address}/api/v1/search", params={"q": f"{words[number % len(words)]} {number}"})
            await asyncio.sleep(SEARCH_SECONDS)


@asynccontextmanager
async def stack(home: Path, web: Path) -> AsyncIterator[Settings]:
    environment = {
        **os.environ,
        "RIFFLE_HOME": str(home),
        "RIFFLE_LOCAL_WEB": str(web),
        "RIFFLE_LOCAL_TRITON": "true",
        "RIFFLE_CRAWL__DELAY_SECONDS": "1",
        "RIFFLE_GATEWAY__PUBLISH_QUERIES": "true",
        "RIFFLE_GATEWAY__RECALL_SHARE": "1",
        # A process that is held is not started again within the time of a recording.
        "RIFFLE_RUNTIME__STALL_SECONDS": "600",
    }
    try:
        started = await asyncio.to_thread(subprocess.run, [*RIFFLE, "up"], env=environment)
        assert started.returncode == 0
        settings = Settings.load(home=home)
        seeds = [f"https://{host}/" for host in sorted(settings.crawl.local_hosts)]
        crawl = [*RIFFLE, "crawl", "--no-wait", "--depth", "40", *seeds]
        await asyncio.to_thread(subprocess.run, crawl, env=environment, check=True)
        yield settings
    finally:
        await asyncio.to_thread(subprocess.run, [*RIFFLE, "down", "--clean"], env=environment)


async def record(settings: Settings, scenario: str, held: str | None, names: set[str]) -> None:
    """Record one scenario into its file."""
    addresses = addresses_of(settings)
    pid = (await process(settings.home, held)).pid if held else 0
    async with stopped(pid) if held else no_fault():
        await asyncio.sleep(SETTLE_SECONDS)
        first = await read(addresses, names)
        await asyncio.sleep(WINDOW_SECONDS)
        second = await read(addresses, names)
    write(scenario, extrapolate(first, second, WINDOW_SECONDS))
    if held:
        await until_healthy(settings.home, held)
        await asyncio.sleep(SETTLE_SECONDS / 2)


def addresses_of(settings: Settings) -> list[str]:
    """Return the addresses of the workers' and the gateway's metrics."""
    state = running_state(settings.home)
    assert state
    workers = [each.health.rpartition("/")[0] for each in state.processes if each.name.startswith("worker")]
    return [*workers, settings.gateway.address]


async def record_backlog(settings: Settings, names: set[str]) -> None:
    """Record all values from now until no event waits any more.

    Meanwhile, send pages for two minutes or more: `RIFFLE_HOME=... riffle import html DIR`, with the shown folder.
    """
    readings: list[Reading] = []
    has_begun, quiet = False, 0
    while quiet < QUIET_READINGS and len(readings) < MAX_BACKLOG_READINGS:
        readings.append(await read(addresses_of(settings), names))
        waits = any(value > 0 for name, value in readings[-1].items() if name.startswith("riffle_lag_seconds"))
        has_begun |= waits
        quiet = quiet + 1 if has_begun and not waits else 0
        await asyncio.sleep(BACKLOG_READ_SECONDS)
    assert quiet == QUIET_READINGS, "the backlog has not ended"
    series = {name for reading in readings for name in reading}
    rounded = [{name: round(value, 3) for name, value in reading.items()} for reading in readings]
    write(BACKLOG, {name: [reading.get(name) for reading in rounded] for name in series})


def write(scenario: str, series: Mapping[str, Sequence[float | None]]) -> None:
    """Write the file of a scenario, one series on a line."""
    FOLDER.mkdir(exist_ok=True)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(series.items()))
    (FOLDER / f"{scenario.replace(' ', '-').lower()}.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"{scenario}: {len(series)} series", flush=True)


@asynccontextmanager
async def no_fault() -> AsyncIterator[None]:
    yield


async def main(scenarios: list[str]) -> None:
    """Record the named scenarios, or all."""
    with tempfile.TemporaryDirectory(prefix="riffle-record-") as folder:
        async with stack(Path(folder) / "home", unpack(Path(folder) / "web")) as settings:
            searches = asyncio.create_task(search_on(settings.gateway.address))
            try:
                if not scenarios or BACKLOG in scenarios:
                    print(f"send pages now: RIFFLE_HOME={settings.home} riffle import html DIR", flush=True)
                    await record_backlog(settings, used_names())
                await asyncio.sleep(SETTLE_SECONDS)
                for scenario in [each for each in scenarios or FAULTS if each != BACKLOG]:
                    await record(settings, scenario, FAULTS[scenario], used_names())
            finally:
                searches.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
