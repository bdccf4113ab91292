"""A server's version against the oldest one that works (`streams.servers`)."""

import re

from streams.doctor.findings import Finding, failure, ok
from streams.servers import named

_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})")


def numbers_of(version: str) -> tuple[int, int] | None:
    """Major and minor number of a version such as `3.9-IV0`, or None if it has none."""
    found = _NUMBERS.search(version)
    return (int(found[1]), int(found[2])) if found else None


def judge_version(server: str, where: str, version: str) -> Finding:
    """Check that the version of a server that answers is new enough. An unknown version is no fault."""
    needed, numbers = named(server), numbers_of(version)
    if numbers is not None and numbers < needed.oldest:
        oldest = ".".join(map(str, needed.oldest))
        return failure(server, f"{where} has version {version}", f"Upgrade it to {oldest} or newer: {needed.because}.")
    return ok(server, f"{where} answers, version {version or 'unknown'}")
