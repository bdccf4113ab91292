"""The loop of a research: parts, several searches at once, a choice for each part, and ways on for what is open.

    divide   the model, or the clauses of the question, make parts
    search   all parts at once; a part keeps what its searches find
    choose   the model reads the best pages of each part, each page in a request of its own, and chooses statements
    on       for a part without a statement: a search with other words, and a way on from its best page

It ends when each part has statements, when a round finds nothing new, or at a bound. Without a model there is one
round, and the statements are the ones with the best confidence. The reads of the index, the model, the budgets and the
clock are arguments. A caller that stops reading ends everything that runs.

Texts of pages are in requests about this page only. So a page changes which of its own statements are chosen for a
part, and which of its own links is followed, and nothing else: queries are written without any text of a page.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import NamedTuple, Protocol
from uuid import UUID

from streams.answers import prompts
from streams.answers.choices import MAX_LINES, ChoiceReader, Chosen, is_about
from streams.answers.confidence import Parameters
from streams.answers.evidence import Evidence
from streams.answers.prompts import Task
from streams.answers.research.bounds import CALLS_PER_ANSWER, Bounds, tokens_of
from streams.answers.research.dividing import DIVIDE, REPHRASE, messages_for_parts, read_parts, read_search
from streams.answers.research.following import FOLLOW, Link, Way, chosen_way, texts_of, ways_from
from streams.answers.research.gathered import Gathered, Shown
from streams.answers.research.parts import Part, parts_of
from streams.answers.research.results import Division, End, Fault, Research, Step, StepKind
from streams.answers.writer import Outcome, pages_for_model
from streams.errors import DeadlineExceeded, InvalidQuery, RiffleError
from streams.models.chat import Message

MAX_ROUNDS = 3
BEAM = 3
"""Number of pages of a part that the model reads in a round: the best of all that were found for it."""
DIVIDE_SHARE = 0.3
"""Maximum share of the time in which the model makes parts: without an answer by then, clauses are searched."""


class Searched(NamedTuple):
    """The outcome of a search."""

    evidence: Sequence[Evidence]
    missing: tuple[str, ...] = ()
    """The words of the query that no page has."""


class Index(Protocol):
    """The reads of the index for one reader. They raise RiffleError."""

    async def search(self, query: str) -> Searched:
        """Return the statements of the first results, and the words of the query that no page has."""

    async def around(self, statement: Evidence, query: str) -> Sequence[Evidence]:
        """Return what stands around a statement in its page."""

    async def of_page(self, way: Way, query: str) -> Sequence[Evidence]:
        """Return the statements of the page behind a link that are nearest to the query."""

    async def similar(self, page: Evidence, query: str) -> Sequence[Evidence]:
        """Return the statements of similar pages that are nearest to the query."""

    async def links(self, page: Evidence) -> Sequence[Link]:
        """Return the links of a page to other pages of the index."""


class Written(NamedTuple):
    """The text of a model."""

    text: str
    is_cut: bool = False


class Model(Protocol):
    """The operator's model."""

    def known(self, messages: Sequence[Message]) -> str | None:
        """Return the text of a former request with these messages."""

    async def write(
        self, messages: Sequence[Message], max_tokens: int, ends_at: float, is_enough: Callable[[str], bool]
    ) -> Written:
        """Return the model's text. Raises TransientError."""


class Budget(Protocol):
    """The budgets of the person or the key, and of the installation."""

    async def may_search(self) -> bool:
        """Count one read of the index, unless a budget is used up."""

    async def may_answer(self) -> bool:
        """Count one answer by a model, unless a budget is used up."""


class Researcher:
    """One research."""

    def __init__(
        self,
        question: str,
        index: Index,
        model: Model | None,
        bounds: Bounds,
        budget: Budget,
        parameters: Parameters,
        now: Callable[[], float],
    ) -> None:
        """`now`: the clock of the event loop."""
        self.research = Research(" ".join(question.split()), model="" if model and bounds.calls else "none")
        self._index, self._model, self._bounds, self._budget = index, model if bounds.calls else None, bounds, budget
        self._parameters, self._now = parameters, now
        self._gathered: list[Gathered] = []
        self._bound: End | None = None
        self._steps, self._ends_at = 0, 0.0
        self._counting, self._withheld = asyncio.Lock(), set[UUID]()

    async def run(self) -> AsyncGenerator[Step]:
        """Yield each step when it begins and when it has ended, and fill `research`. Raises nothing."""
        started = self._now()
        self._ends_at = started + self._bounds.seconds
        parts: list[Part] = []
        async with aclosing(self._together([self._divide(parts)])) as steps:
            async for step in steps:
                yield step
        parts = parts or parts_of(self.research.question)  # the time was over at once
        self._gathered = [Gathered(part) for part in parts]
        ways = [(place, Way("search", part.query)) for place, part in enumerate(parts)]
        async with aclosing(self._rounds(ways)) as steps:
            async for step in steps:
                yield step
        shown = Shown()
        for each in self._gathered:
            each.pick(self._parameters, shown)
        for each in self._gathered:
            each.fill(shown)
        self.research.parts = [each.answered() for each in self._gathered]
        self.research.seconds = round(self._now() - started, 3)

    async def _rounds(self, ways: list[tuple[int, Way]]) -> AsyncGenerator[Step]:
        for number in range(MAX_ROUNDS):
            new, found = 0, [self._read(place, way) for place, way in ways if await self._may_search()]
            async with aclosing(self._together(found)) as steps:
                async for step in steps:
                    new += step.new
                    yield step
            if self._model is None:
                self.research.end = self._bound or "one-round"
                return
            if not new and number:  # other words may find more than the first ones
                self.research.end = self._bound or "nothing-new"
                return
            open_parts = [place for place, each in enumerate(self._gathered) if not each.chosen]
            async with aclosing(self._together([self._choose(place) for place in open_parts])) as steps:
                async for step in steps:
                    yield step
            open_parts = [place for place in open_parts if not self._gathered[place].chosen]
            if not open_parts:
                self.research.end = "answered"
                return
            if self.research.model == "failed":
                self.research.end = self._bound or "one-round"
                return
            if self._bound or number == MAX_ROUNDS - 1:
                break
            ways = []
            on = [step for place in open_parts for step in (self._rephrase(place, ways), self._follow(place, ways))]
            async with aclosing(self._together(on)) as steps:
                async for step in steps:
                    yield step
        self.research.end = self._bound or "rounds"

    def _divide(self, parts: list[Part]) -> "_Running":
        async def divide(step: Step) -> Step:
            question, fault = self.research.question, _no_fault()
            own = parts_of(question)
            by: Division = "clauses" if len(own) > 1 else "whole"
            if self._model is not None:
                ends_at = self._now() + DIVIDE_SHARE * self._bounds.seconds
                written, fault = await self._try(messages_for_parts(DIVIDE, question), DIVIDE, ends_at)
                divided = [] if written.is_cut else read_parts(written.text, question)
                own, by = (divided, "model") if len(divided) > 1 else (own, by)
            parts.extend(own)
            self.research.divided = by
            return replace(step, texts=tuple(part.text for part in own), fault=fault)

        return self._step("divide", -1, "", divide)

    def _read(self, place: int, way: Way) -> "_Running":
        gathered = self._gathered[place]
        query = way.asked if way.kind == "search" else gathered.part.query

        async def read(step: Step) -> Step:
            found = await self._of_way(way, query) if way.page else await self._search(gathered, query)
            new = gathered.add(found)
            return replace(step, pages=len({each.page_id for each in found}), new=new)

        if way.kind == "search":
            gathered.queries.append(query)
        return self._step(way.kind, place, way.asked, read)

    async def _of_way(self, way: Way, query: str) -> Sequence[Evidence]:
        if way.kind == "link":
            return await self._index.of_page(way, query)
        assert way.statement is not None, "ways from a page name a statement of it"
        read = self._index.around if way.kind == "around" else self._index.similar
        return await read(way.statement, query)

    async def _search(self, gathered: Gathered, query: str) -> Sequence[Evidence]:
        found = await self._index.search(query)
        gathered.note_missing(found.missing)
        return found.evidence

    def _choose(self, place: int) -> "_Running":
        gathered = self._gathered[place]

        async def choose(step: Step) -> Step:
            fresh = gathered.fresh_pages(BEAM, self._parameters)
            gathered.asked |= {each.id for page in fresh for each in page}
            pages = pages_for_model([each for page in fresh for each in page], Outcome(()))
            self._withheld |= {page[0].page_id for page in fresh} - {page[0].page_id for page in pages}
            self.research.withheld = len(self._withheld)
            of_pages = [(list[Chosen](), _no_fault())] * len(pages)

            async def choose_of(place: int) -> None:
                of_pages[place] = await self._choose_of(gathered.part, pages[place])

            try:
                await asyncio.gather(*map(choose_of, range(len(pages))))
            finally:  # what was chosen before the end of the time stays
                kept = gathered.choose(each for chosen, _ in of_pages for each in chosen)
            return replace(step, pages=len(pages), kept=kept, fault=max((fault for _, fault in of_pages), default=""))

        return self._step("choose", place, gathered.part.text, choose)

    async def _choose_of(self, part: Part, page: Sequence[Evidence]) -> tuple[list[Chosen], Fault]:
        """Return the statements of a page that the model chooses, without those that have no word of the part."""
        messages = prompts.messages_for(prompts.ANSWER, part.text, page)
        written, fault = await self._try(messages, prompts.ANSWER, is_enough=lambda text: text.count("\n") >= MAX_LINES)
        reader = ChoiceReader(page)
        found = [*reader.read(written.text), *reader.end(is_cut=written.is_cut)]
        return [each for each in found if is_about(each, part.query)], fault

    def _rephrase(self, place: int, ways: list[tuple[int, Way]]) -> "_Running":
        gathered = self._gathered[place]

        async def rephrase(step: Step) -> Step:
            messages = messages_for_parts(REPHRASE, gathered.part.text, gathered.queries)
            written, fault = await self._try(messages, REPHRASE, is_enough=_has_line)
            query = read_search(written.text, gathered.queries)
            if query:
                ways.append((place, Way("search", query)))
            return replace(step, texts=(query,) if query else (), fault=fault)

        return self._step("rephrase", place, gathered.part.text, rephrase)

    def _follow(self, place: int, ways: list[tuple[int, Way]]) -> "_Running":
        gathered = self._gathered[place]

        async def follow(step: Step) -> Step:
            allowed = pages_for_model(self._best_page(gathered), Outcome(()))
            if not allowed:
                return step
            best, links = allowed[0], await self._index.links(allowed[0][0])
            choices = ways_from(gathered.part.query, best, links)
            messages = prompts.messages_about(FOLLOW, gathered.part.text, texts_of(choices, links))
            written, fault = await self._try(messages, FOLLOW, is_enough=_has_line)
            way = chosen_way(written.text, choices) if written.text else None
            if way is not None:
                ways.append((place, way))
            return replace(step, asked=best[0].url, pages=1, texts=(way.asked,) if way else (), fault=fault)

        return self._step("follow", place, "", follow)

    def _best_page(self, gathered: Gathered) -> list[Evidence]:
        """Return the best statements of the best page that was not followed yet, and note that it is."""
        judged = [each.evidence for each in gathered.judged(self._parameters)[1]]
        ranked = [each for each in judged or gathered.found.values() if each.page_id not in gathered.followed]
        if ranked:
            gathered.followed.add(ranked[0].page_id)
        return [each for each in ranked if each.page_id == ranked[0].page_id]

    async def _try(
        self,
        messages: Sequence[Message],
        task: Task,
        ends_at: float = math.inf,
        is_enough: Callable[[str], bool] = lambda _: False,
    ) -> tuple[Written, Fault]:
        """Return the model's text, or an empty one with the fault. At a bound the text is empty without a fault."""
        assert self._model is not None
        research, known = self.research, self._model.known(messages)
        if known is not None:
            research.model = "used"
            return Written(known), ""
        if not await self._may_call(tokens_of(messages, task.max_tokens)):
            return Written(""), ""
        try:
            written = await self._model.write(messages, task.max_tokens, min(ends_at, self._ends_at), is_enough)
        except DeadlineExceeded:
            fault: Fault = "late"
        except RiffleError:
            fault = "unavailable"
        else:
            research.model = "used"
            return written, ""
        research.model = research.model or "failed"
        return Written(""), fault

    async def _may_search(self) -> bool:
        spent = self.research.spent
        if spent.searches >= self._bounds.searches:
            self._bound = self._bound or "searches"
        elif self._now() >= self._ends_at:
            self._bound = self._bound or "time"
        elif not await self._budget.may_search():
            self._bound = self._bound or "budget"
        else:
            spent.searches += 1
            return True
        return False

    async def _may_call(self, tokens: int) -> bool:
        spent = self.research.spent
        async with self._counting:  # the calls of an answer wait until the budget has it
            if spent.calls >= self._bounds.calls:
                self._bound = self._bound or "calls"
            elif spent.tokens + tokens > self._bounds.tokens:
                self._bound = self._bound or "tokens"
            elif spent.calls % CALLS_PER_ANSWER == 0 and not await self._budget.may_answer():
                self._bound = self._bound or "budget"
            else:
                spent.calls, spent.tokens = spent.calls + 1, spent.tokens + tokens
                return True
            return False

    def _step(self, kind: StepKind, part: int, asked: str, act: Callable[[Step], Awaitable[Step]]) -> "_Running":
        self._steps += 1
        return _Running(Step(self._steps, kind, part, asked), act)

    async def _together(self, running: Sequence["_Running"]) -> AsyncGenerator[Step]:
        """Make the steps at the same time, and yield each when it begins and when it has ended, in their order."""
        tasks = [asyncio.create_task(self._act(each)) for each in running]
        try:
            for each, task in zip(running, tasks, strict=True):
                yield each.step
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _act(self, running: "_Running") -> Step:
        started, step, fault = self._now(), running.step, _no_fault()
        try:
            async with asyncio.timeout_at(self._ends_at):
                step = await running.act(step)
        except (TimeoutError, DeadlineExceeded):
            self._bound, fault = self._bound or ("time" if self._now() >= self._ends_at else None), "late"
        except InvalidQuery:
            fault = "refused"
        except RiffleError:
            fault = "unavailable"
        if fault in ("late", "unavailable") and step.kind in ("search", "link", "around", "similar"):
            self.research.is_partial = True
        return replace(step, is_done=True, seconds=round(self._now() - started, 3), fault=fault)


class _Running(NamedTuple):
    step: Step
    act: Callable[[Step], Awaitable[Step]]


def _no_fault() -> Fault:
    return ""


def _has_line(text: str) -> bool:
    return "\n" in text.strip()
