"""The versions of the servers that Riffle needs at least."""

import re
from dataclasses import dataclass

from streams.doctor.findings import Finding, failure, ok


@dataclass(frozen=True, slots=True)
class Needed:
    """The oldest version that works, and the reason."""

    minimum: tuple[int, int]
    because: str


NEEDED = {
    "kafka": Needed((2, 8), "idempotent producers need no permission of their own from 2.8 on"),
    "cassandra": Needed((4, 1), "the migrations use ALTER TABLE ... ADD IF NOT EXISTS"),
    "qdrant": Needed((1, 10), "searches use the query API"),
    "triton": Needed((2, 30), "requests carry priorities"),
}


_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})")


def numbers_of(version: str) -> tuple[int, int] | None:
    """Major and minor number of a version such as `3.9-IV0`, or None if it has none."""
    found = _NUMBERS.search(version)
    return (int(found[1]), int(found[2])) if found else None


def judge_version(server: str, where: str, version: str) -> Finding:
    """A server that answers, and is new enough. An unknown version is no fault."""
    needed, numbers = NEEDED[server], numbers_of(version)
    if numbers is not None and numbers < needed.minimum:
        oldest = ".".join(map(str, needed.minimum))
        return failure(server, f"{where} has version {version}", f"Upgrade it to {oldest} or newer: {needed.because}.")
    return ok(server, f"{where} answers, version {version or 'unknown'}")
