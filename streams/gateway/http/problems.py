"""Errors for people and programs: problem details (RFC 9457), with one stable `type` for each kind.

The same Problem becomes `application/problem+json` under /api and a page for people elsewhere. `type` is a URN, which
is a name and no address. A problem has what happened, where, and what to do.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, get_args

from streams.errors import InvalidQuery, QueryFault, RestoreUnfinished
from streams.plain_text import message

Kind = Literal[
    QueryFault,
    "content-changed", "fetch-not-allowed", "foreign-form", "foreign-host", "form-too-large", "host-busy",
    "internal", "invalid-action", "invalid-body", "invalid-form", "invalid-request", "invalid-url", "key-needed",
    "key-refused", "labs-busy", "link-changed", "link-expired", "link-foreign", "map-damaged", "method-not-allowed",
    "no-content", "no-copies", "no-model", "no-statements", "not-fetched", "not-found", "not-indexed", "not-readable",
    "not-writable", "preferences-off", "quota-spent", "records-unavailable", "repeated-otherwise", "scope-missing",
    "search-unavailable", "still-answered", "too-large", "too-many-requests", "unauthorized", "unavailable",
    "unknown-crawl", "unknown-entity", "unknown-hook", "unknown-page", "unknown-site",
]  # fmt: skip
"""The kind of a problem: the end of its `type`. Kinds are stable, and docs/reference/api.md says when each comes."""
KINDS: tuple[str, ...] = tuple(sorted(get_args(Kind)))
MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5
"""`Retry-After` while a store does not answer (seconds)."""
_LOOK_AGAIN = message("Check the address, or go to the start page.")
_URN = "urn:riffle:problem:"
_AGAIN = message("Try again in a few seconds.")
_RESTORING = message(
    "A restore of this search engine from a backup is not finished, so parts of its index are missing."
)
_RESTORING_HINT = message("Try again later. Its operator sees what to do with `riffle doctor`.")
STATUS_AND_TITLE: Mapping[Kind, tuple[int, str]] = {
    "content-changed": (409, message("The page has other content by now")),
    "fetch-not-allowed": (403, message("This gateway fetches no page for you now")),
    "foreign-form": (403, message("This form is of another site")),
    "foreign-host": (403, message("This gateway has another name")),
    "form-too-large": (413, message("The form is too large")),
    "host-busy": (503, message("The page's host must not be asked so soon")),
    "internal": (500, message("Something failed in the gateway")),
    "invalid-action": (400, message("This can't be done")),
    "invalid-body": (400, "The body of the request is not valid"),
    "invalid-form": (400, message("The form can't be read")),
    "invalid-parameter": (400, message("A parameter is not valid")),
    "invalid-request": (400, message("The request is not valid")),
    "invalid-url": (400, message("This is not the address of a web page")),
    "key-needed": (401, message("This API needs a key")),
    "key-refused": (401, message("The key is refused")),
    "labs-busy": (503, message("Too many pages are being taken apart")),
    "link-changed": (400, message("This link was changed")),
    "link-expired": (410, message("This link has expired")),
    "link-foreign": (400, message("This link is not from here")),
    "map-damaged": (500, message("The map can't be read")),
    "method-not-allowed": (405, message("The method is not allowed")),
    "no-content": (404, message("There is no such content of this page")),
    "no-copies": (403, message("No copy of this page is shown")),
    "no-model": (404, message("No language model is configured")),
    "no-statements": (404, message("This page has no statements")),
    "not-fetched": (502, message("The page could not be fetched")),
    "not-found": (404, message("There is no such page")),
    "not-indexed": (404, message("This page is not in the index")),
    "not-readable": (502, message("The page can't be read")),
    "not-writable": (403, "The key may not write this page"),
    "preferences-off": (404, message("This search page keeps no preferences")),
    "query-empty": (400, message("There is nothing to search for")),
    "quota-spent": (429, "The key has written its pages of today"),
    "records-unavailable": (503, message("Page records are not available now")),
    "repeated-otherwise": (422, "This idempotency key was used for another request"),
    "scope-missing": (403, message("The key does not allow this")),
    "search-unavailable": (503, message("Search is not available now")),
    "still-answered": (409, "The same request is being answered"),
    "too-large": (413, "The request is too large"),
    "too-many-requests": (429, message("Too many requests")),
    "unauthorized": (401, message("This page is for operators")),
    "unavailable": (503, message("A server does not answer")),
    "unknown-crawl": (404, "There is no such crawl"),
    "unknown-entity": (404, message("There is no such entity")),
    "unknown-hook": (404, "There is no such webhook"),
    "unknown-page": (404, message("Riffle has never seen this page")),
    "unknown-site": (404, message("There is no such site here")),
}
"""The status and the title of each kind, unless a problem has its own. A title that only programs see is in English."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One failure of a request. `hint` says what to do; `headers` are sent with the response."""

    kind: Kind
    detail: str = ""
    hint: str = ""
    parameter: str = ""
    """The parameter at fault, if there is one."""
    headers: dict[str, str] = field(default_factory=dict, kw_only=True)
    title: str = field(default="", kw_only=True)
    """Empty: the title of its kind."""
    status: int = field(default=0, kw_only=True)
    """0: the status of its kind."""

    def __post_init__(self) -> None:
        status, title = STATUS_AND_TITLE.get(self.kind, (0, ""))
        object.__setattr__(self, "status", self.status or status)
        object.__setattr__(self, "title", self.title or title)

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
    return Problem("invalid-parameter", detail, hint, parameter)


def invalid_query(error: InvalidQuery) -> Problem:
    return Problem(error.kind, error.detail, error.hint, error.parameter, title=error.title, status=400)


def search_unavailable(detail: str, cause: BaseException | None = None) -> Problem:
    """Return the problem of a search while the index does not answer. `cause`: the error of the store, if known."""
    return _unavailable("search-unavailable", detail, cause, message("Your query is correct."))


def records_unavailable(detail: str, cause: BaseException | None = None) -> Problem:
    """Return the problem of a page while the records do not answer. `cause`: the error of the store, if known."""
    return _unavailable("records-unavailable", detail, cause)


def _unavailable(kind: Kind, detail: str, cause: BaseException | None, comfort: str = "") -> Problem:
    """Return the problem. An unfinished restore is named instead of `detail`: nothing recovers until it is finished."""
    is_restoring = isinstance(cause, RestoreUnfinished)
    says, hint = (_RESTORING, _RESTORING_HINT) if is_restoring else (detail, _AGAIN)
    advice = message("%(comfort)s %(hint)s", comfort=comfort, hint=hint) if comfort else hint
    return Problem(kind, says, advice, headers={"Retry-After": str(RETRY_SECONDS)})


def unknown_page(subject: str, left_out: str = "") -> Problem:
    """Return the problem of a page without a record. `subject`: its URL, or words for a page whose URL is not known.

    `left_out`: why no crawl follows a link to it.
    """
    named = shlex.quote(subject) if "://" in subject else "URL"
    unknown = message(
        "There is no record of %(page)s: no crawled page links to it, and it was not given as a seed.", page=subject
    )
    return Problem(
        "unknown-page",
        message("%(unknown)s No crawl would follow a link to it: %(reason)s.", unknown=unknown, reason=left_out)
        if left_out
        else unknown,
        message(
            "Check the address. The operator of this Riffle can add the page with `%(command)s`.",
            command=f"riffle crawl {named}",
        ),
    )


def unknown_entity(entity_id: str) -> Problem:
    return Problem(
        "unknown-entity",
        message("No imported entity with a panel has the id %(id)s.", id=entity_id),
        message("Search for its name. The operator of this Riffle can import entities with `riffle import`."),
    )


def foreign_host(host: str) -> Problem:
    return Problem(
        "foreign-host",
        message("The request is for %(host)s, which is not a name of this gateway.", host=host)
        if host
        else message("The request names no host."),
        message(
            "Use an address of this gateway. If this is one, the operator adds its name to "
            "RIFFLE_GATEWAY__ALLOWED_HOSTS."
        ),
    )


def of_status(status: int, detail: str = "", headers: dict[str, str] | None = None) -> Problem:
    """Return the problem of an HTTP status that the framework set: as a rule an unknown path, or a wrong method."""
    allowed = (headers or {}).get("Allow")
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    why = detail if detail != phrase else ""
    match status:
        case 404:
            return Problem("not-found", why, _LOOK_AGAIN, headers=headers or {})
        case 405:
            return Problem(
                "method-not-allowed",
                why,
                message("Use %(methods)s.", methods=allowed) if allowed else "",
                headers=headers or {},
            )
    kind: Kind = "invalid-request" if status < 500 else "internal"
    return Problem(kind, why, headers=headers or {}, title=phrase, status=status)


def internal() -> Problem:
    """Return the problem of a fault in the gateway. It has no details; the log has the traceback."""
    return Problem("internal", message("The fault was written to the log."), message("Try again in a moment."))
