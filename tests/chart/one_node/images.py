"""The images of the cluster: built by buildah from the Dockerfiles of the project, and loaded into containerd."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.chart.one_node.buildah import MAX_SECONDS, derive, output
from tests.chart.one_node.node import Node, ctr
from tests.chart.rendering import ROOT

REGISTRY = "registry.example.org"
RIFFLE, TRITON, PAUSE = f"{REGISTRY}/riffle:0.1.0", f"{REGISTRY}/riffle-triton:0.1.0-cpu", f"{REGISTRY}/pause:1"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def build(authority: Path, pause: Path, options: Sequence[str]) -> None:
    """Build the images. The application's trusts the authority of the web site, too. Raises CalledProcessError.

    `options` are options of `buildah build`, such as volumes with the configuration of package indexes.
    """
    command = ["buildah", "build", "--format", "docker", "--runtime", "runc", "--network", "host", *options]
    for name, more in ((RIFFLE, ()), (TRITON, ("-f", "triton_models/Dockerfile", "--target", "cpu"))):
        print(f"Building {name} ...", flush=True)
        subprocess.run([*command, *more, "-t", name, "."], cwd=ROOT, check=True, timeout=MAX_SECONDS)
    trust = ("sh", "-c", f"cat /authority.pem >> {AUTHORITIES}")
    derive(RIFFLE, RIFFLE, authority, "/authority.pem", command=trust)
    derive("scratch", PAUSE, pause, "/pause", entrypoint="/pause")


def load(node: Node) -> None:
    """Copy the images into the node's containerd. Raises RuntimeError."""
    archive = node.folder / "image.tar"
    for name in (PAUSE, RIFFLE, TRITON):
        archive.unlink(missing_ok=True)
        output("buildah", "push", name, f"docker-archive:{archive}:{name}")
        node.output(*ctr(node, "images", "import", archive), seconds=600)
    archive.unlink()
