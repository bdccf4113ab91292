"""The answers by a model of one gateway process: the questions of people, with the statements of the results."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from uuid import UUID

from streams.answers.budgets import Limits
from streams.answers.choices import Chosen
from streams.answers.choosing import FoundAnswer, asks, choose_answer
from streams.answers.confidence import parameters
from streams.answers.criteria import JudgedPage
from streams.answers.evidence import Evidence, evidence_of, evidence_of_page
from streams.answers.follow_up import search_of_turns
from streams.answers.writer import MAX_JUDGED_PAGES, Outcome, Writer, WriterOptions
from streams.credentials import TlsFiles, client_context
from streams.gateway.answers.shared_budgets import SharedBudgets
from streams.gateway.context import GatewayContext
from streams.gateway.http.keys import KEY_BYTES, derive_keys
from streams.gateway.search.service import SearchService
from streams.models.chat import ChatModel, OpenAIChat
from streams.pages.document.consent import Consent, consent_of
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.settings import AnswersSettings
from streams.stores.protocols import PageHits, Visible

SUMMARIZED_STATEMENTS = 40
"""Number of first statements of a page that a summary chooses from."""


@dataclass(slots=True)
class RunningAnswer:
    """An answer whose statements are being chosen."""

    question: str
    chosen: AsyncIterator[Chosen]
    outcome: Outcome
    evidence: Sequence[Evidence] = field(default=())

    async def quoted(self) -> FoundAnswer | None:
        """Return the answer without a model, for an answer for which the model chose nothing."""
        if self.outcome.status == "answered":
            return None
        return await asyncio.to_thread(choose_answer, self.question, self.evidence, parameters())


@dataclass(frozen=True, slots=True)
class RankedResult:
    """A result, with the place that it had."""

    page_id: UUID
    place: int
    url: str
    title: str
    host: str
    text: str
    """Its best statement, as far as it may be quoted."""

    @classmethod
    def of(cls, page: PageHits, place: int, consent: Consent) -> "RankedResult":
        first = page.hits[0].payload
        [text] = consent.quote([first.text])
        return cls(page.page_id, place, first.url, first.title, first.host, text)


@dataclass(slots=True)
class RunningRank:
    """Results that are being judged by a criterion."""

    results: Sequence[RankedResult]
    judged: AsyncIterator[JudgedPage]
    outcome: Outcome

    async def pages(self) -> AsyncGenerator[tuple[RankedResult, JudgedPage]]:
        """Yield all results in their order, each as soon as it is judged. Those that no model may read stay."""
        waiting = list(self.results)
        async with aclosing(self.judged) as judged:  # type: ignore[type-var]  # a generator
            async for page in judged:
                while waiting and waiting[0].place < page.place:
                    yield waiting[0], JudgedPage(waiting[0].page_id, waiting[0].place)
                    waiting.pop(0)
                if waiting:
                    yield waiting.pop(0), page
        for result in waiting:
            yield result, JudgedPage(result.page_id, result.place)


class ModelAnswers:
    """The writer, behind the searches of the gateway. There is none without a model in the settings."""

    def __init__(self, context: GatewayContext, chat: ChatModel) -> None:
        own = context.settings.answers
        limits = Limits(own.per_person, own.per_hour)
        given = [secret.get_secret_value() for secret in context.settings.gateway.keys[:1]]
        (key,) = derive_keys(given or [secrets.token_hex(KEY_BYTES)], "people of answers")
        on_failure = context.metrics.unshared_budgets.inc
        self._budgets = SharedBudgets(limits, key.value, context.stores, context.clock, on_failure)
        self._chat, self._clock = chat, context.clock
        self._stores = context.stores
        self._writer = Writer(chat, _options(own), self._budgets, context.clock)
        self.requests = self._writer.requests
        self.model = own.model
        self.writes_prose = own.prose_tokens > 0

    def wants(self, request: SearchRequest) -> bool:
        """Return True for the first page of a direct question: its answer is written behind the results."""
        return request.page == 1 and request.cursor is None and request.sort == "relevance" and asks(request.text)

    def answer(self, question: str, found: Found, person: str) -> RunningAnswer:
        """Begin the answer to a question by these results."""
        outcome, evidence = outcome_of(found), evidence_of(found)
        return RunningAnswer(question, self._writer.answer(question, evidence, person, outcome), outcome, evidence)

    async def converse(
        self, turns: Sequence[str], search: SearchService, visible: Visible, person: str
    ) -> RunningAnswer:
        """Begin the answer to the last question of a conversation, by the pages that the client may see.

        Raises InvalidQuery and SearchUnavailable.
        """
        asked = search_of_turns(turns)
        return self.answer(asked, await search.find(asked, visible), person)

    async def summarize(self, page: UUID, question: str, visible: Visible, person: str) -> RunningAnswer | None:
        """Begin the summary of one page; None if it is not in the index, or not for this client. Raises RiffleError."""
        hits = await self._stores.first_statements([page], SUMMARIZED_STATEMENTS, visible=visible)
        if not hits:
            return None
        record = (await self._stores.normalized([page], visible=visible)).get(page)
        outcome, evidence = Outcome(visible.audiences), evidence_of_page(hits, record)
        asked = question or evidence[0].title if evidence else question
        return RunningAnswer(asked, self._writer.summarize(asked, evidence, person, outcome), outcome, evidence)

    async def rank(
        self, question: str, criterion: str, search: SearchService, visible: Visible, person: str
    ) -> "RunningRank":
        """Begin to judge the first results of a query by a criterion. Raises InvalidQuery and SearchUnavailable."""
        found = await search.find(question, visible)
        outcome, evidence = outcome_of(found), evidence_of(found)
        first = [
            RankedResult.of(page, place, consent_of(found.facts.get(page.page_id)))
            for place, page in enumerate(found.pages[:MAX_JUDGED_PAGES])
        ]
        return RunningRank(first, self._writer.judge(criterion, evidence, person, outcome), outcome)

    async def related(
        self,
        question: str,
        evidence: Sequence[Evidence],
        person: str,
        outcome: Outcome,
        behind: Outcome | None = None,
    ) -> list[str]:
        """Return questions that a reader may ask next, and fill the outcome.

        `behind`: the outcome of the answer that they belong to.
        """
        return await self._writer.related(question, evidence, person, outcome, behind)

    async def take(self, person: str) -> bool:
        """Count one answer for a person, unless a budget is used up."""
        return not await self._budgets.take(person, self._clock())

    async def close(self) -> None:
        await self._budgets.close()
        await self._chat.close()


def outcome_of(found: Found) -> Outcome:
    """Return the outcome with which an answer by these results begins."""
    return Outcome(found.request.visible.audiences, is_partial=bool(found.failed))


def open_answers(context: GatewayContext) -> ModelAnswers | None:
    """Return the answers by the model of the settings; None where no model is configured."""
    own = context.settings.answers
    if not own.url:
        return None
    verify = client_context(TlsFiles(ca=own.ca_file)) if own.ca_file else True
    return ModelAnswers(context, OpenAIChat(own.url, own.model, own.current_key, verify=verify))


def _options(own: AnswersSettings) -> WriterOptions:
    return WriterOptions(
        model=f"{own.url} {own.model}",
        prose_tokens=own.prose_tokens,
        deadline_seconds=own.deadline_seconds,
    )
