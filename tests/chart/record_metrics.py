"""Records what a real stack exports while it works and during each fault of the fault suite, for tests of the alerts.

    .venv/bin/python -m tests.chart.record_metrics ["worker slowed" ...]  # some 50 minutes; writes tests/chart/recorded

The stack crawls the bundled web and answers searches meanwhile. The faults are those of `tests/faults`, by their names.
Name a few at a time: the crawl lasts for some ten minutes, and after it a stage has nothing to do.

- A fault of `LASTING` is read twice, `WINDOW_SECONDS` apart, while it lasts. A series becomes promtool's
  `FIRST+STEPxMINUTES`: counters, and the ages of waiting events, go on at the pace at which they really grew; all
  other gauges stay. A series that nobody exports any more ends. So the recording says which series a fault moves, and
  in which direction; how long a fault of hours would last is extrapolated.
- All other faults pass by themselves: all series are read every `READ_SECONDS`, until a minute after the fault's end.
  So is a backlog, from the first waiting event to the last, and a worker that is killed again and again.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from schemas import PageIndexed
from streams.local.demo import unpack
from streams.local.home import running_state
from streams.runtime.topics import describe_topics
from streams.settings import Settings
from tests.chart.rendering import CHART
from tests.faults.faults import FAULTS, Fault, Times, held, killed
from tests.faults.processes import RIFFLE, read_log, until_healthy, worker_of

FOLDER = Path(__file__).parent / "recorded"
WINDOW_SECONDS = 30.0
SETTLE_SECONDS = 20.0
"""Time between the begin of a fault and the first reading: what a server does in the first moments is no pattern."""
SEARCH_SECONDS = 0.3
DELAY_SECONDS = 5
"""Time between two pages of a host."""
SINCE = {"riffle_committed_age_seconds", "riffle_kafka_silence_seconds"}
"""Gauges of the time since something happened. They go on only if it did not happen between two readings."""
SINCE_SHARE = 0.75
"""Minimum share of the time between two readings by which such a gauge grows then. A process counts its own time."""
GROWING = {"riffle_lag_seconds", *SINCE}
"""Gauges that grow with the time: they go on at their pace."""
HEALTHY = "healthy"
IDLE = "kafka away from an idle stack"
"""The scenario without a crawl and searches. It is recorded alone."""
BACKLOG = "a backlog that ends"
"""The scenario that is read again and again, from the first waiting event to the last, and not extrapolated."""
READ_SECONDS = 15.0
QUIET_READINGS = 4
"""Number of readings without a waiting event after which the backlog has ended, and after the end of a fault."""
MAX_BACKLOG_READINGS = 120
END_SECONDS = 25.0
"""Time from the second reading of a fault that lasts to its end: the start of the workers that it needs."""
SLOW_CRAWL_SECONDS = 20
"""Time between two pages of a host in a slow crawl."""
CALM = {"skewed clocks": 60.0, "worker slowed": 120.0}
"""Faults of a stack that keeps up with its crawl, and the time between both readings. They are recorded by themselves,
with a slow crawl: events wait because of the fault, and not because the machine that records is slow."""
PASSING_TIMES = Times(outage=2 * READ_SECONDS)
"""An operator who answers comes when all series were read at least once."""
LASTING = {
    "cassandra away": SETTLE_SECONDS, "kafka away": SETTLE_SECONDS, IDLE: SETTLE_SECONDS, "qdrant away": SETTLE_SECONDS,
    "triton away": SETTLE_SECONDS, "worker stopped": SETTLE_SECONDS, "worker slowed": SETTLE_SECONDS,
    "disk of kafka full": SETTLE_SECONDS, "disk of cassandra full": SETTLE_SECONDS,
    "disk of qdrant full": SETTLE_SECONDS, "skewed clocks": 2 * SETTLE_SECONDS,
}  # fmt: skip
"""Faults that could last for hours, and the time from their begin to the first reading (seconds)."""
BESIDE = ("second-frontier", "skewed-early", "skewed-late", "other-stages", "accept-loss")
"""Names of the workers that a fault runs beside the stack, as their logs have them."""
LOOP = "worker killed again and again"
LOOP_TIMES = 8


async def _killed_in_a_loop(home: Path, _chance: random.Random, _times: Times) -> None:
    """Kill the worker whenever it answers."""
    for _ in range(LOOP_TIMES):
        await killed(worker_of("fetch")).act(home, _chance, _times)
        await until_healthy(home, worker_of("fetch"))


OF_THE_SUITE = {
    fault.name: fault for fault in (*FAULTS, held("triton", lambda times: times.outage, "away"), killed("triton"))
}
"""All faults of the fault suite, also those that it does only with Triton, by their names."""
RECORDED = OF_THE_SUITE | {
    LOOP: Fault(LOOP, _killed_in_a_loop),
    IDLE: Fault(IDLE, OF_THE_SUITE["kafka away"].act),
}
Reading = dict[str, float]


def used_names() -> set[str]:
    """Return the names of the metrics in the rules of the chart."""
    rules = "".join(path.read_text() for path in sorted((CHART / "rules").glob("*.yaml")))
    return set(re.findall(r"\b(?:riffle|nv)_[a-z_]+", rules))


async def read(addresses: Mapping[str, str], names: set[str]) -> Reading:
    """Return the values of all series with these names. A process that does not answer exports nothing."""
    found: Reading = {}
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
        for address, beside in addresses.items():
            with suppress(httpx2.HTTPError):
                # The port of a process that has ended may be another server's by now.
                page = (await client.get(f"{address}/metrics")).raise_for_status()
                for family in text_string_to_metric_families(page.text):
                    for sample in family.samples:
                        if sample.name in names:
                            own = {"process": beside} if beside else {}
                            pairs = sorted({**sample.labels, **own}.items())
                            labels = ",".join(f'{name}="{value}"' for name, value in pairs)
                            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def extrapolate(first: Reading, second: Reading, seconds: float) -> dict[str, list[float]]:
    """Return the last value of each series, and its step in a minute."""
    series = {}
    for name, value in second.items():
        grows = name.partition("{")[0] in GROWING or re.search(r"_(total|count|sum|bucket)\{", name)
        step = (value - first.get(name, value)) * 60 / seconds if grows else 0.0
        if name.partition("{")[0] in SINCE and step < 60 * SINCE_SHARE:
            step = 0.0
        series[name] = [round(value, 3), round(max(step, 0.0), 3)]
    return series


async def search_on(address: str) -> None:
    """Search again and again, as people do."""
    words = ("commit branch", "index database", "regular expression", "memory", "undo a merge", "table column type")
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
        number = 0
        while True:
            number += 1
            with suppress(httpx2.HTTPError):
                await client.get(f"{address}/api/v1/search", params={"q": f"{words[number % len(words)]} {number}"})
            await asyncio.sleep(SEARCH_SECONDS)


def file_of(scenario: str) -> Path:
    """Return the file of a scenario."""
    return FOLDER / f"{scenario.replace(',', '').replace(' ', '-')}.json"


@asynccontextmanager
async def stack(home: Path, web: Path, *, delay_seconds: int | None) -> AsyncIterator[Settings]:
    """Run a stack that crawls with this delay. None: it does not crawl."""
    environment = {
        **os.environ,
        "RIFFLE_HOME": str(home),
        "RIFFLE_LOCAL_WEB": str(web),
        "RIFFLE_LOCAL_TRITON": "true",
        "RIFFLE_CRAWL__DELAY_SECONDS": str(delay_seconds or DELAY_SECONDS),
        "RIFFLE_GATEWAY__PUBLISH_QUERIES": "true",
        "RIFFLE_GATEWAY__RECALL_SHARE": "1",
        # A process that is held is not started again within the time of a recording.
        "RIFFLE_RUNTIME__STALL_SECONDS": "600",
    }
    try:
        started = await asyncio.to_thread(subprocess.run, [*RIFFLE, "up"], env=environment)
        assert started.returncode == 0
        settings = Settings.load(home=home)
        if delay_seconds:
            seeds = [f"https://{host}/" for host in sorted(settings.crawl.local_hosts)]
            crawl = [*RIFFLE, "crawl", "--no-wait", "--depth", "40", *seeds]
            await asyncio.to_thread(subprocess.run, crawl, env=environment, check=True)
        yield settings
    finally:
        await asyncio.to_thread(subprocess.run, [*RIFFLE, "down", "--clean"], env=environment)


async def record_healthy(settings: Settings, names: set[str]) -> None:
    """Record the stack while it works."""
    await asyncio.sleep(SETTLE_SECONDS)
    write(HEALTHY, await _read_twice(settings, names, WINDOW_SECONDS))


async def record_lasting(settings: Settings, fault: Fault, names: set[str]) -> None:
    """Record a fault while it lasts, and wait for its end."""
    window = CALM.get(fault.name, WINDOW_SECONDS)
    length = LASTING[fault.name] + window + END_SECONDS
    times = Times(stop=length, outage=length, tier=length, disk=length)
    ended = asyncio.ensure_future(fault.act(settings.home, random.Random(0), times))
    await asyncio.sleep(LASTING[fault.name])
    series = await _read_twice(settings, names, window)
    assert not ended.done(), f"{fault.name} ended before it was read"
    write(fault.name, series)
    await ended


async def _read_twice(settings: Settings, names: set[str], seconds: float) -> dict[str, list[float]]:
    first = await read(addresses_of(settings), names)
    await asyncio.sleep(seconds)
    return extrapolate(first, await read(addresses_of(settings), names), seconds)


async def record_passing(settings: Settings, fault: Fault, names: set[str]) -> None:
    """Record all values from before a fault until it has passed."""
    readings = [await read(addresses_of(settings), names)]
    ended = asyncio.ensure_future(fault.act(settings.home, random.Random(0), PASSING_TIMES))
    quiet = 0
    while quiet < QUIET_READINGS:
        await asyncio.sleep(READ_SECONDS)
        readings.append(await read(addresses_of(settings), names))
        quiet = quiet + 1 if ended.done() else 0
    await ended
    write_readings(fault.name, readings)


async def until_all_healthy(settings: Settings) -> None:
    """Wait until all processes answer again, and a moment for the workers to catch up."""
    state = running_state(settings.home)
    assert state
    for one in state.processes:
        await until_healthy(settings.home, one.name)
    await asyncio.sleep(SETTLE_SECONDS / 2)


async def until_indexed(settings: Settings) -> None:
    """Wait until events of every stage flow: a fault while nothing happens moves no series."""
    while not any(one.messages for one in describe_topics(settings) if one.topic.name == PageIndexed.topic):
        await asyncio.sleep(1)


def addresses_of(settings: Settings) -> dict[str, str]:
    """Return the addresses of metrics. Those of a worker that a fault runs beside the stack come with its name."""
    state = running_state(settings.home)
    assert state
    own = [one.health.rpartition("/")[0] for one in state.processes if one.name.startswith("worker")]
    logs = {name: read_log(settings.home / "logs" / f"{name}.log") for name in BESIDE}
    others = {address[0]: name for name, log in logs.items() if (address := re.search(r"http://127\.0\.0\.1:\d+", log))}
    return dict.fromkeys((*own, settings.gateway.address), "") | others


async def record_backlog(settings: Settings, names: set[str]) -> None:
    """Record all values from now until no event waits any more.

    Meanwhile, send pages for two minutes or more: `RIFFLE_HOME=... riffle import DIR`, with the shown folder.
    """
    readings: list[Reading] = []
    has_begun, quiet = False, 0
    while quiet < QUIET_READINGS and len(readings) < MAX_BACKLOG_READINGS:
        readings.append(await read(addresses_of(settings), names))
        waits = any(value > 0 for name, value in readings[-1].items() if name.startswith("riffle_lag_seconds"))
        has_begun |= waits
        quiet = quiet + 1 if has_begun and not waits else 0
        await asyncio.sleep(READ_SECONDS)
    assert quiet == QUIET_READINGS, "the backlog has not ended"
    write_readings(BACKLOG, readings)


def write_readings(scenario: str, readings: list[Reading]) -> None:
    """Write all values of each series, as they were read."""
    series = {name for reading in readings for name in reading}
    rounded = [{name: round(value, 3) for name, value in reading.items()} for reading in readings]
    write(scenario, {name: [reading.get(name) for reading in rounded] for name in series})


def write(scenario: str, series: Mapping[str, Sequence[float | None]]) -> None:
    """Write the file of a scenario, one series on a line."""
    FOLDER.mkdir(exist_ok=True)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(series.items()))
    file_of(scenario).write_text(f"{{\n{lines}\n}}\n")
    print(f"{scenario}: {len(series)} series", flush=True)


async def main(chosen: list[str]) -> None:
    """Record the named scenarios, or all."""
    scenarios = chosen or [BACKLOG, HEALTHY, *RECORDED]
    groups = {
        None: [name for name in scenarios if name == IDLE],
        SLOW_CRAWL_SECONDS: [name for name in scenarios if name in CALM],
        DELAY_SECONDS: [name for name in scenarios if name != IDLE and name not in CALM],
    }
    for delay_seconds, group in groups.items():
        if group:
            await record(group, delay_seconds)


async def record(scenarios: Sequence[str], delay_seconds: int | None) -> None:
    """Record scenarios, one after the other on one stack that crawls with this delay."""
    names = used_names()
    with tempfile.TemporaryDirectory(prefix="riffle-record-") as folder:
        async with stack(Path(folder) / "home", unpack(Path(folder) / "web"), delay_seconds=delay_seconds) as settings:
            searches = asyncio.create_task(search_on(settings.gateway.address) if delay_seconds else asyncio.sleep(0))
            try:
                if scenarios[0] != BACKLOG and delay_seconds:
                    await until_indexed(settings)
                for scenario in scenarios:
                    if scenario == BACKLOG:
                        print(f"send pages now: RIFFLE_HOME={settings.home} riffle import DIR", flush=True)
                        await record_backlog(settings, names)
                    elif scenario == HEALTHY:
                        await record_healthy(settings, names)
                    else:
                        recorder = record_lasting if scenario in LASTING else record_passing
                        await recorder(settings, RECORDED[scenario], names)
                    await until_all_healthy(settings)
            finally:
                searches.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
