"""Clients of other languages, made of the OpenAPI document and compiled. `make clients` sets up the tools."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "schemas" / "generated" / "openapi.json"
TOOLS = ROOT / ".tools" / "clients"
NODE_PROGRAMS = TOOLS / "node_modules" / ".bin"
needs_tools = pytest.mark.skipif(
    not (TOOLS / ".ready").exists(), reason="the generators are not here: make clients (needs npm, Go, Maven, cargo)"
)


def run(*command: object, folder: Path, fails: bool = False, **environment: str) -> str:
    """Run a command in a folder. Returns what it prints, also to stderr."""
    program = shutil.which(str(command[0])) or str(command[0])
    done = subprocess.run(
        [program, *map(str, command[1:])], cwd=folder, env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=1_500, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stdout + done.stderr
