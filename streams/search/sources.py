"""Sources beside the results: they answer a query side by side with the results, under one deadline.

A source is a panel, an answer, spelling, related queries. A source with a method `can_answer(request)` is asked only if
that returns True at once: for other queries it costs nothing, not even a task. Each may come late, fail or be absent
without the results or the others noticing: then the answer is without it, and says why. Only the results are
indispensable.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OptionalPart, Reason, Rest
from streams.search.request import SearchRequest
from streams.search.searcher import Found

REST_SECONDS = 2.0
"""Pause after a failure before a source is asked again (seconds)."""


class Source(Protocol):
    """A source that answers queries beside the results. Each process has one object."""

    @property
    def name(self) -> str:
        """The name in the API's answer, and NAME in the template `_beside_NAME.html`."""

    async def find(self, request: SearchRequest, deadline: Deadline) -> Any | None:
        """Return the source's answer to this query, as a pydantic model, or None. It may raise anything.

        It must not block the event loop: long computation runs in a thread.
        """


class SourceOfResults(Protocol):
    """A source that reads the results, such as an answer that is one of their statements.

    It is asked once the results are there, and never keeps them waiting. Without results it has no answer.
    """

    @property
    def name(self) -> str:
        """As in `Source`."""

    async def find_among(self, found: Found, deadline: Deadline) -> Any | None:
        """Return the source's answer by these results. Otherwise as `Source.find`."""


AnySource = Source | SourceOfResults


@dataclass(frozen=True, slots=True)
class Beside:
    """The answers of the sources beside the results to one query."""

    found: dict[str, Any] = field(default_factory=dict)
    """By the name of the source, in the order of the sources. Sources without an answer are left out."""
    missing: dict[str, str] = field(default_factory=dict)
    """The reason for each missing source, in words for people."""


FindResults = Callable[[SearchRequest, Deadline], Coroutine[Any, Any, Found]]


@dataclass(frozen=True, slots=True)
class Answering:
    """A running search. The task of the results raises SearchUnavailable; the task of the sources raises nothing."""

    request: SearchRequest
    results: asyncio.Task[Found]
    beside: asyncio.Task[Beside]


class SideBySide:
    """The requests for the results and to all sources, which are made at the same time."""

    def __init__(self, results: FindResults, sources: Sequence[AnySource]) -> None:
        names = [source.name for source in sources]
        if len(set(names)) < len(names):
            raise ValueError(f"two sources have the same name: {names}")
        self._results = results
        self._sources = [(source, OptionalPart(source.name, rest=Rest(REST_SECONDS))) for source in sources]

    def start(self, request: SearchRequest, deadline: Deadline) -> Answering:
        """Ask for the results, and ask all sources. A caller that stops waiting cancels both tasks."""
        results = asyncio.create_task(self._results(request, deadline))
        return Answering(request, results, asyncio.create_task(self._ask_sources(request, results, deadline)))

    async def _ask_sources(self, request: SearchRequest, results: asyncio.Task[Found], deadline: Deadline) -> Beside:
        missing: dict[str, str] = {}

        async def ask(source: AnySource, part: OptionalPart) -> Any | None:
            if hasattr(source, "find_among"):
                await asyncio.wait({results})
                if results.cancelled() or results.exception() is not None:
                    return None  # the results say why
                found = results.result()
                return await part.read(
                    lambda: source.find_among(found, deadline), deadline.for_source_of_results(), note(source)
                )
            return await part.read(lambda: source.find(request, deadline), deadline.for_source(), note(source))

        def note(source: AnySource) -> Callable[[Reason], None]:
            return lambda why: missing.update({source.name: _sentence(source.name, why)})

        asked = [(source, part) for source, part in self._sources if _can_answer(source, request)]
        answers = await asyncio.gather(*(ask(source, part) for source, part in asked))
        named = ((source.name, answer) for (source, _), answer in zip(asked, answers, strict=True))
        return Beside({name: answer for name, answer in named if answer is not None}, missing)


def _can_answer(source: AnySource, request: SearchRequest) -> bool:
    can_answer: Callable[[SearchRequest], bool] = getattr(source, "can_answer", lambda _: True)
    return can_answer(request)


def _sentence(name: str, why: Reason) -> str:
    return f"`{name}` {IN_WORDS[why]}."
