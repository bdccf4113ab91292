"""From one import command for each kind of dump to a panel on the page, on real servers. The first import is killed
once on its way."""

import asyncio
import bz2
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import orjson
import pytest

from streams.gateway.app import create_app
from streams.settings import Settings, TritonSettings
from streams.stores.opener import open_stores

pytestmark = [pytest.mark.integration("kafka", "cassandra", "qdrant"), pytest.mark.timeout(900)]

LABELS = 3_000
"""Number of items that are only names, so that there is time to kill the import."""
WAIT_SECONDS = 200
SUMMARY = "Zubrowka Observatory is an observatory that looks at the northern sky."
ARTICLES = f"""<mediawiki>
<page><title>Zubrowka Observatory</title><ns>0</ns><id>1</id><revision><text>{{{{Infobox|sky=northern}}}}
'''{SUMMARY.replace(" is", "''' is", 1)}&lt;ref&gt;A book&lt;/ref&gt;
== History ==
It is old.</text></revision></page>
<page><title>Zubrowka Hill</title><ns>0</ns><id>2</id><redirect title="Zubrowka Observatory"/></page>
</mediawiki>
"""
"""A dump of a Wikipedia: the article that the item names, and a redirect to it."""


def text(words: str) -> dict[str, object]:
    return {"en": {"language": "en", "value": words}}


def items() -> Iterator[dict[str, object]]:
    year = {"type": "time", "value": {"time": "+1901-00-00T00:00:00Z", "precision": 9}}
    place = {"type": "wikibase-entityid", "value": {"id": "Q8000001"}}
    claims = {
        one: [{"mainsnak": {"datavalue": value}, "rank": "normal"}] for one, value in (("P571", year), ("P17", place))
    }
    for number in range(LABELS):
        yield {"id": f"Q{9_000_000 + number}", "type": "item", "labels": text(f"Name {number}")}
    yield {"id": "Q8000001", "type": "item", "labels": text("Freedonia"), "descriptions": text("country")}
    yield {
        "id": "Q8000002",
        "type": "item",
        "labels": text("Zubrowka Observatory"),
        "descriptions": text("observatory on a hill"),
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "Zubrowka Observatory"}},
    }


@pytest.fixture
def environment(stack: Settings, tmp_path: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RIFFLE_")},
        "RIFFLE_HOME": str(tmp_path),
        "RIFFLE_KAFKA__BOOTSTRAP": stack.kafka.bootstrap,
        "RIFFLE_CASSANDRA__HOSTS": json.dumps(stack.cassandra.hosts),
        "RIFFLE_CASSANDRA__PORT": str(stack.cassandra.port),
        "RIFFLE_CASSANDRA__KEYSPACE": stack.cassandra.keyspace,
        "RIFFLE_QDRANT__URL": stack.qdrant.url,
        "RIFFLE_TRITON__URL": "inprocess:",
        "RIFFLE_RUNTIME__HEALTH_PORT": "0",
    }


def riffle(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "from streams.cli import main; main()", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


async def run(environment: dict[str, str], *arguments: str) -> None:
    """Run a command until it has ended without a failure."""
    process = riffle(environment, *arguments)
    printed = (await asyncio.to_thread(process.communicate))[0].decode()
    assert process.returncode == 0, printed


async def test_from_an_import_command_to_a_panel_on_the_page(
    stack: Settings, environment: dict[str, str], tmp_path: Path
) -> None:
    dump = tmp_path / "dump.json.bz2"
    dump.write_bytes(bz2.compress(b"[\n" + b",\n".join(map(orjson.dumps, items())) + b"\n]\n"))
    articles = tmp_path / "articles.xml.bz2"
    articles.write_bytes(bz2.compress(ARTICLES.encode()))
    worker = riffle(environment, "worker", "knowledge")
    try:
        killed = riffle(environment, "import", str(dump))
        notes = tmp_path / "imports" / "wikidata-en.json"
        while not notes.exists() and killed.poll() is None:
            await asyncio.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        await run(environment, "import", str(dump))
        await run(environment, "import", str(articles))
        assert await shown(stack, "zubrowka hill")
    finally:
        worker.terminate()
        worker.communicate()


async def shown(stack: Settings, query: str) -> bool:
    """Ask a gateway over these stores until its page has the panel with what both dumps say."""
    patient = stack.gateway.model_copy(update={"deadline_seconds": 30, "spelling": False})
    settings = stack.model_copy(update={"triton": TritonSettings(url="inprocess:"), "gateway": patient})
    async with open_stores(settings, ["records", "vectors", "models"]) as stores:
        app = create_app(settings, stores, publish=None, clock=lambda: datetime.now(UTC))
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as web:
            for _ in range(WAIT_SECONDS):
                await asyncio.sleep(1)
                panel = (await web.get("/api/v1/entities", params={"q": query})).json().get("panel")
                facts = panel["facts"] if panel else []
                if facts and facts[-1]["values"][0]["text"] == "Freedonia" and panel.get("summary"):
                    break
            await web.get("/search", params={"q": query})
            await asyncio.sleep(0.5)
            page = (await web.get("/search", params={"q": query}, headers={"accept": "text/html"})).text
        await app.state.gateway.close()
    assert "observatory on a hill" in page, page[-2_000:]
    assert SUMMARY in page, page[-2_000:]
    assert '<aside class="panel' in page
    return ">1901</time>" in page and "Freedonia" in page
