"""Answers by a language model: each page of the results is asked by itself, and the model chooses its statements.

A page that gives the model instructions has only its own statements in its request, so it changes nothing that is said
with other pages. What is shown is cut from the statements (`choices`), unless the operator allows prose.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Literal

import structlog

from streams.answers import prompts
from streams.answers.budgets import Refusal, TakesBudget
from streams.answers.choices import ChoiceReader, Chosen, is_about
from streams.answers.criteria import JudgedPage, judgement_of
from streams.answers.evidence import Evidence
from streams.answers.model_text import ModelSentence, SentenceReader
from streams.answers.prompts import Task
from streams.answers.prose import compare_prose
from streams.answers.related import candidates_of, chosen_questions
from streams.answers.requests import MAX_AT_ONCE, ModelRequests
from streams.errors import DeadlineExceeded, TransientError
from streams.models.chat import ChatModel, Ending, Message
from streams.pages.document.consent import UNREAD_RECORD

MAX_PAGES = 3
"""Maximum results that are asked for an answer."""
MAX_JUDGED_PAGES = 10
"""Maximum results that are judged by a criterion."""
MAX_SHOWN = 6
"""Maximum statements of an answer."""
MAX_SHOWN_OF_PAGE = 3
MAX_READ_CHARS = 200
"""Maximum characters of a model's judgement that are read: it begins with its number."""

Status = Literal["answered", "unknown", "unavailable", "late", "limited", "nothing"]
"""The status of an answer: `unknown` if nothing was chosen, `nothing` if no statement may be given to a model."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """The options of the answers by a model."""

    model: str
    prose_tokens: int = 0
    """Maximum tokens of an answer in the model's own words about one page; 0: it chooses statements."""
    deadline_seconds: float = 15.0
    max_at_once: int = MAX_AT_ONCE
    """Maximum number of pages that the model is asked about at the same time: an answer asks about three."""


@dataclass(slots=True)
class Outcome:
    """The outcome of an answer, once all of its statements are there."""

    audiences: tuple[str, ...]
    """The private audiences of the reader: only they get cached texts of theirs, and learn that one is cached."""
    status: Status = "answered"
    refusal: Refusal = ""
    asked: int = 0
    """Pages that were asked."""
    dropped: int = 0
    """Statements that the model chose beside the question, and sentences of prose that their statements don't fit."""
    withheld: int = 0
    """Pages whose publishers allow no input of models."""
    is_partial: bool = False
    """True if a part of the search failed, or it is unknown whether a model may get a page: there may be more."""
    cached: int = 0
    lacks: Literal["", "late", "unavailable", "cut"] = ""
    """Why statements may be missing: the model failed for a page, or its text about one has no end."""
    ends_at: float = 0.0
    """The end time of the answer, by the clock of the event loop. It bounds the waits for slots and all requests."""


class Writer:
    """The answers by a model of one process."""

    def __init__(
        self, chat: ChatModel, options: WriterOptions, budgets: TakesBudget, clock: Callable[[], datetime]
    ) -> None:
        self._options, self._budgets, self._clock = options, budgets, clock
        self.requests = ModelRequests(chat, options.model, options.max_at_once)

    async def answer(
        self, question: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[Chosen]:
        """Yield the statements that answer a question, page by page, and fill the outcome. Raises nothing."""
        pages = pages_for_model(evidence, outcome)[:MAX_PAGES]
        async for chosen in self._choose(self._task(prompts.ANSWER), question, pages, person, outcome, is_about):
            yield chosen

    async def summarize(
        self, question: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[Chosen]:
        """Yield the statements that say what one page is about. See `answer`."""
        pages = pages_for_model(evidence, outcome)[:1]
        async for chosen in self._choose(prompts.SUMMARY, question, pages, person, outcome):
            yield chosen

    async def related(
        self,
        question: str,
        evidence: Sequence[Evidence],
        person: str,
        outcome: Outcome,
        behind: Outcome | None = None,
    ) -> list[str]:
        """Return the questions and headings of a page that the model chooses as next ones. See `answer`.

        `behind`: the outcome of the answer that they belong to. They end with it, and are not counted again.
        """
        found = (candidates_of(page, question) for page in pages_for_model(evidence, outcome)[:MAX_PAGES])
        pages = [candidates for candidates in found if candidates][:1]
        if behind and pages:
            outcome.ends_at = behind.ends_at
        elif not await self._may_ask(pages, person, outcome):
            return []
        outcome.asked = len(pages)
        messages = prompts.messages_about(prompts.RELATED, question, pages[0])
        pieces: list[str] = []
        try:
            async for piece in self._text(messages, prompts.RELATED, outcome, Ending()):
                pieces.append(piece)
        except TransientError as error:
            _note(error, outcome)
        chosen = chosen_questions("".join(pieces), pages[0])
        _conclude(outcome, chosen)
        return chosen

    async def judge(
        self, criterion: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[JudgedPage]:
        """Yield each of the first results with its judgement by a criterion, in the order of the results. All are asked
        at once, each by itself. See `answer`."""
        pages = pages_for_model(evidence, outcome)[:MAX_JUDGED_PAGES]
        if not await self._may_ask(pages, person, outcome):
            return
        outcome.asked = len(pages)
        tasks = [asyncio.create_task(self._judge_page(criterion, page, outcome)) for page in pages]
        try:
            for task in tasks:
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _judge_page(self, criterion: str, page: Sequence[Evidence], outcome: Outcome) -> JudgedPage:
        messages, text = prompts.messages_for(prompts.CRITERION, criterion, page), ""
        first = page[0]

        def is_read() -> bool:
            return "\n" in text.lstrip() or len(text) > MAX_READ_CHARS

        try:
            async for piece in self._text(messages, prompts.CRITERION, outcome, Ending(), is_read):
                text += piece
        except TransientError as error:
            _note(error, outcome)
            return JudgedPage(first.page_id, first.rank)
        return JudgedPage(first.page_id, first.rank, *judgement_of(text, page))

    def _task(self, task: Task) -> Task:
        return prompts.prose_task(self._options.prose_tokens) if self._options.prose_tokens else task

    async def _choose(
        self,
        task: Task,
        question: str,
        pages: Sequence[Sequence[Evidence]],
        person: str,
        outcome: Outcome,
        fits: Callable[[Chosen, str], bool] = lambda _, __: True,
    ) -> AsyncIterator[Chosen]:
        """Yield what the model chooses of all pages, in the order of the pages. All pages are asked at once.

        `fits`: a statement that does not fit the question is dropped.
        """
        if not await self._may_ask(pages, person, outcome):
            return
        outcome.asked = len(pages)
        queues: list[asyncio.Queue[Chosen | None]] = [asyncio.Queue() for _ in pages]
        tasks = [
            asyncio.create_task(self._read_page(task, question, page, queue, outcome, fits))
            for page, queue in zip(pages, queues, strict=True)
        ]
        shown: set[str] = set()
        try:
            for queue in queues:
                while (chosen := await queue.get()) is not None:
                    if len(shown) < MAX_SHOWN and chosen.text not in shown:
                        shown.add(chosen.text)
                        yield chosen
        finally:
            for each in tasks:
                each.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
        _conclude(outcome, shown)

    async def _read_page(
        self,
        task: Task,
        question: str,
        page: Sequence[Evidence],
        queue: "asyncio.Queue[Chosen | None]",
        outcome: Outcome,
        fits: Callable[[Chosen, str], bool],
    ) -> None:
        """Ask about one page, and put what is chosen into the queue, and at last None."""
        reader = _ProseReader(page, outcome) if self._options.prose_tokens else ChoiceReader(page)
        ending, found = Ending(), set[str]()

        def put(choices: Iterable[Chosen]) -> None:
            for chosen in choices:
                if len(found) == MAX_SHOWN_OF_PAGE or chosen.text in found:
                    continue
                if fits(chosen, question):
                    found.add(chosen.text)
                    queue.put_nowait(chosen)
                else:
                    outcome.dropped += 1

        def is_read() -> bool:
            return reader.has_ended or len(found) == MAX_SHOWN_OF_PAGE

        try:
            async for piece in self._text(prompts.messages_for(task, question, page), task, outcome, ending, is_read):
                put(reader.read(piece))
        except TransientError as error:
            _note(error, outcome)
        except Exception as error:  # a fault of this program: the other pages are not harmed
            log.exception("a page was not read by the model")
            _note(error, outcome)
        else:
            put(reader.end(is_cut=ending.is_cut))
        finally:
            queue.put_nowait(None)

    async def _may_ask(self, pages: Sequence[Sequence[object]], person: str, outcome: Outcome) -> bool:
        if not pages:
            outcome.status = "nothing"
            return False
        outcome.ends_at = _now() + self._options.deadline_seconds
        outcome.refusal = await self._budgets.take(person, self._clock())
        if outcome.refusal:
            outcome.status = "limited"
        return not outcome.refusal

    async def _text(
        self,
        messages: Sequence[Message],
        task: Task,
        outcome: Outcome,
        ending: Ending,
        is_read: Callable[[], bool] = lambda: False,
    ) -> AsyncIterator[str]:
        """Yield the pieces of the model's text, from the cache if the same was asked before. A cut text is not kept.

        `is_read`: whether the pieces so far are enough. Then the model is stopped.
        """
        if (known := self.requests.known(messages, outcome.audiences)) is not None:
            outcome.cached += 1
            yield known
            return
        is_enough = False

        def enough() -> bool:
            nonlocal is_enough
            is_enough = is_read()
            return is_enough

        text = self.requests.text(messages, task.max_tokens, outcome.ends_at, ending, outcome.audiences, enough)
        async with aclosing(text) as pieces:  # type: ignore[type-var]  # a generator
            async for piece in pieces:
                yield piece
        if ending.is_cut and not is_enough:
            outcome.lacks = outcome.lacks or "cut"


class _ProseReader:
    """Reads sentences in the model's own words, as `ChoiceReader` reads choices."""

    def __init__(self, statements: Sequence[Evidence], outcome: Outcome) -> None:
        self._statements, self._outcome, self._reader = statements, outcome, SentenceReader()
        self.has_ended = False

    def read(self, piece: str) -> Iterator[Chosen]:
        yield from self._compare(self._reader.read(piece))

    def end(self, *, is_cut: bool = False) -> Iterator[Chosen]:
        yield from self._compare(self._reader.end(is_cut=is_cut))

    def _compare(self, sentences: Iterable[ModelSentence]) -> Iterator[Chosen]:
        for sentence in sentences:
            if found := compare_prose(sentence, self._statements):
                yield found
            else:
                self._outcome.dropped += 1


def pages_for_model(evidence: Sequence[Evidence], outcome: Outcome) -> list[list[Evidence]]:
    """Return the statements that a model may get, by page. Those that publishers keep from models are left out."""
    pages = []
    for _, of_page in groupby(evidence, key=lambda each: each.page_id):
        statements = list(of_page)
        allowed = _allowed(statements)
        if allowed:
            pages.append(allowed[: prompts.MAX_STATEMENTS])
        else:
            outcome.withheld += 1
            outcome.is_partial |= UNREAD_RECORD in statements[0].consent.kept_from_models
    return pages


def _allowed(statements: Sequence[Evidence]) -> list[Evidence]:
    """Return the statements of a page that its publisher allows as input, up to the page's `max-snippet` together.

    With such a limit they have no context, which is text of the page, too.
    """
    consent = statements[0].consent
    if not consent.for_models:
        return []
    if consent.max_snippet is None:
        return list(statements)
    found, characters = [], 0
    for each in statements:
        characters += len(each.text)
        if consent.allows_quoting(characters):
            found.append(replace(each, context=()))
    return found


def _conclude(outcome: Outcome, written: Collection[object]) -> None:
    """Fill the status, once all requests have ended."""
    if written:
        outcome.status = "answered"
    elif outcome.status == "answered":
        outcome.status = "unknown"


def _now() -> float:
    return asyncio.get_running_loop().time()


def _note(error: BaseException, outcome: Outcome) -> None:
    outcome.status = outcome.lacks = "late" if isinstance(error, DeadlineExceeded) else "unavailable"
    log.info("the language model did not answer", error=str(error))
