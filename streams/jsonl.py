"""Reads files with a JSON object on each line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.errors import UsageError


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the content of each line that is not blank. Raises UsageError."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read as JSONL: {error}") from error
