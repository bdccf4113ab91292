"""Who stores a fact and forgets to give it is told by mypy, not by a search that finds nothing."""

import re
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

from streams.stores.page_record import PART_TYPES

ROOT = Path(__file__).parents[2]
FACTS = {
    "StatementPayload": (
        "page_id", "url", "host", "sites", "title", "text", "context", "language", "published", "page_type",
        "ordinal", "kind", "generation",
    ),
    **{
        part.__name__: tuple(
            field.name for field in fields(part) if field.default is MISSING and field.default_factory is MISSING
        )
        for part in PART_TYPES.values()
    },
}  # fmt: skip
HEAD = """
from typing import Any
from streams.stores.page_record import *
from streams.stores.statement_payload import StatementPayload

def make(x: Any) -> None:
"""


def making(name: str, facts: tuple[str, ...]) -> str:
    return f"    {name}({', '.join(f'{fact}=x' for fact in facts)})\n"


def errors(folder: Path, source: str) -> list[str]:
    """The errors that mypy finds in this module."""
    path = folder / "module.py"
    path.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-pretty", str(path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert found.returncode in (0, 1), found.stdout + found.stderr
    return re.findall(r"module.py:\d+: error: (.+)", found.stdout)


READS = """
def read(record: PageRecord, payload: StatementPayload) -> None:
    record.indexed.genration
    record.indxed
    payload.genration
"""


def test_a_forgotten_or_misspelled_fact_is_a_type_error(tmp_path: Path) -> None:
    whole = [making(name, facts) for name, facts in FACTS.items()]
    short = {
        (name, fact): making(name, tuple(other for other in facts if other != fact))
        for name, facts in FACTS.items()
        for fact in facts
    }
    assert len(short) > 60
    found = errors(tmp_path, HEAD + "".join([*whole, *short.values()]) + READS)
    assert [re.sub(r"; maybe .*|  \[.*", "", error) for error in found] == [
        *(f'Missing named argument "{fact}" for "{name}"' for name, fact in short),
        '"Indexed" has no attribute "genration"',
        '"PageRecord" has no attribute "indxed"',
        '"StatementPayload" has no attribute "genration"',
    ]
