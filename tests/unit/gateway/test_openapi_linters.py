"""Redocly and Spectral, with the rules that they recommend, find nothing wrong in the OpenAPI document.

`make programs` sets them up. Here they read a document with a known mistake, too: else a linter that reads nothing
would pass.
"""

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from streams.gateway.app import create_app
from streams.settings import Settings
from streams.stores.opener import Stores

SET_UP = Path(__file__).parents[3] / ".tools" / "programs"
pytestmark = pytest.mark.skipif(
    not (SET_UP / ".node").exists() or shutil.which("node") is None,
    reason="the linters are not here: make programs (needs node and npm)",
)
LINTERS = {
    "redocly": ["lint", "openapi.json", "--format=summary"],
    "spectral": ["lint", "-r", "rules.yaml", "--fail-severity=warn", "openapi.json"],
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings(), Stores(), publish=None, clock=lambda: datetime.now(UTC)).openapi()


def lint(linter: str, document: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    command = [str(SET_UP / "node_modules" / ".bin" / linter), *LINTERS[linter]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("linter", LINTERS)
def test_the_document_has_no_fault(linter: str, document: dict[str, Any], tmp_path: Path) -> None:
    done = lint(linter, document, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("linter", LINTERS)
def test_a_fault_is_found(linter: str, document: dict[str, Any], tmp_path: Path) -> None:
    broken = json.loads(json.dumps(document))
    del broken["paths"]["/healthz"]["get"]["security"]
    broken["paths"]["/healthz"]["get"]["tags"] = ["unknown"]
    assert lint(linter, broken, tmp_path).returncode != 0
