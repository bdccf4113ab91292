"""Measurements that ask the same queries several times, and go on where they were stopped."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.evaluation.search import Options, Run, open_run
from benchmarks.search.known_items import report
from streams.settings import Settings


async def open_repeated_run(stack: AsyncExitStack, settings: Settings, options: Options) -> Run:
    """Return a run whose searches find the vectors of their queries among the kept ones, too."""
    opened = await open_run(stack, settings, options, report)
    return replace(opened, models=replace(opened.models, embedder=opened.embedder))


def read_kept(rows: Path) -> list[Mapping[str, Any]]:
    """Return the rows of the collections that were measured before."""
    return [json.loads(line) for line in rows.read_text("utf-8").splitlines()] if rows.is_file() else []


def add_kept(rows: Path, row: Mapping[str, Any]) -> None:
    """Add the row of a collection to the file."""
    with rows.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
