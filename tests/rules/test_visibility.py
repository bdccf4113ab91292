"""Who answers clients reads pages for a reader: only stages, operators and the stores themselves read all of them.

The packages that answer clients get `SeenStores`, not `Stores` (a rule of imports in pyproject.toml), and each read of
pages of a `SeenStores` takes what its reader may see. So a read without a reader fails here, or at the type check.
"""

import ast
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

from streams.seen.stores import SeenStores, SeenSuggestions
from streams.stores import protocols
from streams.stores.protocols import Visible

ROOT = Path(__file__).parents[2]
ANSWERING = ("gateway", "search", "answers", "knowledge", "queries")
"""The packages that answer clients, or make what clients are answered."""
SEES_ALL = {"gateway/app.py": "the operators' port", "gateway/access/guard.py": "no site is private"}
"""The modules of these packages that read for somebody who sees all pages, with the reason."""
STAGES = ("knowledge/agent.py", "knowledge/reindexing.py", "knowledge/dumps/", "queries/")
"""Stages and jobs within these packages. They answer nobody."""
OF_NO_PAGE = {
    "nearest_entities", "entity_vectors", "compare_searches", "host_ranks",
    "examination", "clicks_of", "probe", "parts",
}  # fmt: skip
"""The reads that need no reader: of models, entities and notes of builds, and what is made of pages for everybody."""
HANDED_ON = {"embedder", "entity_embedder", "chains", "reranker", "notes", "api_keys", "suggestions", "entities"}
"""The stores that a `SeenStores` hands on: they hold no page, and the reads of suggestions take their reader, too."""


def modules(*packages: str) -> Iterator[tuple[str, str]]:
    """Yield the place below `streams` and the text of each module of these packages."""
    for package in packages:
        for path in sorted((ROOT / "streams" / package).rglob("*.py")):
            yield path.relative_to(ROOT / "streams").as_posix(), path.read_text(encoding="utf-8")


def test_nothing_that_answers_clients_reads_every_audience() -> None:
    readers = {place for place, text in modules(*ANSWERING) if "EVERYTHING" in text or "is_all=" in text}
    assert readers == set(SEES_ALL)


def test_each_read_of_pages_takes_its_reader() -> None:
    reads = {
        name: member
        for kind in (SeenStores, SeenSuggestions)
        for name, member in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    without = {
        name
        for name, member in reads.items()
        if get_type_hints(member).get("visible") is not Visible
        or inspect.signature(member).parameters["visible"].default is not inspect.Parameter.empty
    }
    assert without == OF_NO_PAGE, "take `visible: Visible` without a default, or name the read as one of no page"
    assert len(reads) - len(without) >= 10


def test_no_store_of_pages_is_handed_on() -> None:
    found = {name for name, member in vars(SeenStores).items() if not name.startswith("_") and not callable(member)}
    assert found == HANDED_ON


def test_who_answers_clients_knows_no_store_of_pages() -> None:
    """Not even its type: a module that gets one as an argument reads it for nobody in particular."""
    handed_on = {"Notes", "ApiKeys", "Entities"}
    stores = {name for name, one in vars(protocols).items() if getattr(one, "_is_protocol", False)} - handed_on
    assert {"Pages", "Blobs", "Ledger", "Fingerprints", "VectorIndex", "HostLinks", "FrontierStore"} <= stores
    found = [
        f"{place}: {alias.name}"
        for place, text in modules(*ANSWERING)
        if not place.startswith(STAGES)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in stores
    ]
    assert not found


def test_the_rule_of_imports_holds_for_all_of_these_packages() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (rule,) = [one for one in rules if "streams.stores.opener" in one.get("forbidden_modules", ())]
    named = {module.removeprefix("streams.").partition(".")[0] for module in rule["source_modules"]}
    assert named == set(ANSWERING) - {"queries"}
    below = {f"streams.stores.{path.stem}" for path in (ROOT / "streams/stores").iterdir() if path.is_dir()}
    assert below - {"streams.stores.protocols", "streams.stores.__pycache__"} <= set(rule["forbidden_modules"])
