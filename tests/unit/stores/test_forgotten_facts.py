"""Who stores a fact and forgets to give it is told by mypy, not by a search that finds nothing."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WHOLE = """
from uuid import UUID
from streams.stores.statement_payload import StatementPayload

payload = StatementPayload(
    page_id=UUID(int=1),
    url="",
    host="",
    sites=(),
    title="",
    text="",
    context=(),
    language="",
    published="",
    ordinal=0,
    kind="",
    generation=0,
)
"""


def errors(folder: Path, *sources: str) -> list[list[str]]:
    """The errors that mypy finds in each of these modules."""
    paths = [folder / f"module_{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-pretty", *map(str, paths)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert found.returncode in (0, 1), found.stdout + found.stderr
    return [re.findall(rf"{path.name}:\d+: error: (.+)", found.stdout) for path in paths]


def without(fact: str) -> str:
    return re.sub(rf"^    {fact}=.+\n", "", WHOLE, flags=re.MULTILINE)


def test_a_forgotten_fact_of_a_statement_is_a_type_error(tmp_path: Path) -> None:
    facts = re.findall(r"^    (\w+)=", WHOLE, flags=re.MULTILINE)
    assert errors(tmp_path, WHOLE, *map(without, facts)) == [
        [],
        *([f'Missing named argument "{fact}" for "StatementPayload"  [call-arg]'] for fact in facts),
    ]


def test_a_misspelled_fact_of_a_statement_is_a_type_error(tmp_path: Path) -> None:
    (found,) = errors(tmp_path, f"{WHOLE}found = payload.genration\n")
    assert [error for error in found if '"StatementPayload" has no attribute "genration"' in error]
