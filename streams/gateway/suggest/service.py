"""The suggestions of one gateway process: the last build in memory, and the lists of prefixes that workers write.

A prefix is answered from memory. If the memory has too few completions, the lists in Cassandra answer, too; otherwise
they are read in the background, for the next question. So the time of an answer depends on Cassandra only for rare
prefixes, and popular ones still show what workers have added, hidden or raised since the build.

All people get the same suggestions: what those may see who have no key. When a site becomes private, the memory and the
cache are emptied at once, and the lists answer until the build is loaded again. The texts of pages that were removed on
request are read each few seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache, partial

import structlog

from streams.caches import TimedCache
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import ProblemError
from streams.gateway.suggest.examples import choose_examples
from streams.queries.counts import quarter_of
from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.queries.suggestions.build import read_build
from streams.queries.suggestions.build_notes import began_at, current_build, hidden_texts
from streams.queries.suggestions.index import MAX_SHOWN, Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix
from streams.queries.suggestions.prefix_lists import ALL_LANGUAGES, read_list, stored_prefix, weight_at
from streams.queries.suggestions.suggester import Suggester
from streams.search.deadline import OnFailure, OptionalPart, Rest
from streams.search.ranking.rules import ADULT_WORDS
from streams.seen.stores import SeenStores
from streams.settings import Settings
from streams.stores.protocols import FOR_EVERYBODY, StoredSuggestion, Visible

log = structlog.get_logger(__name__)


class SuggestService:
    """The suggestions of a gateway: for everybody the same, those that people without a key may see."""

    def __init__(self, context: GatewayContext, visible: Callable[[], Awaitable[Visible]]) -> None:
        """`visible`: returns what people see now. It may raise ProblemError."""
        self._blocked = blocked_words(context.settings)
        self._context, self._stores, self._clock = context, context.stores, context.clock
        self._read_visible = visible
        self._visible: Visible | None = None
        self._lists = self._lists_for(FOR_EVERYBODY)
        self._suggester = Suggester(())
        self._examples: dict[str, tuple[StoredSuggestion, ...]] = {}
        self._build = ""
        self._looking = Looking("suggestions", self.look, context.clock)

    def use(self, suggestions: Iterable[Suggestion], build: str = "") -> None:
        """Hold these suggestions in memory."""
        self._suggester, self._build, self._examples = Suggester(suggestions, self._blocked), build, {}

    async def suggest(self, typed: str, language: str = "", limit: int = MAX_SHOWN) -> list[Suggestion]:
        """Return at most `limit` suggestions, best first: suggestions of the language, then others. Raises nothing."""
        try:
            await self._see()
        except ProblemError:  # which sites are private was never known
            return []
        self._looking.begin()
        prefix = key_of(normalize_prefix(typed))
        if not prefix or limit < 1:
            return []
        found = self._suggester.suggest(typed, language, limit)
        lists, build = self._lists, self._build
        reading = lists.begin_hidden(build)
        rows = await self._rows(prefix, language, is_enough=len(found) >= limit)
        if reading is not None:
            await asyncio.wait([reading], timeout=READ_SECONDS)
        hidden = lists.hidden(build)
        return self._merge(found, rows, hidden, prefix, language, limit) if rows or hidden else found

    async def examples(self, language: str) -> list[StoredSuggestion]:
        """Return queries that pages of the index answer, of this language or of English. Raises nothing."""
        try:
            await self._see()
        except ProblemError:
            return []
        self._looking.begin()
        if (reading := self._lists.begin_hidden(self._build)) is not None:
            await asyncio.wait([reading], timeout=READ_SECONDS)
        hidden = self._lists.hidden(self._build)
        found = self._examples.get(language) or self._examples.get("en", ())
        return [each for each in found if each.text not in hidden]

    async def _see(self) -> Visible:
        """Return what people see, and forget what was read for people who saw other sites. Raises ProblemError."""
        visible = await self._read_visible()
        if visible != self._visible:
            if self._visible is not None:
                self.use(())
                self._looking.hasten()
            since = self._lists.since
            self._visible, self._lists = visible, self._lists_for(visible)
            self._lists.since = since
        return visible

    def _lists_for(self, visible: Visible) -> "PrefixLists":
        return PrefixLists(self._stores, visible, self._context.metrics.count_failure, self._clock)

    async def close(self) -> None:
        """End the look for a newer build."""
        await self._looking.close()

    async def look(self) -> None:
        """Load the last build, if it is another one than the build in memory."""
        visible = await self._see()
        lists, build = self._lists, await current_build(self._stores.suggestions)
        if build and build != self._build:
            stored = await read_build(self._stores.suggestions, build, visible=visible)
            since = await began_at(self._stores.suggestions)
            suggester, examples = await asyncio.to_thread(self._load, stored)
            if lists is self._lists:  # people see the same sites as before
                lists.since, self._suggester, self._build, self._examples = since, suggester, build, examples
                log.info("suggestions were loaded", build=build, suggestions=len(suggester))
        elif not build and self._build:  # an operator deleted all suggestions
            self.use(())

    def _load(self, stored: list[StoredSuggestion]) -> tuple[Suggester, dict[str, tuple[StoredSuggestion, ...]]]:
        quarter = quarter_of(self._clock())
        heaviest = sorted(stored, key=lambda each: -each.weight)
        found = (Suggestion(each.text, weight_at(each, quarter), each.language) for each in heaviest)
        return Suggester(found, self._blocked), choose_examples(heaviest, self._blocked)

    async def _rows(self, prefix: str, language: str, *, is_enough: bool) -> list[StoredSuggestion]:
        """Return the rows of the lists of a prefix: those in the cache if the memory has enough, else all."""
        stored = stored_prefix(prefix)
        languages = dict.fromkeys((language, ALL_LANGUAGES))
        found: Iterable[Rows | None] = [self._lists.fresh(each, stored) for each in languages]
        if is_enough:
            found = [self._lists.known(each, stored) for each in languages]
        elif None in found:
            found = await asyncio.gather(*(self._lists.read(each, stored) for each in languages))
        return [row for rows in found for row in rows or () if key_of(row.text).startswith(prefix)]

    def _merge(
        self,
        found: list[Suggestion],
        rows: list[StoredSuggestion],
        removed: frozenset[str],
        prefix: str,
        language: str,
        limit: int,
    ) -> list[Suggestion]:
        quarter = quarter_of(self._clock())
        hidden = {row.text for row in rows if row.weight < 0}
        merged = {each.text: each for each in found if key_of(each.text).startswith(prefix)}
        for row in rows:
            weight = weight_at(row, quarter)
            known = merged.get(row.text)
            if (known is None or known.weight < weight) and not self._blocked.blocks(row.text):
                merged[row.text] = Suggestion(row.text, weight, row.language)
        shown = [each for text, each in merged.items() if text not in hidden and text not in removed]
        shown.sort(key=lambda each: (bool(language) and each.language != language, -each.weight, each.text))
        return shown[:limit] or [each for each in found if each.text not in hidden and each.text not in removed]


def blocked_words(settings: Settings) -> BlockedWords:
    """Return the operator's blocked words, and adult words where these are hidden.

    Raises UsageError for a file that can't be read.
    """
    words = read_block_words(settings.queries.blocked_words)
    return _blocked_words((*words, *(ADULT_WORDS if settings.gateway.hide_adult else ())))


@lru_cache(maxsize=4)
def _blocked_words(lines: tuple[str, ...]) -> BlockedWords:
    """Return the blocked words of these lines. The suggestions and the spelling of a gateway have the same ones."""
    return BlockedWords(lines)


LOOK_SECONDS = 60.0
"""Time between two looks for a newer build of suggestions (seconds)."""


class Looking:
    """Runs a look in the background, if the last one began long ago and has ended."""

    def __init__(self, what: str, look: Callable[[], Awaitable[None]], clock: Callable[[], datetime]) -> None:
        """`what`: what is looked for, for the log."""
        self._what, self._look, self._clock = what, look, clock
        self.hasten()
        self._running: asyncio.Task[None] | None = None

    def hasten(self) -> None:
        """Make a look due now."""
        self._next = datetime.min.replace(tzinfo=self._clock().tzinfo)

    def begin(self) -> None:
        """Begin a look that is due."""
        if self._clock() < self._next or (self._running and not self._running.done()):
            return
        self._next = self._clock() + timedelta(seconds=LOOK_SECONDS)
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End a running look."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._look()
        except Exception as error:
            log.info(f"{self._what} were not loaded", error=str(error) or type(error).__name__)


MAX_CACHED = 50_000
"""Maximum lists in the cache: about 100 MB of full ones."""
MAX_AGE_SECONDS = 60.0
"""Age at which a list is read again (seconds)."""
READ_SECONDS = 0.1
"""Maximum time to read a list (seconds): people type on."""
REST_SECONDS = 2.0
"""Pause after a failure before lists are read again (seconds)."""
HIDDEN_SECONDS = 5.0
"""Time for which the texts of removed pages are known (seconds)."""
MAX_READING = 16
"""Maximum lists that are read at once in the background."""

Rows = tuple[StoredSuggestion, ...]
_Key = tuple[str, str]


class PrefixLists:
    """The reader of lists, which holds the cache. A process has one for what people see now."""

    def __init__(
        self, stores: SeenStores, visible: Visible, on_failure: OnFailure, clock: Callable[[], datetime]
    ) -> None:
        self._stores, self._visible = stores, visible
        self.since = 0
        """When the last build began (microseconds since 1970 UTC): older rows are not shown."""
        self._cached: TimedCache[_Key, Rows] = TimedCache(MAX_AGE_SECONDS, MAX_CACHED, lambda: clock().timestamp())
        self._hidden: TimedCache[str, frozenset[str]] = TimedCache(HIDDEN_SECONDS, 1, lambda: clock().timestamp())
        self._reading: dict[_Key, asyncio.Task[Rows | None]] = {}
        self._part = OptionalPart("suggestions", partial(on_failure, "records"), Rest(REST_SECONDS))
        self._hidden_part = OptionalPart("texts of removed pages", partial(on_failure, "records"))
        self._reading_hidden: asyncio.Task[None] | None = None

    def hidden(self, build: str) -> frozenset[str]:
        """Return the texts of pages that were removed on request since a build, as far as they were read."""
        kept = self._hidden.find(build)
        return kept.value if kept else frozenset()

    def begin_hidden(self, build: str) -> asyncio.Task[None] | None:
        """Begin to read these texts, if they are old. After a removal of many pages it may take longer than a list."""
        if self._hidden.fresh(build) is not None or (self._reading_hidden and not self._reading_hidden.done()):
            return None
        self._hidden.keep(build, self.hidden(build))  # one request reads them, the others go on
        self._reading_hidden = asyncio.create_task(self._read_hidden(build))
        return self._reading_hidden

    async def _read_hidden(self, build: str) -> None:
        read = partial(hidden_texts, self._stores.suggestions, build)
        found = await self._hidden_part.read(read, asyncio.timeout(HIDDEN_SECONDS))
        if found is not None:
            self._hidden.keep(build, self.hidden(build).union(text for _, text, _ in found))

    def known(self, language: str, prefix: str) -> Rows | None:
        """Return a list from the cache, also an old one. An old or missing list is read in the background."""
        cached = self._cached.find((language, prefix))
        if cached is None or not cached.is_fresh:
            self._start(language, prefix, MAX_READING)
        return cached.value if cached else None

    def fresh(self, language: str, prefix: str) -> Rows | None:
        """Return a list from the cache, or None if it is missing or old."""
        return self._cached.fresh((language, prefix))

    async def read(self, language: str, prefix: str) -> Rows:
        """Return a list, from the cache or from Cassandra; empty if it can't be read in time. Raises nothing."""
        cached = self._cached.find((language, prefix))
        if cached is not None and cached.is_fresh:
            return cached.value
        running = self._start(language, prefix, 64 * MAX_READING)
        found = await asyncio.shield(running) if running else None
        return found if found is not None else (cached.value if cached else ())

    def _start(self, language: str, prefix: str, max_reading: int) -> asyncio.Task[Rows | None] | None:
        """Begin to read a list, or join the task that reads it. None: too many are being read."""
        key = (language, prefix)
        if key not in self._reading:
            if len(self._reading) >= max_reading:
                return None
            self._reading[key] = asyncio.create_task(self._read(key))
        return self._reading[key]

    async def _read(self, key: _Key) -> Rows | None:
        try:
            read = partial(read_list, self._stores.suggestions, *key, self.since, self._visible)
            found = await self._part.read(read, asyncio.timeout(READ_SECONDS))
            if found is None:
                return None
            self._cached.keep(key, tuple(found))
            return tuple(found)
        finally:
            self._reading.pop(key, None)
