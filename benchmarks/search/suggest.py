"""Suggestions: look-ups in a million distinct queries beside a trie of another library, and the gateway over HTTP.

    python -m benchmarks suggest WORDS.txt --queries 1000000 --seconds 15

Queries are one to four words of the file (a word a line, anything behind a tab is left out), drawn by Zipf's law, each
with a weight of a heavy-tailed distribution. Beginnings of queries are typed, drawn by the weights of the queries, so
popular prefixes come often, and one in ten has a mistake.

The trie is marisa-trie's, the plain one: the keys with a prefix are found by it, and the heaviest ten are picked by
their weights. A prefix with more than MAX_TRIE_KEYS keys is not asked of it: it lists all of them.

Over HTTP, the gateway runs in this process and the client in another. The rate is given, so the time of an answer
includes the wait in the queue. A core's rate is requests per second of the gateway's CPU time: other work on the
machine changes the latencies, but this hardly.
"""

import asyncio
import heapq
import random
import resource
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import marisa_trie
import typer
import uvicorn

from benchmarks.machine import machine, percentile
from streams.commands.console import AsJson, command, print_figures
from streams.gateway.app import create_app
from streams.gateway.serve import listen, server_config
from streams.queries.suggestions.index import MAX_SHOWN, Suggestion
from streams.queries.suggestions.normal_form import key_of
from streams.queries.suggestions.suggester import Suggester
from streams.resources import exempt_loaded_objects
from streams.settings import GatewaySettings, Settings
from streams.stores.opener import memory_stores

MAX_TRIE_KEYS = 100_000
MISTAKES = 0.1
"""Share of prefixes with a mistake."""
TARGETS = {"requests a second and core": 3_000, "p99 ms": 5.0}


@command
async def run(
    words: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A file with a word a line.")],
    queries: Annotated[int, typer.Option(min=1_000, help="Number of distinct queries.")] = 1_000_000,
    look_ups: Annotated[int, typer.Option(min=100, help="Number of prefixes that are looked up.")] = 20_000,
    rate: Annotated[float, typer.Option(min=1, help="Requests a second over HTTP.")] = 3_000,
    seconds: Annotated[float, typer.Option(min=1, help="Duration of the requests over HTTP.")] = 15,
    as_json: AsJson = False,
) -> int:
    """Measure suggestions in memory, beside a trie of another library, and over HTTP.

    Example:  python -m benchmarks suggest count_1w.txt --rate 1000
    """
    print_figures("suggestions", await measure(words, queries, look_ups, rate, seconds), as_json)
    return 0


async def measure(words: Path, queries: int, look_ups: int, rate: float, seconds: float) -> dict[str, Any]:
    """Measure, and return the figures."""
    conditions = machine()
    lines = await asyncio.to_thread(words.read_text)
    chance = random.Random(7)  # no secret
    known = make_queries(lines.split("\n"), queries, chance)
    typed = make_prefixes(known, look_ups, chance)
    memory, started = _memory_mb(), time.process_time()
    suggester = Suggester(Suggestion(text, weight, "en") for text, weight in known.items())
    built = {"build_seconds": time.process_time() - started, "memory_mb": _memory_mb() - memory}
    own = time_look_ups(lambda prefix: suggester.suggest(prefix), typed)
    trie = beside_a_trie(known, typed)
    served = await over_http(known, typed, rate, seconds)
    return {
        "machine": conditions,
        "queries": len(known),
        "riffle": {**built, **own},
        "marisa-trie": trie,
        "http": served,
    }


def make_queries(lines: Sequence[str], count: int, chance: random.Random) -> dict[str, float]:
    """Return distinct queries with their weights."""
    words = [word for line in lines if (word := line.partition("\t")[0].strip())]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    found: dict[str, float] = {}
    while len(found) < count:
        drawn = chance.choices(words, weights, k=4 * 10_000)
        for start in range(0, len(drawn), 4):
            text = " ".join(drawn[start : start + chance.randint(1, 4)])
            found.setdefault(text, round(chance.paretovariate(0.9), 3))
            if len(found) == count:
                break
    return found


def make_prefixes(queries: dict[str, float], count: int, chance: random.Random) -> list[str]:
    """Return beginnings of queries, of 1 to 20 letters, as people type them."""
    drawn = chance.choices(list(queries), list(queries.values()), k=count)
    return [_mistyped(text[: chance.randint(1, 20)], chance) for text in drawn]


def _mistyped(prefix: str, chance: random.Random) -> str:
    if len(prefix) < 4 or chance.random() >= MISTAKES:
        return prefix
    place = chance.randint(1, len(prefix) - 2)
    return prefix[:place] + prefix[place + 1] + prefix[place] + prefix[place + 2 :]


def time_look_ups(look_up: Any, typed: Sequence[str]) -> dict[str, float]:
    """Return the mean and the percentiles of the time of a look-up (microseconds of CPU time)."""
    times = []
    for prefix in typed:
        before = time.thread_time()
        look_up(prefix)
        times.append(1e6 * (time.thread_time() - before))
    mean = sum(times) / len(times)
    return {"mean_us": mean, "p50_us": percentile(times, 0.5), "p99_us": percentile(times, 0.99)}


def beside_a_trie(queries: dict[str, float], typed: Sequence[str]) -> dict[str, Any]:
    """Return the same figures of marisa-trie. It forgives no mistake."""
    memory, started = _memory_mb(), time.process_time()
    trie = marisa_trie.Trie(map(key_of, queries))
    weights = {trie[key_of(text)]: weight for text, weight in queries.items()}
    built = {"build_seconds": time.process_time() - started, "memory_mb": _memory_mb() - memory}

    def look_up(prefix: str) -> list[str]:
        return heapq.nlargest(MAX_SHOWN, trie.iterkeys(prefix), key=lambda key: weights[trie[key]])

    narrow = [prefix for prefix in typed if _has_few(trie, prefix)]
    return {**built, **time_look_ups(look_up, narrow), "share_of_prefixes": len(narrow) / len(typed)}


def _has_few(trie: Any, prefix: str) -> bool:
    """Return True if not too many keys have the prefix."""
    return len(prefix) > 3 or sum(1 for _ in islice(trie.iterkeys(prefix), MAX_TRIE_KEYS)) < MAX_TRIE_KEYS


async def over_http(queries: dict[str, float], typed: Sequence[str], rate: float, seconds: float) -> dict[str, float]:
    """Ask the gateway at a rate, from another process."""
    settings = Settings(gateway=GatewaySettings(port=0))
    app = create_app(settings, memory_stores(), publish=None, clock=_now)
    app.state.gateway.suggest.use(Suggestion(text, weight, "en") for text, weight in queries.items())
    exempt_loaded_objects()  # as `riffle gateway` does before it listens
    listening = listen(settings.gateway)
    server = uvicorn.Server(server_config(app, settings.gateway))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    client = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.search.suggest_client",
        str(listening.getsockname()[1]),
        str(rate),
        str(seconds),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    before = time.process_time()
    printed, _ = await client.communicate("\n".join(typed[:20_000]).encode())
    used = time.process_time() - before
    server.should_exit = True
    await serving
    await app.state.gateway.close()
    count, p50, p99 = (float(part) for part in printed.split())
    return {
        "asked_a_second": rate,
        "requests": count,
        "cpu_us_a_request": 1e6 * used / count,
        "requests_a_second_and_core": count / used,
        "p50_ms": p50,
        "p99_ms": p99,
    }


def _now() -> datetime:
    return datetime.now(UTC)


def _memory_mb() -> float:
    """Return the memory of this process (MB)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6
