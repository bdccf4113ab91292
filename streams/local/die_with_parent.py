"""Becomes another program that dies with its parent: `python -I -S launch.py PARENT_PID COMMAND...`.

The kernel is asked to send SIGKILL when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG), so that
even `kill -9` of the supervisor leaves nothing behind. The request survives exec. Linux only: elsewhere children of a
killed supervisor stay, and the next `riffle up` says which.

A program of its own rather than `preexec_fn`, which isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
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
