"""Measures look-ups in a SimHash index in memory, compared with brute force, and the time to make fingerprints.

    python -m benchmarks simhash

The index is a model of the tables, without a server: the pipeline itself looks SimHashes up in Cassandra. Half of the
queries are stored SimHashes with up to three bits flipped, the other half are random. Brute force is numpy on the same
core: one XOR and popcount over all SimHashes per query. The result says whether both found the same.
"""

import json
import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.dedup.simhash_index import Simhashes, SimHashIndex, popcount
from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.dedup.fingerprinting import fingerprint
from streams.errors import UsageError
from streams.sketches.simhash import DEFAULT_TABLES, MAX_DISTANCE, TABLE_COUNTS, tables

FINGERPRINTS = 1_000_000
QUERIES = 100_000
BRUTE_FORCE_QUERIES = 50
SINGLE_QUERIES = 20_000
PAGE_WORDS = 1_000
SEED = 1


@command
def run(
    fingerprints: Annotated[int, typer.Option(min=1_000, help="Number of fingerprints in the index.")] = 1_000_000,
    tables: Annotated[int, typer.Option(help="4, 10 or 20 tables.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Measure look-ups and memory of a SimHash index in memory, and the time to make fingerprints.

    Example:  python -m benchmarks simhash --fingerprints 1000000
    """
    if tables not in TABLE_COUNTS:
        raise UsageError(f"{tables} tables: a SimHash index has {', '.join(map(str, TABLE_COUNTS))} tables")
    print_figures("SimHash index", measure(fingerprints=fingerprints, table_count=tables), as_json)


def measure(
    fingerprints: int = FINGERPRINTS, queries: int = QUERIES, table_count: int = DEFAULT_TABLES, repeats: int = 3
) -> dict[str, Any]:
    """All figures, on one core. A million fingerprints take some ten seconds and 300 MB."""
    chance = np.random.default_rng(SEED)
    simhashes = chance.integers(0, 2**64, fingerprints, dtype=np.uint64)
    asked = _queries(simhashes, queries, chance)
    index = SimHashIndex(table_count)
    build_seconds = _seconds(lambda: index.add(simhashes))
    batch_seconds = min(_seconds(lambda: index.near_many(asked)) for _ in range(repeats))
    singly = asked[:SINGLE_QUERIES].tolist()
    single_seconds = min(_seconds(lambda: [index.near(query) for query in singly]) for _ in range(repeats))
    expected: list[tuple[int, int]] = []
    brute_seconds = _seconds(lambda: expected.extend(_brute_force(simhashes, asked[:BRUTE_FORCE_QUERIES])))
    found = index.near_many(asked[:BRUTE_FORCE_QUERIES])
    return {
        "machine": machine(),
        "fingerprints": fingerprints,
        "tables": table_count,
        "distance": MAX_DISTANCE,
        "lookups_per_second": round(queries / batch_seconds),
        "lookups_per_second_one_by_one": round(len(singly) / single_seconds),
        "brute_force_lookups_per_second": round(BRUTE_FORCE_QUERIES / brute_seconds, 1),
        "same_as_brute_force": list(zip(found.queries.tolist(), found.rows.tolist(), strict=True)) == expected,
        "bytes_per_fingerprint": round(index.bytes_used / fingerprints, 1),
        "candidates_per_lookup": round(candidates(fingerprints, table_count), 2),
        "build_seconds": round(build_seconds, 2),
        "fingerprint_ms_per_1000_words": _fingerprint_ms(),
    }


def candidates(fingerprints: int, table_count: int) -> float:
    """Expected number of stored SimHashes that a look-up compares, if they are spread evenly."""
    return sum(fingerprints / (1 << table.key_bits) for table in tables(table_count))


def _queries(simhashes: Simhashes, count: int, chance: np.random.Generator) -> Simhashes:
    near = simhashes[chance.integers(0, len(simhashes), count // 2)].copy()
    for _ in range(MAX_DISTANCE):
        near ^= np.uint64(1) << chance.integers(0, 64, len(near), dtype=np.uint64)
    both = np.concatenate([near, chance.integers(0, 2**64, count - len(near), dtype=np.uint64)])
    return chance.permutation(both)


def _brute_force(simhashes: Simhashes, queries: Simhashes) -> list[tuple[int, int]]:
    return [
        (number, row)
        for number, query in enumerate(queries)
        for row in np.flatnonzero(popcount(simhashes ^ query) <= MAX_DISTANCE).tolist()
    ]


def _fingerprint_ms(repeats: int = 50) -> float:
    """Milliseconds for a text of a thousand words, the best of several runs."""
    chance = np.random.default_rng(SEED)
    text = " ".join(f"word{number}" for number in chance.zipf(1.3, PAGE_WORDS) % 20_000)
    fingerprint(text)
    return round(min(_seconds(lambda: fingerprint(text)) for _ in range(repeats)) * 1_000, 3)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
