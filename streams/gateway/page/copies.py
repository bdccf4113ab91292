"""Pages that ask for no copies: labs do not show them, and programs do not get them."""

from collections.abc import Iterable

from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData
from streams.maintenance.page_copies import directive_against_copies


def refuse_copies(data: PageData) -> None:
    """Raise ProblemError for a page that asks for no copies (`noarchive`, ...), or was removed on request."""
    refuse_directives(data.record.normalized.directives)
    if data.record.removed.reason == "request":
        raise ProblemError(_no_copies("The page was removed on request."))


def refuse_directives(directives: Iterable[str]) -> None:
    """Raise ProblemError for the directives of a page that asks for no copies."""
    if directive := directive_against_copies(directives):
        raise ProblemError(_no_copies(f"The page says `{directive}`."))


def _no_copies(why: str) -> Problem:
    return Problem(403, "no-copies", "No copy of this page is shown", why, "Its history is shown at /page.")
