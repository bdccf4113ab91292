"""A program that replaces itself by a command, which dies with its parent.

    python -I -S die_with_parent.py PARENT_PID SLACK COMMAND...

SLACK is the maximum delay of the process's timers (microseconds), so that several timers wake it once (prctl(2),
PR_SET_TIMERSLACK). 0 leaves the kernel's own slack, 50.

The kernel sends SIGKILL when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG), so that even
`kill -9` of the supervisor leaves no process behind. The request survives exec. On systems other than Linux, children
of a killed supervisor stay, and the next `riffle up` names them.

This is a separate program because `preexec_fn` isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_TIMERSLACK = 29


def main() -> None:
    parent, slack = map(int, sys.argv[1:3])
    command = sys.argv[3:]
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if slack:
            prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1_000 * slack), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request was made
            sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]} can't be run: {error.strerror}")


if __name__ == "__main__":
    main()
