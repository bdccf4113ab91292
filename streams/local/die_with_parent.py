"""Replaces itself by a command that dies with its parent: `python -I -S die_with_parent.py PARENT_PID NICE COMMAND...`.

NICE is added to the niceness of this process, so 0 leaves it as it is.

The kernel sends SIGKILL when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG), so that even
`kill -9` of the supervisor leaves no process behind. The request survives exec. On systems other than Linux, children
of a killed supervisor stay, and the next `riffle up` names them.

It is a separate program because `preexec_fn` isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, nice, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.nice(nice)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the request was made
            sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]} can't be run: {error.strerror}")


if __name__ == "__main__":
    main()
