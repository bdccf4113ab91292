"""The machine that runs the checks: its free space, and settings that only fit a single machine."""

import shutil
from collections.abc import Collection, Iterator

from streams.doctor.findings import Finding, failure, ok, warning
from streams.sandbox.confinement import missing
from streams.sandbox.trial import layers_in_force
from streams.servers import SERVERS
from streams.settings import Settings

LOW_BYTES, FULL_BYTES = 5_000_000_000, 1_000_000_000
"""Minimum free space of a disk that is not nearly full, and of a disk on which the local stack starts (bytes)."""


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Check the disk of the local stack. Only the metrics of other machines show their disks."""
    if settings.profile == "production":
        yield ok("disk", "Disks of the servers are not visible from here: watch their own metrics")
        return
    folder = next(path for path in (settings.home.resolve(), *settings.home.resolve().parents) if path.exists())
    usage = shutil.disk_usage(folder)
    yield judge_space(str(folder), usage.free, usage.total)


def judge_space(folder: str, free_bytes: int, total_bytes: int) -> Finding:
    """Check the free space of a disk."""
    says = f"{free_bytes / 1e9:,.1f} GB of {total_bytes / 1e9:,.0f} GB are free on the disk of {folder}"
    advice = "Free some space, or set RIFFLE_HOME to a folder on another disk."
    if free_bytes < FULL_BYTES:
        return failure("disk", says, advice)
    return warning("disk", says, advice) if free_bytes < LOW_BYTES else ok("disk", says)


def check_sandbox(settings: Settings) -> Iterator[Finding]:
    """Check the confinement of the processes that read strangers' text, by a process that confines itself."""
    yield judge_confinement(layers_in_force())


def judge_confinement(layers: Collection[str]) -> Finding:
    """Check the layers of the confinement that are in force."""
    if not (lacks := missing(layers)):
        return ok("sandbox", "The processes that read pages are confined: " + ", ".join(layers))
    return warning(
        "sandbox",
        "The processes that read pages are not fully confined. Not in force: " + ", ".join(lacks),
        "A flaw in the HTML parser could reach what these layers close. "
        "Use Linux 5.13 or newer with Landlock and seccomp, on x86-64 or 64-bit ARM.",
        "in force: " + (", ".join(layers) or "nothing"),
    )


def check_settings(settings: Settings) -> Iterator[Finding]:
    """Find settings that lose data when a machine is lost."""
    if settings.profile != "production":
        yield ok("settings", f"Profile {settings.profile}")
        return
    few = [
        f"RIFFLE_{server.name.upper()}__REPLICATION is {replicas}, should be {server.replicas} or more"
        for server in SERVERS
        if server.replicas and (replicas := getattr(settings, server.name).replication) < server.replicas
    ]
    if few:
        yield warning("settings", "A lost machine loses data", "Set the replication before the first start.", *few)
    else:
        yield ok("settings", "Profile production, with replicas")
