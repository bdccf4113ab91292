"""Answers by a language model: each page of the results is asked by itself, and each sentence is checked.

A page that gives the model instructions has only its own statements in its request, so it changes nothing that is said
with other pages. What the model writes is shown only as far as a statement of that page says it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Literal

import structlog

from streams.answers import prompts
from streams.answers.budgets import Refusal, TakesBudget
from streams.answers.criteria import JudgedPage, met_statements
from streams.answers.evidence import Evidence
from streams.answers.model_text import ModelSentence, SentenceReader
from streams.answers.prompts import key_of, text_cache
from streams.answers.related import related_questions
from streams.answers.support.checked_sentences import CheckedSentence, check_sentence, is_about, repeats
from streams.errors import DeadlineExceeded, TransientError
from streams.models.chat import ChatModel, ChatOptions, Ending, Message

MAX_PAGES = 3
"""Maximum results that are asked for an answer."""
MAX_JUDGED_PAGES = 10
"""Maximum results that are judged by a criterion."""
MAX_SENTENCES = 6
MAX_SENTENCES_OF_PAGE = 3
MAX_CHECKED_OF_PAGE = 24
"""Maximum sentences about one page that are checked: a model that does not stop would take a second for each page."""

Status = Literal["answered", "unknown", "unavailable", "late", "limited", "nothing"]
"""The status of an answer: `unknown` if nothing is supported, `nothing` if no statement may be given to a model."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """The options of the answers by a model."""

    model: str
    max_tokens: int = 300
    deadline_seconds: float = 15.0
    max_at_once: int = 4
    """Maximum number of pages that the model is asked about at the same time: an answer asks about three."""


@dataclass(slots=True)
class Outcome:
    """The outcome of an answer, once all of its sentences are there."""

    audiences: tuple[str, ...]
    """The private audiences of the reader: only they get cached texts of theirs, and learn that one is cached."""
    status: Status = "answered"
    refusal: Refusal = ""
    asked: int = 0
    """Pages that were asked."""
    dropped: int = 0
    """Sentences of the model that no statement supports, or that are beside the question."""
    withheld: int = 0
    """Pages whose publishers allow no input of models."""
    cached: int = 0
    lacks: Literal["", "late", "unavailable", "cut"] = ""
    """Why sentences may be missing: the model failed for a page, or its text about one has no end."""
    ends_at: float = 0.0
    """The end time of the answer, by the clock of the event loop. It bounds the waits for slots and all requests."""


class Writer:
    """The answers by a model of one process."""

    def __init__(
        self, chat: ChatModel, options: WriterOptions, budgets: TakesBudget, clock: Callable[[], datetime]
    ) -> None:
        self._chat, self._options, self._budgets, self._clock = chat, options, budgets, clock
        self._cache = text_cache()
        self._slots = asyncio.Semaphore(options.max_at_once)

    async def answer(
        self, question: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[CheckedSentence]:
        """Yield the sentences that answer a question, page by page, and fill the outcome. Raises nothing."""
        pages = pages_for_model(evidence, outcome)[:MAX_PAGES]
        async for sentence in self._write(prompts.ANSWER, question, pages, person, outcome, is_about):
            yield sentence

    async def summarize(
        self, question: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[CheckedSentence]:
        """Yield the sentences that say what one page is about. See `answer`."""
        pages = pages_for_model(evidence, outcome)[:1]
        async for sentence in self._write(prompts.SUMMARY, question, pages, person, outcome):
            yield sentence

    async def related(
        self,
        question: str,
        evidence: Sequence[Evidence],
        person: str,
        outcome: Outcome,
        behind: Outcome | None = None,
    ) -> list[str]:
        """Return questions that the first page may answer next. See `answer`.

        `behind`: the outcome of the answer that they belong to. They end with it, and are not counted again.
        """
        pages = pages_for_model(evidence, outcome)[:1]
        if behind and pages:
            outcome.ends_at = behind.ends_at
        elif not await self._may_ask(pages, person, outcome):
            return []
        outcome.asked = len(pages)
        messages = prompts.messages_for(prompts.RELATED, question, pages[0])
        reader, ending = SentenceReader(), Ending()
        written: list[ModelSentence] = []
        try:
            async for piece in self._text(messages, outcome, ending):
                written += reader.read(piece)
        except TransientError as error:
            _note(error, outcome)
        written += reader.end(is_cut=ending.is_cut)
        found = related_questions((each.text for each in written), pages[0], question)
        _conclude(outcome, found)
        return found

    async def judge(
        self, criterion: str, evidence: Sequence[Evidence], person: str, outcome: Outcome
    ) -> AsyncIterator[JudgedPage]:
        """Yield each of the first results with its statements that meet a criterion, in the order of the results. All
        are asked at once, each by itself. See `answer`."""
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
        messages, pieces = prompts.messages_for(prompts.CRITERION, criterion, page), []
        first = page[0]
        try:
            async for piece in self._text(messages, outcome, Ending()):
                pieces.append(piece)
        except TransientError as error:
            _note(error, outcome)
            return JudgedPage(first.page_id, first.rank, is_read=False)
        return JudgedPage(first.page_id, first.rank, met_statements("".join(pieces), page))

    async def _write(
        self,
        instructions: str,
        question: str,
        pages: Sequence[Sequence[Evidence]],
        person: str,
        outcome: Outcome,
        fits: Callable[[CheckedSentence, str], bool] = lambda _, __: True,
    ) -> AsyncIterator[CheckedSentence]:
        """Yield the supported sentences of all pages, in the order of the pages. All pages are asked at once.

        `fits`: a supported sentence that does not fit the question is dropped, as one without support.
        """
        if not await self._may_ask(pages, person, outcome):
            return
        outcome.asked = len(pages)
        queues: list[asyncio.Queue[CheckedSentence | None]] = [asyncio.Queue() for _ in pages]
        tasks = [
            asyncio.create_task(self._read_page(instructions, question, page, queue, outcome, fits))
            for page, queue in zip(pages, queues, strict=True)
        ]
        shown: list[CheckedSentence] = []
        try:
            for queue in queues:
                while (sentence := await queue.get()) is not None:
                    if len(shown) < MAX_SENTENCES and not repeats(sentence, shown):
                        shown.append(sentence)
                        yield sentence
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)
        _conclude(outcome, shown)

    async def _read_page(
        self,
        instructions: str,
        question: str,
        page: Sequence[Evidence],
        queue: "asyncio.Queue[CheckedSentence | None]",
        outcome: Outcome,
        fits: Callable[[CheckedSentence, str], bool],
    ) -> None:
        """Ask about one page, and put its supported sentences into the queue, and at last None."""
        reader, ending, found, checked = SentenceReader(), Ending(), 0, 0
        messages = prompts.messages_for(instructions, question, page)

        async def check(sentences: Iterable[ModelSentence]) -> None:
            nonlocal found, checked
            for sentence in sentences:
                if found == MAX_SENTENCES_OF_PAGE or checked == MAX_CHECKED_OF_PAGE:
                    return
                checked += 1
                # A long sentence takes 0.1 s, in which the gateway answers others.
                supported = await asyncio.to_thread(check_sentence, sentence, page)
                if supported and fits(supported, question):
                    found += 1
                    queue.put_nowait(supported)
                else:
                    outcome.dropped += 1

        try:
            async for piece in self._text(messages, outcome, ending):
                await check(reader.read(piece))
        except TransientError as error:
            _note(error, outcome)
        except Exception as error:  # a fault of this program: the other pages are not harmed
            log.exception("a page was not read by the model")
            _note(error, outcome)
        else:
            await check(reader.end(is_cut=ending.is_cut))
        finally:
            queue.put_nowait(None)

    async def _may_ask(self, pages: Sequence[Sequence[Evidence]], person: str, outcome: Outcome) -> bool:
        if not pages:
            outcome.status = "nothing"
            return False
        outcome.ends_at = _now() + self._options.deadline_seconds
        outcome.refusal = await self._budgets.take(person, self._clock())
        if outcome.refusal:
            outcome.status = "limited"
        return not outcome.refusal

    async def _text(self, messages: Sequence[Message], outcome: Outcome, ending: Ending) -> AsyncIterator[str]:
        """Yield the pieces of the model's text, from the cache if the same was asked before. A cut text is not kept."""
        key = key_of(self._options.model, messages, outcome.audiences)
        if (known := self._cache.get(key)) is not None:
            outcome.cached += 1
            yield known
            return
        pieces = []
        await self._take_slot(outcome.ends_at)
        try:
            options = ChatOptions(self._options.max_tokens, _seconds_until(outcome.ends_at))
            async for piece in self._chat.stream(messages, options, ending):
                pieces.append(piece)
                yield piece
        finally:
            self._slots.release()
        if ending.is_cut:
            outcome.lacks = outcome.lacks or "cut"
        else:
            self._cache.put(key, "".join(pieces))

    async def _take_slot(self, ends_at: float) -> None:
        """Wait until fewer than the maximum of pages are being asked. Raises DeadlineExceeded."""
        try:
            async with asyncio.timeout_at(ends_at):
                await self._slots.acquire()
        except TimeoutError as error:
            raise DeadlineExceeded("too many answers are being written") from error


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


def _conclude(outcome: Outcome, written: Sequence[object]) -> None:
    """Fill the status, once all requests have ended."""
    if written:
        outcome.status = "answered"
    elif outcome.status == "answered":
        outcome.status = "unknown"


def _now() -> float:
    return asyncio.get_running_loop().time()


def _seconds_until(ends_at: float) -> float:
    """Return the time that is left. Raises DeadlineExceeded if there is none."""
    if (seconds := ends_at - _now()) <= 0:
        raise DeadlineExceeded("the time of the answer is over")
    return seconds


def _note(error: BaseException, outcome: Outcome) -> None:
    outcome.status = outcome.lacks = "late" if isinstance(error, DeadlineExceeded) else "unavailable"
    log.info("the language model did not answer", error=str(error))
