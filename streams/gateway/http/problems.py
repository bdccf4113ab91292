"""Errors for people and programs: problem details (RFC 9457), with one stable `type` for each kind.

The same Problem becomes `application/problem+json` under /api and a page for people elsewhere. `type` is a URN, which
is a name and no address. A problem has what happened, where, and what to do.
"""

import shlex
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, get_args

from streams.errors import RestoreUnfinished
from streams.search.errors import InvalidQuery, QueryFault

Kind = Literal[
    QueryFault,
    "content-changed",
    "fetch-not-allowed",
    "foreign-form",
    "foreign-host",
    "form-too-large",
    "host-busy",
    "internal",
    "invalid-action",
    "invalid-form",
    "invalid-request",
    "invalid-url",
    "key-needed",
    "key-refused",
    "labs-busy",
    "link-changed",
    "link-expired",
    "link-foreign",
    "map-damaged",
    "method-not-allowed",
    "no-content",
    "no-copies",
    "no-model",
    "no-statements",
    "not-fetched",
    "not-found",
    "not-indexed",
    "not-readable",
    "preferences-off",
    "records-unavailable",
    "scope-missing",
    "search-unavailable",
    "too-many-requests",
    "unauthorized",
    "unavailable",
    "unknown-entity",
    "unknown-page",
    "unknown-site",
]
"""The kind of a problem: the end of its `type`. Kinds are stable, and docs/reference/api.md says when each comes."""
KINDS: tuple[str, ...] = tuple(sorted(get_args(Kind)))
MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5
"""`Retry-After` while a store does not answer (seconds)."""
_URN = "urn:riffle:problem:"
_AGAIN = "Try again in a few seconds."
_RESTORING = "A restore of this search engine from a backup is not finished, so parts of its index are missing."
_RESTORING_HINT = "Try again later. Its operator sees what to do with `riffle doctor`."
_OF_STATUS: dict[int, tuple[Kind, str]] = {
    404: ("not-found", "There is no such page"),
    405: ("method-not-allowed", "The method is not allowed"),
}
"""Kind and title of the problems that the framework finds: no route, or none with the method."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One failure of a request. `hint` says what to do; `headers` are sent with the response."""

    status: int
    kind: Kind
    title: str
    detail: str = ""
    hint: str = ""
    parameter: str = ""
    """The parameter at fault, if there is one."""
    headers: dict[str, str] = field(default_factory=dict)

    def to_json(self, instance: str = "") -> dict[str, Any]:
        """Return the members of RFC 9457 (section 3.1), `hint` and `parameter`. Empty members are left out."""
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
    """An error that ends the request with this problem as the response."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.kind}: {problem.detail or problem.title}")
        self.problem = problem


def invalid_parameter(parameter: str, detail: str, hint: str = "") -> Problem:
    return Problem(400, "invalid-parameter", "A parameter is not valid", detail, hint, parameter)


def invalid_query(error: InvalidQuery) -> Problem:
    return Problem(400, error.kind, error.title, error.detail, error.hint, error.parameter)


def search_unavailable(detail: str, cause: BaseException | None = None) -> Problem:
    """Return the problem of a search while the index does not answer. `cause`: the error of the store, if known."""
    return _unavailable("search-unavailable", "Search is not available now", detail, cause, "Your query is correct. ")


def records_unavailable(detail: str, cause: BaseException | None = None) -> Problem:
    """Return the problem of a page while the records do not answer. `cause`: the error of the store, if known."""
    return _unavailable("records-unavailable", "Page records are not available now", detail, cause)


def _unavailable(kind: Kind, title: str, detail: str, cause: BaseException | None, comfort: str = "") -> Problem:
    """Return the problem. An unfinished restore is named instead of `detail`: nothing recovers until it is finished."""
    is_restoring = isinstance(cause, RestoreUnfinished)
    says, hint = (_RESTORING, _RESTORING_HINT) if is_restoring else (detail, _AGAIN)
    return Problem(503, kind, title, says, f"{comfort}{hint}", headers={"Retry-After": str(RETRY_SECONDS)})


def unknown_page(subject: str, left_out: str = "") -> Problem:
    """Return the problem of a page without a record. `subject`: its URL, or words for a page whose URL is not known.

    `left_out`: why no crawl follows a link to it.
    """
    named = shlex.quote(subject) if "://" in subject else "URL"
    return Problem(
        404,
        "unknown-page",
        "Riffle has never seen this page",
        f"There is no record of {subject}: no crawled page links to it, and it was not given as a seed."
        + (f" No crawl would follow a link to it: {left_out}." if left_out else ""),
        f"Check the address. The operator of this Riffle can add the page with `riffle crawl {named}`.",
    )


def unknown_entity(entity_id: str) -> Problem:
    return Problem(
        404,
        "unknown-entity",
        "There is no such entity",
        f"No imported entity with a panel has the id {entity_id}.",
        "Search for its name. The operator of this Riffle can import entities with `riffle import`.",
    )


def foreign_host(host: str) -> Problem:
    return Problem(
        403,
        "foreign-host",
        "This gateway has another name",
        f"The request is for {host or 'no host'}, which is not a name of this gateway.",
        "Use an address of this gateway. If this is one, the operator adds its name to RIFFLE_GATEWAY__ALLOWED_HOSTS.",
    )


def of_status(status: int, detail: str = "", headers: dict[str, str] | None = None) -> Problem:
    """Return the problem of an HTTP status that the framework set: as a rule an unknown path, or a wrong method."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    kind, title = _OF_STATUS.get(status, ("invalid-request" if status < 500 else "internal", phrase))
    hints = {404: "Check the address, or go to the start page."}
    if status == 405 and (allowed := (headers or {}).get("Allow")):
        hints[405] = f"Use {allowed}."
    why = detail if detail != phrase else ""
    return Problem(status, kind, title, why, hints.get(status, ""), headers=headers or {})


def internal() -> Problem:
    """Return the problem of a fault in the gateway. It has no details; the log has the traceback."""
    return Problem(
        500,
        "internal",
        "Something failed in the gateway",
        "The fault was written to the log.",
        "Try again in a moment.",
    )
