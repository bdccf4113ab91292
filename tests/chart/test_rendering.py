"""The workers with a browser: what of the chart is theirs, and that Chromium works under their seccomp profile."""

import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.render.chromium import find_chromium
from streams.settings import RenderSettings
from tests.chart.rendering import ROOT, component, containers, environment, named, of_kind, pod_spec, render

PROFILE = ROOT / "infra" / "rendering" / "seccomp.json"
RENDER = {"stages": {"render": {"enabled": True}}}


def test_without_the_stage_nothing_of_it_is_deployed() -> None:
    assert [each["kind"] for each in render() if component(each) == "render"] == []


def test_the_workers_have_the_image_with_a_browser_and_render() -> None:
    changes = {**RENDER, "rendering": {"image": {"repository": "r.example/browser", "pullPolicy": "Always"}}}
    objects = render("minimal", changes)
    (worker,) = containers(named(objects, "Deployment", "render"))
    assert (worker["image"], worker["imagePullPolicy"]) == ("r.example/browser:0.1.0", "Always")
    assert environment(worker)["RIFFLE_RENDER__ENABLED"] == "true"
    others = [c for each in of_kind(objects, "Deployment") if component(each) != "render" for c in containers(each)]
    assert not any("browser" in each["image"] or "RIFFLE_RENDER__ENABLED" in environment(each) for each in others)


def test_the_memory_of_a_worker_is_enough_for_its_pages_in_progress() -> None:
    (worker,) = containers(named(render("autoscaling"), "Deployment", "render"))
    pages = int(str(environment(worker)["RIFFLE_RUNTIME__CONCURRENCY"]))
    limit = re.fullmatch(r"(\d+)Gi", worker["resources"]["limits"]["memory"])
    assert limit
    assert int(limit[1]) * 1024 >= pages * RenderSettings().memory_mb + 640, "and Riffle's own"


def test_the_seccomp_profile_can_be_another_one() -> None:
    profile = {"type": "Unconfined", "localhostProfile": None}
    worker = named(render("minimal", {**RENDER, "rendering": {"seccompProfile": profile}}), "Deployment", "render")
    assert pod_spec(worker)["securityContext"]["seccompProfile"] == {"type": "Unconfined"}
    assert pod_spec(worker)["securityContext"]["runAsNonRoot"] is True


PAGE = 'data:text/html,<p id=x><script>x.textContent="w".repeat(9)</script>'
SANDBOX = ("unshare", "chroot")
"""Calls that Chromium's own sandbox makes."""


def under(profile: dict[str, Any], folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program under a profile, without rights, as a container's user does."""
    file = folder / "profile.json"
    file.write_text(json.dumps(profile))
    user = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups"] if os.geteuid() == 0 else ["setpriv"]
    return subprocess.run(
        [sys.executable, "-m", "tests.chart.seccomp", file, *user, "--no-new-privs", "env", f"HOME={folder}", *command],
        cwd=ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def chromium(profile: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Read a page with Chromium under a profile."""
    options = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/browser"]
    return under(profile, folder, find_chromium(), *options, "--dump-dom", PAGE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that each user may write to, and whose parents each user may pass."""
    with tempfile.TemporaryDirectory(prefix="riffle-seccomp-", dir="/tmp", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o777)
        yield Path(made)


ALLOWS_ALL: dict[str, Any] = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}


@pytest.fixture
def has_sandbox(folder: Path) -> None:
    """Skip where a user without rights gets no namespaces, whatever the profile: Chromium has no sandbox there."""
    for program in ("setpriv", "unshare"):
        if not shutil.which(program):
            pytest.skip(f"needs the program {program}")
    if ctypes.util.find_library("seccomp") is None:
        pytest.skip("needs libseccomp")
    probe = under(ALLOWS_ALL, folder, "unshare", "--user", "--map-root-user", "--pid", "--net", "--fork", "true")
    if probe.returncode:
        pytest.skip(f"this machine gives a user no namespaces of its own: {probe.stderr.strip()[-200:]}")


@pytest.fixture
def has_chromium(folder: Path) -> None:
    if not shutil.which("chromium"):
        pytest.skip("needs the program chromium")
    if "wwwwwwwww" not in (done := chromium(ALLOWS_ALL, folder)).stdout:
        pytest.skip(f"Chromium has no sandbox here, even without a profile: {done.stderr.strip()[-200:]}")
    shutil.rmtree(folder / "browser", ignore_errors=True)


@pytest.mark.browser
@pytest.mark.usefixtures("has_sandbox", "has_chromium")
def test_chromium_works_with_its_own_sandbox_under_the_profile_and_not_without(folder: Path) -> None:
    profile = json.loads(PROFILE.read_text())
    done = chromium(profile, folder)
    assert '<p id="x">wwwwwwwww</p>' in done.stdout, done.stderr[-2_000:]
    profile["syscalls"].append({"names": SANDBOX, "action": "SCMP_ACT_ERRNO", "errnoRet": 1})
    done = chromium(profile, folder)
    assert (done.returncode != 0, done.stdout) == (True, ""), "so it did use its sandbox above"


REFUSED = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
calls = {"mount": lambda: libc.mount(b"x", b"/", b"tmpfs", 0, None), "ptrace": lambda: libc.ptrace(0, 0, 0, 0)}
for name, call in calls.items():
    assert call() == -1 and ctypes.get_errno() == 1, name
for family in (socket.AF_PACKET, socket.AF_ALG, socket.AF_VSOCK):
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if family == socket.AF_ALG else socket.SOCK_RAW)
    except OSError as error:
        assert error.errno == 97, error
    else:
        raise AssertionError(family)
socket.socket(socket.AF_INET).close()
"""


@pytest.mark.usefixtures("has_sandbox")
def test_the_profile_refuses_what_a_browser_does_not_need() -> None:
    command = [sys.executable, "-m", "tests.chart.seccomp", str(PROFILE), sys.executable, "-c", REFUSED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def test_the_image_of_the_chart_is_the_one_that_the_dockerfile_names() -> None:
    text = (ROOT / "infra" / "rendering" / "Dockerfile").read_text()
    image = containers(named(render("minimal", RENDER), "Deployment", "render"))[0]["image"]
    assert f"docker build -t {image.partition(':')[0]} " in text
    assert PROFILE.name in text
