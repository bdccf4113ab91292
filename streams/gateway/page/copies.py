"""Pages of which nobody gets a copy: labs do not show them, and programs do not get them."""

from collections.abc import Iterable

from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData
from streams.maintenance.page_copies import directive_against_copies
from streams.stores.removals import has_left


def refuse_copies(data: PageData) -> None:
    """Raise ProblemError for a page that asks for no copies (`noarchive`), or left the index, also on request."""
    refuse_directives(data.record.normalized.directives)
    if data.record.removed.reason == "request":
        raise ProblemError(_no_copies("The page was removed on request."))
    if has_left(data.record):
        raise ProblemError(_no_copies("The page left the index."))


def refuse_directives(directives: Iterable[str]) -> None:
    """Raise ProblemError for the directives of a page that asks for no copies."""
    if directive := directive_against_copies(directives):
        raise ProblemError(_no_copies(f"The page says `{directive}`."))


def _no_copies(why: str) -> Problem:
    return Problem(403, "no-copies", "No copy of this page is shown", why, "Its history is shown at /page.")
