"""Images by buildah: one of another one and some files, without a Dockerfile."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

MAX_SECONDS = 1800


def derive(
    source: str,
    name: str,
    files: Path,
    target: str,
    *,
    command: Sequence[str] = (),
    environment: Sequence[str] = (),
    entrypoint: str = "",
) -> None:
    """Make an image of another one: copy files into it, then run a command there. Raises CalledProcessError."""
    container = output("buildah", "from", source)
    try:
        output("buildah", "copy", container, str(files), target)
        if command:
            output("buildah", "run", "--runtime", "runc", "--user", "root", container, "--", *command)
        for variable in environment:
            output("buildah", "config", "--env", variable, container)
        if entrypoint:
            output("buildah", "config", "--entrypoint", f'["{entrypoint}"]', container)
        output("buildah", "commit", "--format", "docker", container, name)
    finally:
        output("buildah", "rm", container)


def output(*command: str) -> str:
    """The output of a command. Raises CalledProcessError."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=MAX_SECONDS)
    return done.stdout.strip()
