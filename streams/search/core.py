"""The search core: it starts a search for each query, and the sources beside its results. It knows no HTTP.

Callers call `start` once for each query, and get plain data from two tasks: the results, and what the sources say.

A source is a panel, an answer, spelling, related queries. It answers a query side by side with the results, under one
deadline. A source with a method `can_answer(request)` is asked only if that returns True at once: for other queries it
costs nothing, not even a task. Each may come late, fail or be absent without the results or the others noticing: then
the answer is without it, and says why. Only the results are indispensable.

Before the first search of a person, `read_optional_parts` makes the reads of a search's optional parts, again until
they are as quick as a search needs them. The first read of a process asks the server to prepare the statement, the
first read of a server opens its tables, and a server that has just started is slow for some reads more. A rehearsed
search over an empty index, as in a new stack, has no results, and so makes none of these reads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import structlog

from streams.errors import SearchUnavailable
from streams.plain_text import message
from streams.search.deadline import IN_WORDS, RANKS_SECONDS, Deadline, OptionalPart, Reason, Rest
from streams.search.request import FIRST_PAGE, Parameters, SearchRequest, parse
from streams.search.searcher import Found, Searcher
from streams.seen.stores import SeenStores
from streams.stores.protocols import FOR_EVERYBODY, Visible
from streams.vectors.bm25 import query_vector

MAX_AT_ONCE = 32
"""Maximum searches that are answered at the same time. More searches would only delay one another."""
REHEARSAL_SECONDS = 5.0
"""Maximum duration of the reads together (seconds): a process must become ready without them."""
QUICK_SECONDS = RANKS_SECONDS
"""Maximum duration of these reads on a server that has warmed up (seconds): the least that a search waits for one."""
_NO_PAGE = UUID(int=0)
_NO_HOST = "rehearsal.invalid"
REST_SECONDS = 2.0
"""Pause after a failure before a source is asked again (seconds)."""

log = structlog.get_logger(__name__)


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
    return message("`%(source)s` %(why)s.", source=name, why=IN_WORDS[why])


class SearchCore:
    """The search core of one process."""

    def __init__(
        self,
        searcher: Searcher,
        sources: Sequence[AnySource] = (),
        *,
        max_at_once: int = MAX_AT_ONCE,
    ) -> None:
        self.options = searcher.options
        self._searcher = searcher
        self._side_by_side = SideBySide(self._find, sources)
        self._slots = asyncio.Semaphore(max_at_once)

    def start(self, text: str, given: Parameters = FIRST_PAGE, *, visible: Visible) -> Answering:
        """Check the query, and ask for the results and the sources beside them. Raises InvalidQuery."""
        request = parse(text, given, self.options, visible=visible)
        if request.cursor:
            request.cursor.check_age(self._searcher.clock())
        return self._side_by_side.start(request, Deadline(self.options.deadline_seconds))

    def warm_up(self) -> None:
        """Load the language model and the stemmers: otherwise the first query would wait for them."""
        query_vector("warm up", "")

    async def _find(self, request: SearchRequest, deadline: Deadline) -> Found:
        """Return the results, once fewer than the maximum of searches are being answered."""
        try:
            async with deadline.for_index():
                await self._slots.acquire()
        except TimeoutError:
            raise SearchUnavailable("Too many searches are being answered.") from None
        try:
            return await self._searcher.find(request, deadline)
        finally:
            self._slots.release()


async def read_optional_parts(stores: SeenStores) -> None:
    """Read similar pages, copies, facts, first sentences and ranks for a page that does not exist, until all of them
    together are as quick as each has to be. Raises nothing."""
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(REHEARSAL_SECONDS):
            while True:
                begun = clock()
                found = await asyncio.gather(*_optional_reads(stores), return_exceptions=True)
                if clock() - begun <= QUICK_SECONDS or any(isinstance(one, BaseException) for one in found):
                    break
    except TimeoutError:
        log.info("the reads before the first search of a person took too long", seconds=REHEARSAL_SECONDS)
        return
    for error in found:
        if isinstance(error, BaseException):
            log.info("a read before the first search of a person failed", error=str(error) or type(error).__name__)


def _optional_reads(stores: SeenStores) -> Iterator[Awaitable[object]]:
    yield stores.groups([_NO_PAGE], 1, visible=FOR_EVERYBODY)
    yield stores.fingerprints([_NO_PAGE], visible=FOR_EVERYBODY)
    yield stores.normalized([_NO_PAGE], visible=FOR_EVERYBODY)
    yield stores.first_statements([_NO_PAGE], 1, visible=FOR_EVERYBODY)
    yield stores.host_ranks([_NO_HOST])
