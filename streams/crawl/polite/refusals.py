"""The reasons why a host is not asked, with the words for people. Pure."""

from typing import Literal

Reason = Literal[
    "rule", "hidden", "blocked", "removed", "disallowed", "unreachable", "closed", "resting", "busy", "elsewhere"
]
"""`rule`: the URL may not be crawled. `hidden`: the asker may not see it. `closed`: outside of the host's visit times.
`resting`: the host failed, or asked for time. `busy`: others ask it just now. `elsewhere`: a redirect to another
domain."""
WILL_PASS: frozenset[Reason] = frozenset({"unreachable", "closed", "resting", "busy"})
"""The reasons that end by themselves."""


class NotAsked(Exception):
    """The host was not asked. `detail` is a sentence for people; `wait_seconds`: 0 if waiting does not help."""

    def __init__(self, reason: Reason, detail: str, wait_seconds: float = 0.0) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.wait_seconds = reason, detail, wait_seconds
