"""The AsyncAPI document is read by the official parser, as strangers read it. `make subscribers` sets the parser up."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docs.generate import GENERATED, asyncapi, json_schema
from schemas import EVENTS
from schemas.envelope import Envelope

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / ".tools" / "subscribers"
needs_parser = pytest.mark.skipif(
    not (TOOLS / ".parser").exists() or shutil.which("node") is None,
    reason="the AsyncAPI parser is not here: make subscribers (needs node and npm)",
)
NEWER_THAN_DRAFT_7 = {
    "$defs",
    "prefixItems",
    "unevaluatedProperties",
    "dependentRequired",
    "$dynamicRef",
    "minContains",
}


def read(path: Path) -> dict[str, Any]:
    command = ["node", str(ROOT / "tests/subscribers/parse_asyncapi.js"), str(TOOLS), str(path)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found: dict[str, Any] = json.loads(output)
    return found


@needs_parser
def test_the_official_parser_reads_the_document() -> None:
    found = read(GENERATED / "asyncapi.json")
    assert found["errors"] == []
    assert found["channels"] == len(EVENTS)
    assert found["operations"] > len(EVENTS)
    assert found["servers"] == 2


@needs_parser
def test_a_reference_to_nothing_is_found(tmp_path: Path) -> None:
    broken = (GENERATED / "asyncapi.json").read_text().replace("#/components/schemas/MoreLink", "#/$defs/MoreLink")
    (tmp_path / "broken.json").write_text(broken)
    assert any("MoreLink" in error for error in read(tmp_path / "broken.json")["errors"])


def test_the_schemas_of_the_document_have_no_words_of_newer_drafts() -> None:
    def words(node: Any) -> set[str]:
        if isinstance(node, dict):
            return {*node, *(word for value in node.values() for word in words(value))}
        return {word for each in node for word in words(each)} if isinstance(node, list) else set()

    assert not words(asyncapi()) & NEWER_THAN_DRAFT_7


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.topic)
def test_an_event_names_its_schema(event: Any) -> None:
    envelope = Envelope(
        id="6e1a3e2c-4d1e-5d0f-8c7a-000000000001",
        type=event.event_type(),
        source="/riffle/x",
        time="2026-01-01T00:00:00Z",
    )
    assert dict(envelope.to_headers())["ce_dataschema"] == json_schema(event)["$id"].encode()
