"""Dependencies point one way: schemas <- pure modules <- agents and gateway. Only one place knows Faust."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JOURNEY = ("crawl", "pages", "dedup", "statements", "vectors", "links", "knowledge", "queries")
CLIENTS = {"faust", "aiokafka", "confluent_kafka", "cassandra", "qdrant_client", "tritonclient", "aiohttp", "httpx"}
IMPURE = {
    "os",
    "random",
    "socket",
    "subprocess",
    "time",
    "asyncio",
    "threading",
    "multiprocessing",
    "requests",
    "urllib.request",
}

AGENTS = {"agent", "embed_agent", "index_agent"}
"""Names of the modules that hold a stage's agent."""

# Modules of the journey that do IO, each with its reason. All others are pure: bytes and values in, values out.
DOORS: dict[str, str] = {
    "streams/vectors/batching.py": "batches at the model wait for each other",
    "streams/crawl/fetch/http.py": "the one HTTP request of a fetch",
    "streams/crawl/fetch/connection.py": "limits what a server may send on a connection",
    "streams/crawl/fetch/guard.py": "checks the addresses that sockets really connect to",
    "streams/crawl/fetch/resolver.py": "looks names up in DNS",
    "streams/crawl/fetch/thread.py": "the thread that makes the requests",
    "streams/crawl/archives/importer.py": "reads archives from disk",
    "streams/crawl/frontier/hosts.py": "live hosts, each behind a lock, loaded from the store",
    "streams/crawl/frontier/crawl_marks.py": "writes that come during a write go together with the next one",
    "streams/crawl/frontier/robots_cache.py": "robots rules, read from blobs once and shared by those who wait",
    "streams/crawl/frontier/dispatcher.py": "the frontier's loop: waits until a host is due",
    "streams/crawl/frontier/url_writer.py": "writes the rows of a URL side by side",
    "streams/pages/evaluation.py": "measures the time of other extractors in the same run",
}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Absolute names of all modules that a file imports, anywhere in it, but for type checking only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def uses(path: Path, packages: set[str]) -> set[str]:
    return {p for p in packages for name in imports(path) if name == p or name.startswith(p + ".")}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules("schemas"), ids=relative)
def test_schemas_import_nothing_of_streams(path: Path) -> None:
    assert not uses(path, {"streams"})


@pytest.mark.parametrize("path", modules("streams"), ids=relative)
def test_only_the_runtime_knows_faust(path: Path) -> None:
    if path.parent.name != "runtime":
        assert not uses(path, {"faust", "mode"}), "wire it in streams/runtime"


DRIVERS = {"cassandra", "qdrant_client", "tritonclient"}


@pytest.mark.parametrize("path", modules("streams"), ids=relative)
def test_only_the_stores_know_the_drivers(path: Path) -> None:
    if not relative(path).startswith(("streams/stores/", "streams/models/")):
        assert not uses(path, DRIVERS), "reach it through a Protocol of streams/stores/protocols"


@pytest.mark.parametrize("path", modules("streams/stores"), ids=relative)
def test_stores_know_no_stage(path: Path) -> None:
    assert not uses(path, {f"streams.{name}" for name in JOURNEY} | {"streams.gateway", "streams.runtime"})


@pytest.mark.parametrize("path", [p for f in JOURNEY for p in modules(f"streams/{f}")], ids=relative)
def test_the_journey_reaches_its_stores_through_protocols(path: Path) -> None:
    assert not uses(path, {"streams.gateway", "streams.commands", "streams.local"})
    allowed = {"streams.runtime.agent"}
    runtime = {name for name in imports(path) if name.startswith("streams.runtime.")}
    assert all(any(name.startswith(a) for a in allowed) for name in runtime), runtime
    if relative(path) not in DOORS and path.stem not in AGENTS:
        assert not uses(path, CLIENTS | IMPURE), "a pure module; what it needs of the world is an argument"


PAGES_INTERFACE = {"streams.pages.document", "streams.pages.text"}
"""The packages of `streams/pages` that others import: documents, and the rules for their texts."""
PAGES_EXCEPTIONS: dict[str, str] = {
    "streams/gateway/labs/explainer.py": "shows what normalizing removes, in a parsing process",
    "streams/gateway/labs/view.py": "shows the explanation and the original of a page",
    "streams/commands/pages/page.py": "shows the same on the command line",
    "streams/commands/measure/evaluate.py": "measures the normalizer",
}


def imports_of_pages(path: Path) -> set[str]:
    names = {name for name in imports(path) if name.startswith("streams.pages.")}
    return {".".join(name.split(".")[:3]) for name in names}


@pytest.mark.parametrize("path", modules("streams"), ids=relative)
def test_other_packages_know_documents_and_texts_alone(path: Path) -> None:
    if not relative(path).startswith("streams/pages/") and relative(path) not in PAGES_EXCEPTIONS:
        assert imports_of_pages(path) <= PAGES_INTERFACE


@pytest.mark.parametrize("path", [*modules("streams/pages/document"), *modules("streams/pages/text")], ids=relative)
def test_documents_and_texts_know_nothing_of_html_pages(path: Path) -> None:
    assert imports_of_pages(path) <= PAGES_INTERFACE


def test_every_door_is_still_there() -> None:
    gone = [name for name in (*DOORS, *PAGES_EXCEPTIONS) if not (ROOT / name).exists()]
    assert not gone, "remove it from the table"
