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
from streams.settings import Settings

pytestmark = pytest.mark.integration("kafka")
GUIDE = (ROOT / "docs" / "guide" / "subscribe.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)[0]
(GO,) = re.findall(r"```go\n(.*?)```", GUIDE, re.DOTALL)
GO_PROGRAM = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
MAX_LINES = 30
START_SECONDS = 240.0


def python_program(folder: Path) -> list[str]:
    (folder / "follow.py").write_text(PYTHON)
    return [sys.executable, "follow.py"]


def go_program(folder: Path) -> list[str]:
    """Build the program with the modules that `make subscribers` has fetched and compiled."""
    if GO_PROGRAM is None or not (ROOT / ".tools" / "subscribers" / ".go").exists():
        pytest.skip("the modules of the client in Go are not here: make subscribers (needs Go)")
    assert len(GO.splitlines()) <= MAX_LINES
    (folder / "main.go").write_text(GO)
    for name in ("go.mod", "go.sum"):
        shutil.copy(ROOT / "tests" / "subscribers" / name, folder)
    subprocess.run([GO_PROGRAM, "build", "-o", "follow", "."], cwd=folder, check=True, timeout=240)
    return [str(folder / "follow")]


@pytest.mark.parametrize("program", [python_program, go_program], ids=["python", "go"])
async def test_the_guides_code_follows_pages_as_they_become_searchable(
    only_kafka: Settings, fresh_name: str, tmp_path: Path, program: Callable[[Path], list[str]]
) -> None:
    command = await asyncio.to_thread(program, tmp_path)
    first = PageIndexed(
        page_id=uuid4(), url=f"https://{fresh_name}.test/", generation=1, statements=7,
        model="m", model_version="1", collection="c",
    )  # fmt: skip
    last = first.model_copy(update={"statements": 9})
    async with EventProducer(only_kafka, "test") as producer:
        await producer(first, cause="one")
        await producer(first, cause="one")  # the same event twice, as after a crash
        await producer(last, cause="two")  # of the same page, so it comes after both
    environment = {
        **os.environ,
        "KAFKA": only_kafka.kafka.bootstrap,
        "SCHEMA": str(GENERATED / "pages.indexed.schema.json"),
        "GROUP": fresh_name,
    }
    process = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE
    )
    found: list[str] = []
    try:
        async with asyncio.timeout(START_SECONDS):
            while not (found and found[-1].endswith("9 statements")):
                line = (await process.stdout.readline()).decode()  # type: ignore[union-attr]  # it is a pipe
                assert line, "the program ended before it was stopped"
                found += [line.strip()] if first.url in line else []
        process.terminate()
        assert await process.wait() == 0, "SIGTERM ends it in order"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert [line.partition(" ")[2] for line in found] == [f"{first.url} 7 statements", f"{first.url} 9 statements"]
