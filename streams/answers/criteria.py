"""Results ordered by a criterion in words: the statements of each page that meet it, as a model says. Pure.

The model only names statements by their numbers, and nothing that it writes is shown. Each page is judged by itself: a
hostile page can claim that its own statements meet everything, and people see these statements beside the claim.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.answers.evidence import Evidence
from streams.answers.model_text import named_numbers

MAX_COUNTED = 3
"""Maximum statements of a page that count: more of them make no page better."""
MAX_CRITERION_CHARS = 200


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page with the statements that meet the criterion."""

    page_id: UUID
    place: int
    """Its place among the results, from 0."""
    met: tuple[Evidence, ...] = ()
    is_read: bool = True
    """False: the model was not asked, or did not answer."""


def clean_criterion(text: str) -> str:
    """Return the criterion on one line; empty if there is none."""
    return " ".join(text.split())[:MAX_CRITERION_CHARS]


def met_statements(text: str, statements: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the statements that a model's text names by their numbers, each once, in their order."""
    named = {number for number in named_numbers(text) if 0 < number <= len(statements)}
    return tuple(statements[number - 1] for number in sorted(named))


def order_by_criterion(pages: Iterable[JudgedPage]) -> list[JudgedPage]:
    """Return the pages with the most statements that meet the criterion first; equal ones keep their order."""
    return sorted(pages, key=lambda page: (-min(len(page.met), MAX_COUNTED), page.place))
