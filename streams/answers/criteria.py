"""The judgement of a page by a criterion in words, from 0 to 1, as a model says. Pure.

The model writes a number, and the numbers of the statements that show it; nothing else of it is read. Each page is
judged by itself: a hostile page can claim that it meets everything, and people see its statements beside the claim.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.answers.evidence import Evidence
from streams.answers.model_text import NONE

MAX_MET = 3
"""Maximum statements of a page that are shown for a judgement. Named without a number, as many are a judgement of 1."""
MAX_CRITERION_CHARS = 200
LEAST = 0.5
"""The judgement below which a result is folded by default."""
_CITED = re.compile(r"\[\s{0,2}(\d{1,2}(?:\s{0,2},\s{0,2}\d{1,2}){0,7})\s{0,2}\]")
_NUMBER = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,3})?)(?:\s?(/\s?10{1,2}|%))?(?![\d.]?\d)")


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page with its judgement."""

    page_id: UUID
    place: int
    """Its place among the results, from 0."""
    judgement: float | None = None
    """Its judgement, from 0 to 1; None: the model was not asked, or gave no number."""
    met: tuple[Evidence, ...] = ()
    """Statements that show it."""

    def is_below(self, least: float) -> bool:
        """Return whether a slider at `least` leaves the page out. One without a judgement stays."""
        return self.judgement is not None and self.judgement < least


def clean_criterion(text: str) -> str:
    """Return the criterion on one line; empty if there is none."""
    return " ".join(text.split())[:MAX_CRITERION_CHARS]


def judgement_of(text: str, statements: Sequence[Evidence]) -> tuple[float | None, tuple[Evidence, ...]]:
    """Return the judgement in a model's text, and the statements that it names in brackets, each once."""
    numbers = [int(number) for cited in _CITED.finditer(text) for number in cited[1].split(",")]
    met = tuple(statements[number - 1] for number in dict.fromkeys(numbers) if 0 < number <= len(statements))[:MAX_MET]
    if found := _NUMBER.search(_CITED.sub(" ", text)):
        return _share_of(found), met
    if met:
        return len(met) / MAX_MET, met
    return (0.0 if NONE.match(text) else None), ()


def _share_of(found: re.Match[str]) -> float:
    """Return `7`, `7/10`, `70%` and `0.7` as .7."""
    value, scale = float(found[1]), (found[2] or "").replace(" ", "")
    whole = 100 if scale in ("%", "/100") else 1 if not scale and "." in found[1] and value <= 1 else 10
    return min(1.0, value / whole)
