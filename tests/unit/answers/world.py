"""Statements for the tests of answers, and a chat model without a server."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from uuid import uuid5

from schemas.ids import page_id
from streams.answers.budgets import Limits
from streams.answers.evidence import Evidence
from streams.answers.writer import Writer, WriterOptions
from streams.gateway.answers.shared_budgets import SharedBudgets
from streams.models.chat import ChatModel, ChatOptions, Ending, Message
from streams.pages.document.consent import Consent
from streams.stores.opener import memory_stores

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
FREE = Consent()
NO_LIMITS = Limits(per_person=0, per_hour=0)


def evidence(
    url: str,
    text: str,
    *,
    title: str = "A page",
    context: tuple[str, ...] = (),
    consent: Consent = FREE,
    rank: int = 0,
    similarity: float = 0.5,
    score: float = 1.0,
    kind: str = "sentence",
    published: str = "",
) -> Evidence:
    page = page_id(url)
    return Evidence(
        id=uuid5(page, text),
        page_id=page,
        text=text,
        context=context,
        kind=kind,
        url=url,
        title=title,
        host=url.split("/")[2],
        language="en",
        published=published,
        rank=rank,
        score=score,
        similarity=similarity,
        consent=consent,
    )


class Written:
    """A chat model that writes what a function makes of the messages."""

    def __init__(self, write: Callable[[Sequence[Message]], str], *, is_cut: bool = False) -> None:
        self._write, self._is_cut = write, is_cut
        self.asked: list[Sequence[Message]] = []

    async def stream(self, messages: Sequence[Message], options: ChatOptions, ending: Ending) -> AsyncIterator[str]:
        self.asked.append(messages)
        text = self._write(messages)
        for start in range(0, len(text), 5):
            yield text[start : start + 5]
        ending.is_cut = self._is_cut

    async def close(self) -> None:
        pass


def writer(chat: ChatModel, limits: Limits = NO_LIMITS, **options: float) -> Writer:
    made = WriterOptions(model="test", **options)  # type: ignore[arg-type]  # numbers of the options
    budgets = SharedBudgets(limits, b"k" * 32, memory_stores(), lambda: NOW)
    return Writer(chat, made, budgets, lambda: NOW)
