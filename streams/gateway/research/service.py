"""A research as the page, the API and the tool begin it: with its reads, its model, and the budgets of who asks."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from streams.answers.confidence import parameters
from streams.answers.requests import ModelRequests
from streams.answers.research.bounds import Bounds
from streams.answers.research.loop import Researcher, Written
from streams.gateway.access.bucket import ANSWER, SEARCH
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.answers.service import ModelAnswers
from streams.gateway.content.reading import PageContent
from streams.gateway.context import GatewayContext
from streams.gateway.research.reads import IndexReads
from streams.gateway.search.service import SearchService
from streams.models.chat import Ending, Message

MAX_QUESTION_CHARS = 1_000
"""Maximum length of a question (characters)."""


@dataclass(frozen=True, slots=True)
class ResearchService:
    """The search, the content, the model and the guard that the researches of one process share."""

    context: GatewayContext
    search: SearchService
    content: PageContent
    answers: ModelAnswers | None
    guard: Guard

    def start(self, question: str, bounds: Bounds, charge: Charge, person: str) -> Researcher:
        """Return a research that has not begun. It reads the pages that the client may see, and spends its budgets."""
        model = _Model(self.answers.requests, charge.visible.audiences) if self.answers else None
        budget = _Budget(self.guard, charge, self.answers, person)

        def note_partial() -> None:
            made.research.is_partial = True

        reads = IndexReads(self.context, self.search, self.content, charge.visible, note_partial)
        made = Researcher(question, reads, model, bounds, budget, parameters(), asyncio.get_running_loop().time)
        return made


@dataclass(frozen=True, slots=True)
class _Model:
    """The operator's model for one reader. See `streams.answers.research.loop.Model`."""

    requests: ModelRequests
    audiences: Sequence[str]

    def known(self, messages: Sequence[Message]) -> str | None:
        return self.requests.known(messages, self.audiences)

    async def write(
        self, messages: Sequence[Message], max_tokens: int, ends_at: float, is_enough: Callable[[str], bool]
    ) -> Written:
        text, ending = "", Ending()
        pieces = self.requests.text(messages, max_tokens, ends_at, ending, self.audiences, lambda: is_enough(text))
        async with aclosing(pieces) as stream:  # type: ignore[type-var]  # a generator
            async for piece in stream:
                text += piece
        return Written(text, ending.is_cut)


@dataclass(slots=True)
class _Budget:
    """The budgets of one research: work units of the key or address, and answers by a model of the person."""

    guard: Guard
    charge: Charge
    answers: ModelAnswers | None
    person: str

    async def may_search(self) -> bool:
        if not await self.guard.has_budget(self.charge):
            return False
        self.charge.spend_further(SEARCH)
        return True

    async def may_answer(self) -> bool:
        assert self.answers is not None
        if not (await self.guard.has_budget(self.charge) and await self.answers.take(self.person)):
            return False
        self.charge.spend_further(ANSWER)
        return True
