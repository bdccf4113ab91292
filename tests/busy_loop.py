"""Questions to a thread of health checks while the process's own event loop takes no turn."""

import threading
import time
from collections.abc import Callable
from typing import Any

LOOK_SECONDS = 0.05
Answer = tuple[int, dict[str, Any]]
"""The HTTP status and the content of an answer."""


def ask_while_busy(ask: Callable[[], Answer], status: int, age_seconds: float = 1.0) -> dict[str, Any]:
    """Ask in another thread, while this one waits for it and its loop takes no turn, until the status is this one and
    the loop's last turn is so long ago. Returns the content of that answer.

    Time counts for health only as far as the machine has time for the process, so no number of seconds is enough."""
    found: list[Answer] = []

    def look() -> None:
        while not found or (found[-1][0], found[-1][1]["loop_turn_age_seconds"] >= age_seconds) != (status, True):
            time.sleep(LOOK_SECONDS)
            found.append(ask())

    asking = threading.Thread(target=look, daemon=True)
    asking.start()
    asking.join()
    return found[-1][1]
