"""The statements that were found for one part of a question, and those that are kept of them. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from streams.answers.choices import Chosen
from streams.answers.choosing import judge_answers
from streams.answers.confidence import Judged, Parameters
from streams.answers.evidence import Evidence
from streams.answers.research.parts import Part
from streams.answers.research.results import Answered

MAX_GATHERED = 200
"""Maximum statements of a part: the first ones."""
MAX_OF_PAGE = 2
"""Maximum statements of a page that are shown for a part: no page crowds out the others."""
MAX_SHOWN = 3
"""Maximum statements of a part that are shown if no model chose them."""
MAX_BEHIND = 2.0
"""Maximum distance of a statement's value as an answer behind the best value (logits): others do not help."""
MIN_CONFIDENCE = 0.5
"""Minimum confidence of a part that counts as answered without a model: it is rather answered than not."""


@dataclass(slots=True)
class Gathered:
    """The statements that were found for one part."""

    part: Part
    queries: list[str] = field(default_factory=list)
    found: dict[UUID, Evidence] = field(default_factory=dict)
    """By statement, those with the nearest vector first within a search."""
    chosen: list[Chosen] = field(default_factory=list)
    """The statements that the model chose."""
    asked: set[UUID] = field(default_factory=set)
    """Statements that the model was asked about."""
    followed: set[UUID] = field(default_factory=set)
    """Pages from which the model was asked for a way on."""

    def add(self, evidence: Iterable[Evidence]) -> int:
        """Add statements, and return how many of them were not known."""
        before = len(self.found)
        for each in evidence:
            if len(self.found) < MAX_GATHERED:
                self.found.setdefault(each.id, each)
        return len(self.found) - before

    def judged(self, parameters: Parameters) -> tuple[float, list[Judged]]:
        """Return the confidence of the best statement, and the statements that may answer, the best first."""
        return judge_answers(self.part.query, list(self.found.values()), parameters)

    def fresh_pages(self, most: int, parameters: Parameters) -> list[list[Evidence]]:
        """Return the statements that the model was not asked about, by page: the pages with the best ones first."""
        best = {each.evidence.id: place for place, each in enumerate(self.judged(parameters)[1])}
        fresh = [each for each in self.found.values() if each.id not in self.asked]
        order = sorted(fresh, key=lambda each: best.get(each.id, len(best)))
        pages: dict[UUID, list[Evidence]] = {}
        for each in order:
            pages.setdefault(each.page_id, []).append(each)
        return list(pages.values())[:most]

    def choose(self, chosen: Iterable[Chosen]) -> int:
        """Keep what the model chose, and return how many statements that are."""
        before = len(self.chosen)
        for each in chosen:
            of_page = sum(one.evidence.page_id == each.evidence.page_id for one in self.chosen)
            if of_page < MAX_OF_PAGE and all(one.text != each.text for one in self.chosen):
                self.chosen.append(each)
        return len(self.chosen) - before

    def answered(self, parameters: Parameters, shown: set[str]) -> Answered:
        """Return the part as it is shown, without texts of earlier parts (`shown`), and add its own to them."""
        confidence, judged = self.judged(parameters)
        is_chosen = bool(self.chosen)
        kept = [each for each in self.chosen if each.text not in shown] if is_chosen else _best(judged, shown)
        shown.update(each.text for each in kept)
        return Answered(
            text=self.part.text,
            queries=tuple(self.queries),
            statements=tuple(kept),
            confidence=round(confidence, 3),
            by="model" if is_chosen else "order",
            is_open=not is_chosen and (not kept or confidence < MIN_CONFIDENCE),
        )


def _best(judged: Sequence[Judged], shown: Collection[str]) -> list[Chosen]:
    """Return the best statements of all pages, each page with a few."""
    counts: Counter[UUID] = Counter()
    kept: dict[str, Chosen] = {}
    least = max((each.value for each in judged), default=0.0) - MAX_BEHIND
    for found in (each.evidence for each in judged if each.value >= least):
        text = found.text.strip()
        if text not in shown and text not in kept and counts[found.page_id] < MAX_OF_PAGE:
            counts[found.page_id] += 1
            kept[text] = Chosen(text, found)
    return list(kept.values())[:MAX_SHOWN]
