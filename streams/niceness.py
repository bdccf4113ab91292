"""Niceness that also counts between sessions.

Where the kernel groups processes by session (sched(7), autogroup: most desktops), sessions share the processor first,
and niceness only orders the processes within one session. A nice process in a session of its own then gets as much as
any other session. But the session itself has a niceness too, in `/proc/PID/autogroup`.
"""

import os
import time
from pathlib import Path

FULL_LOAD = 5.5
"""Load of a core, as an average of a minute, from which the machine is full with other work. A stack that indexes while
people search stays below it: it has 2 to 3 for each core."""
TRIES = 10
RETRY_SECONDS = 0.11


def is_machine_full(load: float, cores: int) -> bool:
    """Return whether the work that waits is so much that a nice process gets hardly any time."""
    return load >= FULL_LOAD * cores


def raise_session_niceness(leader: int, least: int) -> bool:
    """Give a session's leader, its process group and its session at least this niceness.

    The group has all threads of the processes that the leader started and that are still in it. A leader that somebody
    made as nice already keeps its niceness, and its session keeps its share: with more, it would starve beside the
    other sessions. Returns whether the session's niceness was raised. Raises ProcessLookupError when the leader has
    ended.
    """
    if os.getpriority(os.PRIO_PROCESS, leader) >= least:
        return False
    os.setpriority(os.PRIO_PGRP, leader, least)
    set_session_niceness(leader, least)
    return True


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
