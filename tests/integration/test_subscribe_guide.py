"""The guide for subscribers does what it says: its code, run as it stands, follows pages.indexed."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from docs.generate import GENERATED, ROOT
from schemas import PageIndexed
from streams.runtime.producer import EventProducer
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings

pytestmark = pytest.mark.integration("kafka")
GUIDE = (ROOT / "docs" / "guide" / "subscribe.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0]
(GO,) = re.findall(r"```go\n(.*?)```", GUIDE, re.DOTALL)
GO_PROGRAM = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
MAX_LINES = 30


def python_program(folder: Path) -> list[str]:
    (folder / "follow.py").write_text(PYTHON)
    return [sys.executable, "follow.py"]


def go_program(folder: Path) -> list[str]:
    """Build the program with the modules that `make subscribers` has fetched and compiled."""
    if GO_PROGRAM is None or not (ROOT / ".tools" / "subscribers" / ".ready").exists():
        pytest.skip("the modules of the client in Go are not here: make subscribers (needs Go)")
    assert len(GO.splitlines()) <= MAX_LINES
    (folder / "main.go").write_text(GO)
    for name in ("go.mod", "go.sum"):
        shutil.copy(ROOT / "tests" / "subscribers" / name, folder)
    subprocess.run([GO_PROGRAM, "build", "-o", "follow", "."], cwd=folder, check=True, timeout=240)
    return [str(folder / "follow")]


@pytest.mark.parametrize("program", [python_program, go_program], ids=["python", "go"])
async def test_the_guides_code_follows_pages_as_they_become_searchable(
    stack: Settings, fresh_name: str, tmp_path: Path, program: Callable[[Path], list[str]]
) -> None:
    command = await asyncio.to_thread(program, tmp_path)
    page = PageIndexed(
        page_id=uuid4(), url=f"https://{fresh_name}.test/", generation=1, statements=7,
        model="m", model_version="1", collection="c",
    )  # fmt: skip
    async with EventProducer(stack, "test") as producer:
        await producer(page, cause="one")
        await producer(page, cause="one")
        await producer(page, cause="two")
    there = {dict(record.headers)["ce_id"] for record in read_topic(stack, PageIndexed.topic)}
    environment = {
        **os.environ,
        "KAFKA": stack.kafka.bootstrap,
        "SCHEMA": str(GENERATED / "pages.indexed.schema.json"),
        "GROUP": fresh_name,
        "COUNT": str(len(there)),
    }
    found = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
    lines = [line for line in found.stdout.splitlines() if page.url in line]
    assert len(lines) == 2, f"the same event twice is one: {found.stdout}"
    assert all(line.endswith("7 statements") for line in lines)
