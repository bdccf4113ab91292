"""The errors of the client."""

from typing import Any


class ApiError(Exception):
    """The gateway refused a request, or could not answer it: the problem (RFC 9457) that it sent."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after_seconds: float | None = None) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).removeprefix("urn:riffle:problem:")
        """The kind of the problem, such as `too-many-requests`. Kinds are stable."""
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        self.hint = str(problem.get("hint", ""))
        self.parameter = str(problem.get("parameter", ""))
        self.retry_after_seconds = retry_after_seconds
        parts = (f"{status} {self.title}".strip(), self.detail, self.hint)
        super().__init__(": ".join(part for part in parts[:2] if part) + (f" {self.hint}" if self.hint else ""))


class NotReached(Exception):
    """The gateway can't be reached, or did not answer in time."""


class NotDone(Exception):
    """A crawl was not done within the time that its caller gave it."""


class Forged(Exception):
    """An event has no valid signature, or one of another time: the gateway did not send it now."""
