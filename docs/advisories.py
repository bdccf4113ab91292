"""OSV, a source of advisories, is asked about jars, Go modules and actions: `pip-audit` does not ask about them.

One request names up to 1,000 packages with their versions; the answer has the names of advisories in the same order.
Images are in no ecosystem of OSV: a scanner in a registry knows them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from docs.versions import Version
from streams.local.servers.java import read_lock

OSV = "https://api.osv.dev"
BATCH = 1000
"""Maximum number of packages in a request."""
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A package as OSV names it. `where` is the file that names its version."""

    where: str
    ecosystem: str
    name: str
    version: str


def packages_of(versions: Iterable[Version]) -> list[Package]:
    """Return the packages that the entries name, and each jar of the servers that Riffle starts."""
    named = {Package("requirements/versions.toml", *one.ask, one.version) for one in versions if one.ask}
    return sorted(named | set(jars(Path("requirements/jgo.lock.toml"), ("kafka", "cassandra"))))


def jars(lock: Path, servers: Sequence[str]) -> list[Package]:
    """Return the jars of some servers."""
    found = []
    for server in servers:
        for jar in read_lock(server):
            group, artifact, version, *_ = jar.coordinate.split(":")
            found.append(Package(lock.as_posix(), "Maven", f"{group}:{artifact}", version))
    return found


def ask_osv(packages: Sequence[Package], address: str = OSV) -> list[str]:
    """Return a line for each known vulnerability. Raises OSError or ValueError if there is no whole answer."""
    lines: list[str] = []
    for start in range(0, len(packages), BATCH):
        asked = packages[start : start + BATCH]
        queries = [{"package": {"name": one.name, "ecosystem": one.ecosystem}, "version": one.version} for one in asked]
        results = _post(f"{address}/v1/querybatch", {"queries": queries}).get("results")
        if not isinstance(results, list) or len(results) != len(asked):
            raise ValueError(f"the source answered about {len(results or ())} of {len(asked)} packages")
        for package, result in zip(asked, results, strict=True):
            ids = [str(one["id"]) for one in (result or {}).get("vulns", ())]
            lines += [f"{package.where}: {package.name} {package.version}: {one}" for one in ids]
    return lines


def _post(address: str, content: dict[str, Any]) -> dict[str, Any]:
    try:
        answer = httpx2.post(address, json=content, timeout=ANSWER_SECONDS)
    except httpx2.HTTPError as error:
        raise OSError(str(error)) from error
    if answer.status_code != httpx2.codes.OK:
        raise ValueError(f"the source answered with status {answer.status_code}")
    found = answer.json()
    if not isinstance(found, dict):
        raise ValueError("the source answered with something else than an object")
    return found
