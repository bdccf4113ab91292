"""The trial: what docs/operate/install.md says, from an empty cluster to a first result, and on to an upgrade.

Each step prints its title and its time. The first one that fails ends the trial, with the state of the pods.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from streams.local.tls.certificates import open_authority
from tests.chart.one_node import images, servers
from tests.chart.one_node.node import NODE, PROGRAMS, SITE_HOST, Node, running
from tests.chart.rendering import CHART, TOOLS
from tests.integration.qdrant_process import real_qdrant

NEEDED = ("containerd", "runc", "buildah", "iptables", "conntrack", "nsenter", "ip")
VALUES = f"""\
image: {{repository: {images.REGISTRY}/riffle}}
kafka:
  bootstrap: {NODE}:{servers.KAFKA_PORT}
  peers: [{{ipBlock: {{cidr: {NODE}/32}}}}]
cassandra:
  hosts: [{NODE}]
  datacenter: datacenter1
  peers: [{{ipBlock: {{cidr: {NODE}/32}}}}]
qdrant:
  url: http://{NODE}:{servers.QDRANT_PORT}
  existingSecret: riffle-qdrant
  peers: [{{ipBlock: {{cidr: {NODE}/32}}}}]
crawl:
  contactUrl: https://example.org/crawler
networkPolicy:
  dnsPeers: [{{ipBlock: {{cidr: {NODE}/32}}}}]
# The node may have two cores, and other work.
stageDefaults:
  resources:
    requests: {{cpu: 20m, memory: 192Mi}}
gateway:
  resources:
    requests: {{cpu: 20m, memory: 256Mi}}
setup:
  resources:
    requests: {{cpu: 20m, memory: 128Mi}}
operator:
  resources:
    requests: {{cpu: 20m, memory: 128Mi}}
triton:
  image: {{repository: {images.REGISTRY}/riffle-triton}}
  resources:
    requests: {{cpu: 100m, memory: 768Mi}}
"""
MIN_FREE_BYTES = 15_000_000_000
SPACE = ("--namespace", "search")
QUESTION = "what happens to someone who enters such a name in error"
ANSWER = "a reader who types one by mistake meets nobody"
"""The sentence of the site that answers the question. They share no word but `a` and `to`."""
ASK_EVERY_SECONDS = 0.1


def main() -> int:
    """Run the trial. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make cluster-check", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--qdrant", type=Path, help="the program `qdrant`, 1.10 or newer. Default: the one that is found"
    )
    parser.add_argument(
        "--stand-ins", type=Path, metavar="PYTHON", help="make stand-ins of base images, with this Python 3.12"
    )
    parser.add_argument("--look-only", action="store_true", help="look at the arguments and tools, and build nothing")
    parser.add_argument("--build-options", default="", help="options of `buildah build`, such as --volume ...")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    arguments = parser.parse_args()
    qdrant = look(arguments.qdrant, arguments.stand_ins)
    if arguments.look_only:
        return 0
    if arguments.stand_ins:
        with step("Stand-ins of the base images"):
            subprocess.run([sys.executable, "-m", "tests.chart.one_node.stand_ins", arguments.stand_ins], check=True)
    folder = Path(tempfile.mkdtemp(prefix="riffle-cluster-"))
    authority = open_authority(folder / "authority", datetime.now(UTC)).file
    with step("Images"):
        images.build(authority, PROGRAMS / "pause", shlex.split(arguments.build_options))
    try:
        with running(folder) as node:
            run(node, qdrant)
    except (RuntimeError, AssertionError) as error:
        print(f"FAILED: {error}\nThe logs are in {folder}")
        return 1
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def look(qdrant: Path | None, stand_ins: Path | None) -> Path:
    """Check what the trial needs, before anything is built. Return the program `qdrant`. Ends with a message."""
    needed = (*NEEDED, *(["debootstrap"] if stand_ins else []))
    if missing := [name for name in needed if not shutil.which(name)]:
        sys.exit(f"not found: {', '.join(missing)}. On Debian: see docs/operate/install.md")
    if os.geteuid():
        sys.exit("the trial makes a network namespace and containers: run it as root")
    if stand_ins and not (stand_ins / "bin" / "python3.12").is_file():
        sys.exit(f"--stand-ins {stand_ins}: there is no bin/python3.12")
    found = qdrant or real_qdrant()
    if found is None or not os.access(found, os.X_OK):
        sys.exit(f'no program `qdrant`{f" at {qdrant}" if qdrant else ""}: name it with ARGS="--qdrant PROGRAM"')
    if shutil.disk_usage(tempfile.gettempdir()).free < MIN_FREE_BYTES:
        sys.exit(f"{MIN_FREE_BYTES / 1e9:.0f} GB of disk must be free in {tempfile.gettempdir()}")
    return Path(found).resolve()


def run(node: Node, qdrant: Path) -> None:
    """All steps on a running cluster. Raises RuntimeError, AssertionError."""
    try:
        with step("The node's images and the servers beside it"):
            images.load(node)
            servers.start(node, qdrant)
        install(node)
        first_result(node)
        schedules(node)
        roll_out(node)
        outage_of_triton(node)
        with step("Uninstall"):
            helm(node, "uninstall", "search", "--wait")
            left = node.kubectl("get", "deployments,jobs,services,networkpolicies", *SPACE, "--output=name").split()
            left = [name for name in left if "setup" not in name]
            assert not left, f"left behind: {left}"
    except (RuntimeError, AssertionError):
        print(node.run(PROGRAMS / "kubectl", "get", "pods,jobs", *SPACE).stdout)
        print(node.run(PROGRAMS / "kubectl", "get", "events", *SPACE, "--sort-by=.lastTimestamp").stdout[-3000:])
        raise


def install(node: Node) -> None:
    """Steps 3 and 4 of install.md."""
    with step("Install"):
        (node.folder / "my-values.yaml").write_text(VALUES)
        node.kubectl("create", "namespace", "search")
        key = f"--from-literal=api-key={servers.API_KEY}"
        node.kubectl("create", "secret", "generic", "riffle-qdrant", *SPACE, key)
        upgrade(node)
    with step("Every pod is ready"):
        ready(node)
        restarts = node.kubectl(
            "get", "pods", *SPACE, "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}"
        )
        assert set(restarts.split()) == {"0"}, f"restarts: {restarts}"


def first_result(node: Node) -> None:
    """Step 5 of install.md."""
    with step("helm test"):
        helm(node, "test", "search", "--timeout=10m")
    with step("The operator's pod, and doctor"):
        node.kubectl("scale", "deployment", "search-riffle-operator", *SPACE, "--replicas=1")
        node.kubectl("rollout", "status", "deployment", "search-riffle-operator", *SPACE, "--timeout=120s")
        report = node.run(PROGRAMS / "kubectl", *riffle("doctor")).stdout
        assert " 0 failures" in report, report
    with step("Crawl a site and search it"):
        node.kubectl(*riffle("crawl", f"https://{SITE_HOST}/", "--depth", "1"))
        found = " ".join(node.kubectl(*riffle("search", QUESTION)).split())
        assert ANSWER in found, found


def schedules(node: Node) -> None:
    """Step 6 of install.md, at once."""
    with step("The scheduled commands"):
        for name in ("links-rank", "blobs-sweep"):
            node.kubectl("create", "job", f"try-{name}", *SPACE, f"--from=cronjob/search-riffle-{name}")
            node.kubectl("wait", f"job/try-{name}", *SPACE, "--for=condition=Complete", "--timeout=120s")
            node.kubectl("delete", "job", f"try-{name}", *SPACE)


def roll_out(node: Node) -> None:
    """An upgrade that restarts everything, and a roll-back, while someone searches."""
    with step("Upgrade and roll back, while someone searches"), searching(node):
        parts = ("stageDefaults", "gateway", "triton")
        upgrade(node, *(f"--set={part}.podAnnotations.trial=again" for part in parts))
        ready(node)
        helm(node, "rollback", "search", "--wait", "--timeout=5m")


def outage_of_triton(node: Node) -> None:
    """Workers that start while Triton is away wait for it, without a restart."""
    with step("Workers that start before Triton"):
        node.kubectl("scale", "deployment", "search-riffle-triton", *SPACE, "--replicas=0")
        node.kubectl("delete", "pod", *SPACE, "--selector=app.kubernetes.io/component=embed")
        time.sleep(30)
        node.kubectl("scale", "deployment", "search-riffle-triton", *SPACE, "--replicas=1")
        ready(node)
        restarts = node.kubectl(
            "get",
            "pods",
            *SPACE,
            "--selector=app.kubernetes.io/component=embed",
            "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}",
        )
        assert restarts == "0", f"restarts: {restarts}"


@contextmanager
def searching(node: Node) -> Iterator[None]:
    """Ask the gateway's service again and again. Raises AssertionError if a search fails or answers in part."""
    address = node.kubectl("get", "service", "search-riffle-gateway", *SPACE, "--output=jsonpath={.spec.clusterIP}")
    stop = node.folder / "stop-searching"
    program = "import json, pathlib, sys, time, urllib.error, urllib.request\n"
    program += "number, slowest = 0, 0.0\nwhile not pathlib.Path(sys.argv[2]).exists():\n"
    program += "    begun = time.monotonic()\n"
    program += "    try:\n        answer = json.load(urllib.request.urlopen(sys.argv[1], timeout=10))\n"
    program += "    except urllib.error.HTTPError as error:\n"
    program += "        took = time.monotonic() - begun\n"
    program += "        sys.exit(f'search {number}, after {took:.2f} s: {error} {error.read().decode()}')\n"
    program += "    slowest = max(slowest, time.monotonic() - begun)\n"
    program += f"    assert answer['results'], answer\n    number += 1\n    time.sleep({ASK_EVERY_SECONDS})\n"
    program += "print(f'{number} searches, each answered, the slowest after {slowest:.2f} s')\n"
    url = f"http://{address}/api/v1/search?q=reserved+names"
    node.start("searching", sys.executable, "-c", program, url, str(stop))
    try:
        yield
    finally:
        stop.touch()
        time.sleep(2)
    report = (node.folder / "searching.log").read_text()
    assert "each answered" in report, report
    print(f"  {report.strip()}")


def upgrade(node: Node, *more: str) -> None:
    """Install or upgrade the release. Raises RuntimeError."""
    values = ("--values", str(CHART / "ci" / "minimal-values.yaml"), "--values", str(node.folder / "my-values.yaml"))
    helm(node, "upgrade", "--install", "search", str(CHART), *values, "--timeout=10m", *more)


def ready(node: Node) -> None:
    """Wait until every deployment has rolled out. Raises RuntimeError."""
    for name in node.kubectl("get", "deployments", *SPACE, "--output=name").split():
        node.kubectl("rollout", "status", name, *SPACE, "--timeout=240s")


def helm(node: Node, *arguments: str) -> str:
    """The output of helm. Raises RuntimeError with its message."""
    return node.output(TOOLS / "helm", *arguments, *SPACE, seconds=700)


def riffle(*arguments: str) -> list[str]:
    """The arguments of kubectl for a command in the operator's pod."""
    return ["exec", *SPACE, "deploy/search-riffle-operator", "--", "riffle", *arguments]


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the title of a step, and its time when it has ended."""
    print(f"{title} ...", flush=True)
    begun = time.monotonic()
    yield
    print(f"  {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
