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

    Only for a process that its parent does not stop by its session or process group. Call it when all that has to be
    there soon is done, such as loading a model: on a busy machine the rest may wait long.
    """
    if not added:
        return
    with suppress(OSError):  # it leads its session already
        os.setsid()
    make_session_nice(os.getpid(), added)


def make_session_nice(leader: int, added: int) -> None:
    """Add to the niceness of a session's leader, and give its process group and the session what comes out.

    The group is all that the leader started and that is still in it, with all threads. Raises ProcessLookupError when
    the leader has ended.
    """
    niceness = min(os.getpriority(os.PRIO_PROCESS, leader) + added, LEAST_URGENT)
    os.setpriority(os.PRIO_PGRP, leader, niceness)
    set_session_niceness(leader, niceness)


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
