"""Errors as people and programs can use them: problem details (RFC 9457), with one stable `type` per kind.

The same Problem becomes `application/problem+json` under /api and a page for people elsewhere. `type` is a URN: it
names the kind and promises no address. A problem says what happened, where, and what to do.
"""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"
_URN = "urn:riffle:problem:"


@dataclass(frozen=True, slots=True)
class Problem:
    """One failure of a request. `hint` says what to do; `headers` go with the response."""

    status: int
    kind: str
    """Stable, kebab-case: the end of the `type` URN."""
    title: str
    detail: str = ""
    hint: str = ""
    parameter: str = ""
    """The request's parameter that is at fault, if one is."""
    headers: dict[str, str] = field(default_factory=dict)

    def to_json(self, instance: str = "") -> dict[str, Any]:
        """The members of RFC 9457, section 3.1, and our extensions `hint` and `parameter`. Empty ones are left out."""
        members = {
            "type": _URN + self.kind,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            "hint": self.hint,
            "parameter": self.parameter,
        }
        return {name: value for name, value in members.items() if value}


class ProblemError(Exception):
    """Ends a request with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.kind}: {problem.detail or problem.title}")
        self.problem = problem


def invalid_parameter(parameter: str, detail: str, hint: str = "") -> Problem:
    return Problem(400, "invalid-parameter", "A parameter is not valid", detail, hint, parameter)


def search_unavailable(detail: str, retry_after_seconds: int = 5) -> Problem:
    """Nothing can be found just now: the index does not answer."""
    return Problem(
        503,
        "search-unavailable",
        "Search is not available just now",
        detail,
        "Nothing is wrong with your query. Try again in a few seconds.",
        headers={"Retry-After": str(retry_after_seconds)},
    )


def records_unavailable(detail: str, retry_after_seconds: int = 5) -> Problem:
    """Nothing can be said of a page just now: the records do not answer."""
    return Problem(
        503,
        "records-unavailable",
        "Page records are not available just now",
        detail,
        "Try again in a few seconds.",
        headers={"Retry-After": str(retry_after_seconds)},
    )


def unknown_page(subject: str) -> Problem:
    return Problem(
        404,
        "unknown-page",
        "Riffle has never seen this page",
        f"There is no record of {subject}: it was neither linked from a page that was crawled, nor given as a seed.",
        "Check the address. Whoever runs this Riffle can add it with `riffle crawl URL`.",
    )


def of_status(status: int, detail: str = "", headers: dict[str, str] | None = None) -> Problem:
    """The problem for an HTTP status that no code of ours explained: unknown path, wrong method."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    hints = {404: "Check the address, or start from the search page.", 405: "Use GET."}
    kind = phrase.lower().replace(" ", "-").replace("'", "")
    return Problem(
        status, kind, phrase, detail if detail != phrase else "", hints.get(status, ""), headers=headers or {}
    )


def internal() -> Problem:
    """A fault of ours. Says nothing of the inside; the log has the traceback."""
    return Problem(
        500, "internal", "Something broke on our side", "The fault was written to the log.", "Try again in a moment."
    )
