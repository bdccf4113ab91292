"""The steps of a research, while they happen, and its result: the statements of each part. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from streams.answers.choices import Chosen
from streams.answers.research.bounds import Spent

StepKind = Literal["divide", "search", "link", "around", "similar", "choose", "rephrase", "follow"]
Fault = Literal["", "late", "unavailable", "refused"]
"""Why a step found nothing: no time was left, a server did not answer, or the query was refused."""
End = Literal["answered", "nothing-new", "one-round", "searches", "calls", "tokens", "time", "budget", "rounds"]
"""Why a research ended: all parts have statements, a round found nothing new, there is one round without a model, or a
bound is reached. `budget`: of the person, the key or the installation."""
Division = Literal["model", "clauses", "whole"]
"""Who divided the question: the model, its marks and conjunctions, or nobody."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step, when it begins and when it has ended."""

    number: int
    kind: StepKind
    part: int = -1
    """The part that it is for, from 0; -1: the whole question."""
    asked: str = ""
    """The query, the address of a page, or a statement."""
    is_done: bool = False
    pages: int = 0
    """Pages that were found, or that the model was asked about."""
    new: int = 0
    """Statements that were not known for this part before."""
    kept: int = 0
    """Statements that were chosen for the part."""
    seconds: float = 0.0
    fault: Fault = ""
    texts: tuple[str, ...] = ()
    """The parts of the question (`divide`), or what is read next (`rephrase`, `follow`)."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A part of the question with its statements."""

    text: str
    queries: tuple[str, ...]
    """The queries that were searched for it."""
    statements: tuple[Chosen, ...] = ()
    confidence: float = 0.0
    """The calibrated probability that its best statement answers it (docs/decisions/0078)."""
    by: Literal["model", "order"] = "order"
    """Who chose the statements: the model, or the confidence."""
    is_open: bool = False
    """True: it was not answered. Its statements, if it has some, are only the nearest."""
    missing: tuple[str, ...] = ()
    """Words of it that no page has."""


@dataclass(slots=True)
class Research:
    """A research: filled while it runs."""

    question: str
    divided: Division = "whole"
    parts: list[Answered] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    end: End = "answered"
    withheld: int = 0
    """Pages whose publishers allow no input of models."""
    is_partial: bool = False
    """True: a search failed, or a part of one."""
    model: Literal["", "used", "failed", "none"] = ""
    """`failed`: the model was asked, and did not answer. `none`: there is no model, or no calls were allowed."""

    @property
    def open(self) -> Sequence[Answered]:
        return [each for each in self.parts if each.is_open]
