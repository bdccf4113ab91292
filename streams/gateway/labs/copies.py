"""Pages that ask for no copies: labs do not show them."""

from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData

_NO_COPIES = {"noarchive", "noindex", "nosnippet", "none"}


def refuse_copies(data: PageData) -> None:
    """Raise ProblemError for a page that asks for no copies (`noarchive`, ...), or was removed on request."""
    directives = set(data.record.normalized.directives)
    forbidding = directives & _NO_COPIES
    if forbidding or data.record.removed.reason == "request":
        why = f"The page says `{sorted(forbidding)[0]}`." if forbidding else "The page was removed on request."
        raise ProblemError(
            Problem(403, "no-copies", "No copy of this page is shown", why, "Its history is shown at /page.")
        )
