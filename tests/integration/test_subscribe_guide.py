"""The guide for subscribers does what it says: its code, run as it stands, follows pages.indexed."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from docs.generate import GENERATED, ROOT
from schemas import PageIndexed
from streams.runtime.producer import EventProducer
from streams.runtime.topic_reader import read_topic
from streams.settings import Settings

pytestmark = pytest.mark.integration("kafka")


async def test_the_guides_code_follows_pages_as_they_become_searchable(
    stack: Settings, fresh_name: str, tmp_path: Path
) -> None:
    guide = (ROOT / "docs" / "guide" / "subscribe.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "follow.py").write_text(code)
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
        [sys.executable, "follow.py"],
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
