"""Problems in the forms of other services, at the paths where the gateway answers as they do. Pure.

A program that was made for such a service shows its people the text that stands where that service has it.
"""

from collections.abc import Callable
from typing import Any

from streams.gateway.http.problems import Problem

Form = Callable[[Problem], dict[str, Any]]
"""Return the JSON of a problem."""


def _in_words(problem: Problem) -> str:
    return " ".join(filter(None, (f"{problem.title}.", problem.detail, problem.hint)))


def _openai(problem: Problem) -> dict[str, Any]:
    kind = "server_error" if problem.status >= 500 else _OPENAI_TYPES.get(problem.status, "invalid_request_error")
    of_error = {"message": _in_words(problem), "type": kind, "param": problem.parameter or None, "code": problem.kind}
    return {"error": of_error}


_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
FORMS: dict[str, Form] = {
    "/searxng": lambda problem: {"error": _in_words(problem)},
    "/tavily": lambda problem: {"detail": {"error": _in_words(problem)}},
    "/openwebui": lambda problem: {"detail": _in_words(problem)},
    "/v1": _openai,
}
"""The form of each service, by the path below which the gateway answers as it."""


def form_of(path: str) -> Form | None:
    """Return the form of problems at a path; None: RFC 9457."""
    return FORMS.get("/" + path[1:].partition("/")[0])
