"""The jars of Kafka and Cassandra: fetched once by their Maven coordinates, checked against the lock at every start.

`requirements/jgo.lock.toml` names every jar and its SHA-256, so a start resolves nothing: what isn't in the cache is
downloaded by `jgo`, in pure Python (no Maven). The cache lies outside of the checkout (`~/.cache/riffle/maven`), and
all checkouts share it. `python -m streams.local.jars` writes the lock anew after a change of ROOTS.
"""

import fcntl
import hashlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import StartError

ROOTS: dict[str, tuple[str, ...]] = {
    "kafka": ("org.apache.kafka:kafka_2.13:3.9.1", "org.slf4j:slf4j-reload4j:1.7.36"),
    "cassandra": ("org.apache.cassandra:cassandra-all:5.0.4",),
}
_PACKAGED = Path(__file__).resolve().with_name("jgo.lock.toml")
LOCK_FILE = _PACKAGED if _PACKAGED.exists() else _PACKAGED.parents[2] / "requirements" / "jgo.lock.toml"
DOWNLOADS_AT_ONCE = 8
Fetch = Callable[["Jar"], Path]


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked file. `coordinate` is group:artifact:version, with a fourth part where there is a classifier."""

    coordinate: str
    sha256: str

    @property
    def path(self) -> str:
        """Below a Maven repository's root."""
        group, artifact, version, *classifier = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{'-'.join((artifact, version, *classifier))}.jar"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riffle" / "maven"


def read_lock(server: str, lock_file: Path = LOCK_FILE) -> list[Jar]:
    """The server's jars in class path order."""
    try:
        content = tomllib.loads(lock_file.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise StartError(
            f"{lock_file} can't be read ({error}): the checkout is incomplete; restore that file"
        ) from error
    return [Jar(coordinate, sha256) for coordinate, sha256 in content[server]["jars"].items()]


def class_path(server: str, cache: Path | None = None) -> str:
    """The server's verified jars as Java's -cp takes them. Downloads what is missing. Raises StartError."""
    cache = cache or cache_folder()
    return os.pathsep.join(str(path) for path in fetch_jars(read_lock(server), cache, _jgo_fetch(cache)))


def fetch_jars(jars: list[Jar], cache: Path, fetch: Fetch) -> list[Path]:
    """Every jar's path, each with the checksum that the lock says."""
    with _locked(cache), ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
        return list(pool.map(lambda jar: _verified(jar, cache, fetch), jars))


def _verified(jar: Jar, cache: Path, fetch: Fetch) -> Path:
    path = cache / jar.path
    if path.exists() and sha256_of(path) == jar.sha256:
        return path
    # A download that was cut off leaves half a file where the whole one belongs.
    path.unlink(missing_ok=True)
    try:
        fetch(jar)
    except Exception as error:  # whatever the network does, the answer to the person is the same
        raise StartError(
            f"{jar.coordinate} is not in {cache} and can't be downloaded ({error}). "
            "The first `riffle up` needs the network; check the connection and proxy, and run it again"
        ) from error
    if (found := sha256_of(path)) != jar.sha256:
        path.unlink()
        raise StartError(
            f"{jar.coordinate} was downloaded with SHA-256 {found}, but {LOCK_FILE.name} says {jar.sha256}. "
            "It was thrown away. A proxy may have changed it; don't go on before you know why"
        )
    return path


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """One process at a time fills the cache; the kernel gives the lock back if it dies."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _context(cache: Path) -> Any:
    from jgo.maven import MavenContext

    return MavenContext(repo_cache=cache, timeout=60)


def _jgo_fetch(cache: Path) -> Fetch:
    def fetch(jar: Jar) -> Path:
        group, artifact, version, *classifier = jar.coordinate.split(":")
        component = _context(cache).project(group, artifact).at_version(version)
        return Path(component.artifact(classifier[0] if classifier else "").resolve())

    return fetch


def write_lock(lock_file: Path = LOCK_FILE, cache: Path | None = None) -> None:
    """Resolve ROOTS anew, download all of it, and write the lock."""
    cache = cache or cache_folder()
    parts = [
        "# The jars of the local Kafka and Cassandra: coordinates and SHA-256, in class path order.\n"
        "# Written by `python -m streams.local.jars`; don't edit.\n"
    ]
    for server, roots in ROOTS.items():
        listed = ", ".join(f'"{root}"' for root in roots)
        parts.append(f"\n[{server}]\nroots = [{listed}]\n\n[{server}.jars]\n")
        parts.extend(f'"{jar.coordinate}" = "{jar.sha256}"\n' for jar in _resolved(roots, cache))
    lock_file.write_text("".join(parts))


def _resolved(roots: tuple[str, ...], cache: Path) -> Iterator[Jar]:
    context = _context(cache)
    inputs, transitive = context.resolver.resolve([context.create_dependency(root) for root in roots])
    for dependency in [*inputs, *(found for found in transitive if found.scope in ("compile", "runtime"))]:
        artifact = dependency.artifact
        parts = (artifact.groupId, artifact.artifactId, artifact.version, artifact.classifier)
        yield Jar(":".join(part for part in parts if part), sha256_of(Path(artifact.resolve())))


if __name__ == "__main__":
    write_lock()
