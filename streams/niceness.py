"""Niceness that also counts between sessions.

Where the kernel groups processes by session (sched(7), autogroup: most desktops), sessions share the processor first,
and niceness orders the processes within one alone. A nice process that has a session of its own then gets as much as
any other session. But the session itself has a niceness too, in `/proc/PID/autogroup`.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

LEAST_URGENT = 19
"""Maximum niceness."""
TRIES = 10
RETRY_SECONDS = 0.11


def be_nice_apart(added: int) -> None:
    """Add to the niceness of this process, in a session of its own, so that it yields to all other processes.

    Only for a process that its parent does not stop by its session or process group.
    """
    if not added:
        return
    niceness = os.nice(added)
    with suppress(OSError):  # it leads its session already
        os.setsid()
    set_session_niceness(os.getpid(), niceness)


def set_session_niceness(pid: int, niceness: int, proc: Path = Path("/proc")) -> None:
    """Give the session of a process this niceness. Does nothing where sessions have none, or where it isn't allowed."""
    for _ in range(TRIES):
        try:
            (proc / str(pid) / "autogroup").write_text(str(niceness))
        except BlockingIOError:  # the kernel takes ten changes a second from all who aren't root
            time.sleep(RETRY_SECONDS)
        except OSError:
            return
        else:
            return
