"""`make audit`: only packages that a source of advisories answered about count as checked."""

import json
import sys
from pathlib import Path

import pytest

from docs.audit import CLEAN, LOCKS, NOT_ASKED, ROOT, VULNERABLE, Answer, ask, read_answer, report

KNOWN = {"name": "aiohttp", "version": "3.0", "vulns": []}
VULNERABILITY = {"id": "PYSEC-1", "fix_versions": ["3.1"], "aliases": [], "description": "It reads a file."}
BAD = {**KNOWN, "vulns": [VULNERABILITY]}
UNKNOWN = {"name": "faust", "skip_reason": "Dependency not found on PyPI and could not be audited: faust (1.0)"}
ANSWERS = {
    # packages as pip-audit describes them, the exit status, a part of the report
    "all were checked": ([KNOWN], CLEAN, "1 packages were checked, 0 vulnerabilities"),
    "a mirror without advisories": ([UNKNOWN, UNKNOWN], NOT_ASKED, "does not know 2 of 2 packages (faust, faust)"),
    "one package is unknown": ([KNOWN, UNKNOWN], NOT_ASKED, "does not know 1 of 2 packages (faust)"),
    "one is vulnerable": (
        [KNOWN, BAD],
        VULNERABLE,
        "VULNERABLE requirements/production.txt: aiohttp 3.0: PYSEC-1, mended in 3.1",
    ),
    "one is vulnerable and one unknown": ([BAD, UNKNOWN], VULNERABLE, "NOT CHECKED"),
}


@pytest.mark.parametrize(("packages", "status", "part"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_reported(packages: list[dict[str, object]], status: int, part: str) -> None:
    lines, found = report([read_answer("production", {"dependencies": packages, "fixes": []})])
    assert found == status
    assert part in "\n".join(lines)


def test_a_source_that_is_not_reached_is_no_result(tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('ConnectionError: no address')\n")
    program.chmod(0o755)
    answer = ask(str(program), "production", "osv")
    assert answer == Answer("production", 0, error="ConnectionError: no address")
    assert report([answer])[1] == NOT_ASKED


def test_the_program_is_asked_about_the_lock_itself(tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        "print(json.dumps({'dependencies': [{'name': ' '.join(sys.argv[1:]), 'version': '1', 'vulns': []}]}))\n"
    )
    program.chmod(0o755)
    assert ask(str(program), "triton", "pypi") == Answer("triton", 1)


def test_each_lock_of_what_a_user_runs_is_asked_about() -> None:
    assert all((ROOT / "requirements" / f"{lock}.txt").is_file() for lock in LOCKS)
    images = "".join(
        path.read_text() for path in (ROOT / "Dockerfile", *ROOT.glob("*/Dockerfile"), *ROOT.glob("infra/*/Dockerfile"))
    )
    installed = {lock for lock in ("production", "triton", "models", "map") if f"{lock}.txt" in images}
    assert installed == {"production", "triton", "models", "map"}
    assert installed <= set(LOCKS)


def test_json_of_the_program_is_what_is_read_here() -> None:
    assert read_answer("x", json.loads('{"dependencies": [], "fixes": []}')) == Answer("x", 0)
