"""The workflows of CI: checked by actionlint, and for what a release must not do. None of them runs here."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.release import faults_of_tag
from docs.site.conf import DOCS, REPOSITORY, link_to_repository

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
JOBS: dict[str, dict[str, Any]] = RELEASE["jobs"]
ACTIONLINT = ROOT / ".tools" / "actionlint"
PUBLISHES = re.compile(r"uv publish|gh release|docker login|--join|--arch|deploy-pages@")


def commands(job: dict[str, Any]) -> list[str]:
    return [str(step.get("run") or step.get("uses")) for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_fault_that_actionlint_finds(workflow: Path) -> None:
    if not ACTIONLINT.exists():
        pytest.skip("actionlint is not here: make workflows (needs Go)")
    done = subprocess.run([ACTIONLINT, "-no-color", workflow], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_that_exist(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"run: make ([a-z ]+)$", workflow.read_text(), re.MULTILINE)
    assert {target for line in called for target in line.split()} <= targets


def test_a_release_that_was_started_by_hand_publishes_nothing() -> None:
    """A job that publishes, or a job that it needs, asks for a tag."""
    pushed = "github.event_name == 'push'"
    publishing = {name for name, job in JOBS.items() if any(map(PUBLISHES.search, commands(job)))}
    assert publishing == {"images", "chart", "pages", "publish"}
    assert all(JOBS[name].get("if") == pushed or name == "chart" for name in publishing)
    assert JOBS["chart"]["needs"] == "images", "a job whose need was passed over is passed over, too"


def test_nothing_is_published_before_the_demo_ran() -> None:
    def needed(name: str) -> set[str]:
        needs = JOBS[name].get("needs", [])
        own = {needs} if isinstance(needs, str) else set(needs)
        return own.union(*map(needed, own))

    assert all("demo" in needed(name) for name in ("images", "chart", "pages", "publish"))


def test_no_other_registry_gets_the_token_of_github() -> None:
    tokens = [
        step["env"]["TOKEN"] for job in JOBS.values() for step in job["steps"] if "docker login" in step.get("run", "")
    ]
    assert len(tokens) == 2
    assert all("(startsWith(vars.REGISTRY, 'ghcr.io/') && github.token)" in token for token in tokens)


def test_packages_are_published_last_when_their_demo_ran_on_each_platform() -> None:
    assert {"packages", "demo", "chart", "site"} <= set(JOBS["publish"]["needs"])
    runners = JOBS["demo"]["strategy"]["matrix"]["runner"]
    assert {runner.partition("-")[0] for runner in runners} == {"ubuntu", "macos"}
    assert any(runner.endswith("-arm") for runner in runners)
    assert "[demo]" in " ".join(commands(JOBS["demo"]))


def test_a_job_has_no_right_that_it_does_not_use() -> None:
    assert RELEASE["permissions"] == {"contents": "read"}
    writes = {
        name: {right for right, level in job.get("permissions", {}).items() if level == "write"}
        for name, job in JOBS.items()
    }
    assert {name: rights for name, rights in writes.items() if rights} == {
        "packages": {"id-token", "attestations"},
        "images": {"packages"},
        "chart": {"packages", "id-token"},
        "pages": {"pages", "id-token"},
        "publish": {"id-token", "contents"},
    }
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert set(re.findall(r"secrets\.(\w+)", text)) == {"REGISTRY_TOKEN"}
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_a_tag_is_compared_with_each_file_that_has_the_version(tmp_path: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert faults_of_tag(f"v{version}") in ([], ["CHANGELOG.md"]), "it is not cut before the release"
    assert len(faults_of_tag("v9.9.9")) == 6


LINKS = [
    ("[a](../operate/install.md#what-you-need)", "[a](../operate/install.md#what-you-need)"),
    ("[a](../../helm/README.md)", f"[a]({REPOSITORY}helm/README.md)"),
    ("[a](../../streams/tracing.py#L1)", f"[a]({REPOSITORY}streams/tracing.py#L1)"),
    ("[a](https://example.org/x)", "[a](https://example.org/x)"),
    ("[a](#here)", "[a](#here)"),
    ("[a]: ../../SECURITY.md", f"[a]: {REPOSITORY}SECURITY.md"),
    ("![a](../images/results.webp)", "![a](../images/results.webp)"),
]


@pytest.mark.parametrize(("written", "shown"), LINKS)
def test_a_link_of_the_site_that_leaves_the_documentation_leads_to_the_repository(written: str, shown: str) -> None:
    assert link_to_repository(written, DOCS / "guide" / "page.md") == shown
