"""The statements that were found for one part of a question, and those that are kept of them. Pure."""

from collections.abc import Iterable
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
MAX_OF_PAGE = 3
"""Maximum statements of a page that are shown for a part: no page crowds out the others."""
MAX_BEST = 4
"""Maximum statements of a part that are shown by their confidence, if no model chose them."""
MAX_SHOWN = 5
"""Maximum statements of a part that are shown, if no model chose them."""
FIRST_PAGES = 3
"""Number of first results whose first statement is shown, too, if none of them is."""
MAX_BEHIND = 2.0
"""Maximum distance of a statement's value as an answer behind the best value (logits): others do not help."""
OPEN_BELOW = 0.4
"""Minimum confidence of a part that counts as answered without a model. Of questions to handbooks, 14 of 84 with an
answer are below it, and 56 of 84 without one: no other tenth divides them better."""
LIKELY = 0.5
"""Minimum confidence of a statement that stands before the choices of a model: it rather answers than not."""


@dataclass(slots=True)
class Shown:
    """The texts that all parts show: of each page no more than its publisher lets others quote."""

    texts: set[str] = field(default_factory=set)
    characters: dict[UUID, int] = field(default_factory=dict)
    """By page."""

    def allows(self, chosen: Chosen) -> bool:
        page, is_new = chosen.evidence.page_id, chosen.text not in self.texts
        length = self.characters.get(page, 0) + is_new * len(chosen.text)
        return chosen.evidence.consent.allows_quoting(length)

    def add(self, chosen: Chosen) -> None:
        if chosen.text not in self.texts:
            self.texts.add(chosen.text)
            page = chosen.evidence.page_id
            self.characters[page] = self.characters.get(page, 0) + len(chosen.text)


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
    kept: list[Chosen] = field(default_factory=list)
    """The statements that are shown."""
    confidence: float = 0.0
    missing: tuple[str, ...] | None = None
    """The words that no page has, if no search for the part was without such words. None: nothing was searched yet."""

    def add(self, evidence: Iterable[Evidence]) -> int:
        """Add statements, and return how many of them were not known."""
        before = len(self.found)
        for each in evidence:
            if len(self.found) < MAX_GATHERED:
                self.found.setdefault(each.id, each)
        return len(self.found) - before

    def note_missing(self, missing: tuple[str, ...]) -> None:
        """Note the words of a search that no page has."""
        self.missing = missing if self.missing is None or not missing else self.missing

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

    def pick(self, parameters: Parameters, shown: Shown) -> None:
        """Keep what the model chose, or else the statements that answer best, each page with a few.

        A small model misses much. So a statement that rather answers than not stands before the model's choices.
        `shown`: what other parts show, which only a model chooses again. The picked ones are added.
        """
        self.confidence, judged = self.judged(parameters)
        least = max((each.value for each in judged), default=0.0) - MAX_BEHIND
        best = (Chosen(each.evidence.text.strip(), each.evidence) for each in judged if each.value >= least)
        if self.chosen:
            known = {each.evidence.id for each in self.chosen}
            first = next(best, None) if self.confidence >= LIKELY else None
            for each in [*([first] if first and first.evidence.id not in known else []), *self.chosen]:
                if shown.allows(each):
                    shown.add(each)
                    self.kept.append(each)
            return
        for each in best:
            if len(self.kept) < MAX_BEST and self._has_room(each.evidence, MAX_OF_PAGE):
                self._keep(each, shown)

    def fill(self, shown: Shown) -> None:
        """Keep the first statement of each other first result, if no model chose.

        The confidence knows questions with short answers. For others, the order of the search says more.
        """
        for each in self.found.values() if not self.chosen else ():
            if len(self.kept) < MAX_SHOWN and each.rank < FIRST_PAGES and self._has_room(each, 1):
                self._keep(Chosen(each.text.strip(), each), shown)

    def answered(self) -> Answered:
        """Return the part as it is shown."""
        return Answered(
            text=self.part.text,
            queries=tuple(self.queries),
            statements=tuple(self.kept),
            confidence=round(self.confidence, 3),
            by="model" if self.chosen else "order",
            is_open=bool(self.missing) or not self.kept or (not self.chosen and self.confidence < OPEN_BELOW),
            missing=self.missing or (),
        )

    def _keep(self, chosen: Chosen, shown: Shown) -> None:
        if chosen.text not in shown.texts and shown.allows(chosen):
            shown.add(chosen)
            self.kept.append(chosen)

    def _has_room(self, found: Evidence, most: int) -> bool:
        """Return whether a page has fewer statements than the maximum."""
        return sum(each.evidence.page_id == found.page_id for each in self.kept) < most
