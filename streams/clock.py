"""The clock of this machine. Stages get it as an argument; only their agents, jobs and commands import it."""

import time


def now_micros() -> int:
    """Return microseconds since 1970 UTC."""
    return time.time_ns() // 1_000
