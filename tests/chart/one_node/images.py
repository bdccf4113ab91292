"""The images of the cluster: built by buildah from the Dockerfiles of the project, and loaded into containerd."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.chart.one_node.node import Node, ctr
from tests.chart.rendering import ROOT

REGISTRY = "registry.example.org"
RIFFLE, TRITON, PAUSE = f"{REGISTRY}/riffle:0.1.0", f"{REGISTRY}/riffle-triton:0.1.0-cpu", f"{REGISTRY}/pause:1"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
BUILD_SECONDS = 1800


def build(authority: Path, pause: Path, options: Sequence[str]) -> None:
    """Build the images. The application's trusts the authority of the web site, too. Raises CalledProcessError.

    `options` are those of `buildah build`, such as volumes with the configuration of package indexes.
    """
    command = ["buildah", "build", "--format", "docker", "--runtime", "runc", "--network", "host", *options]
    for name, more in ((RIFFLE, ()), (TRITON, ("-f", "triton_models/Dockerfile", "--target", "cpu"))):
        print(f"Building {name} ...", flush=True)
        subprocess.run([*command, *more, "-t", name, "."], cwd=ROOT, check=True, timeout=BUILD_SECONDS)
    _derive(RIFFLE, RIFFLE, ["sh", "-c", f"cat /authority.pem >> {AUTHORITIES}"], authority, "/authority.pem")
    _derive("scratch", PAUSE, [], pause, "/pause")


def _derive(source: str, name: str, command: Sequence[str], file: Path, target: str) -> None:
    """Make an image of another one, a file and a command."""
    container = _output("buildah", "from", source)
    try:
        _output("buildah", "copy", container, str(file), target)
        if command:
            _output("buildah", "run", "--runtime", "runc", "--user", "root", container, "--", *command)
        else:
            _output("buildah", "config", "--entrypoint", f'["{target}"]', container)
        _output("buildah", "commit", "--format", "docker", container, name)
    finally:
        _output("buildah", "rm", container)


def load(node: Node) -> None:
    """Copy the images into the node's containerd. Raises RuntimeError."""
    archive = node.folder / "image.tar"
    for name in (PAUSE, RIFFLE, TRITON):
        archive.unlink(missing_ok=True)
        _output("buildah", "push", name, f"docker-archive:{archive}:{name}")
        node.output(*ctr(node, "images", "import", archive), seconds=600)
    archive.unlink()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=BUILD_SECONDS).stdout.strip()
