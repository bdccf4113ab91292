"""Redocly and Spectral, with the rules that they recommend, find nothing wrong in the OpenAPI document.

Here they read a document with a known mistake, too: else a linter that reads nothing would pass.
"""

import json
from pathlib import Path

import pytest

from tests.clients import DOCUMENT, NODE_PROGRAMS, needs_tools, run

pytestmark = needs_tools
LINTERS = {
    "redocly": ["lint", "openapi.json", "--format=summary"],
    "spectral": ["lint", "-r", "rules.yaml", "--fail-severity=warn", "openapi.json"],
}


def lint(linter: str, document: str, folder: Path, *, fails: bool) -> None:
    (folder / "openapi.json").write_text(document)
    (folder / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    run(NODE_PROGRAMS / linter, *LINTERS[linter], folder=folder, fails=fails)


@pytest.mark.parametrize("linter", LINTERS)
def test_the_document_has_no_fault(linter: str, tmp_path: Path) -> None:
    lint(linter, DOCUMENT.read_text(), tmp_path, fails=False)


@pytest.mark.parametrize("linter", LINTERS)
def test_a_fault_is_found(linter: str, tmp_path: Path) -> None:
    broken = json.loads(DOCUMENT.read_text())
    del broken["paths"]["/healthz"]["get"]["security"]
    broken["paths"]["/healthz"]["get"]["tags"] = ["unknown"]
    lint(linter, json.dumps(broken), tmp_path, fails=True)
