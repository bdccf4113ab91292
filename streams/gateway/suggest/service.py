"""The suggestions of one gateway process: the last build in memory, and the lists of prefixes that workers write.

A prefix is answered from memory. If the memory has too few completions, the lists in Cassandra answer, too; otherwise
they are read in the background, for the next question. So the time of an answer depends on Cassandra only for rare
prefixes, and popular ones still show what workers have added, hidden or raised since the build.
"""

import asyncio
from collections.abc import Iterable

import structlog

from streams.gateway.context import GatewayContext
from streams.gateway.suggest.blocked import blocked_words
from streams.gateway.suggest.lists import PrefixLists, Rows
from streams.gateway.suggest.looking import Looking
from streams.queries.counts import quarter_of
from streams.queries.suggestions.build import read_build
from streams.queries.suggestions.counts import weight_at
from streams.queries.suggestions.hidden import current_build
from streams.queries.suggestions.index import MAX_SHOWN, Suggestion
from streams.queries.suggestions.normal_form import key_of, normalize_prefix
from streams.queries.suggestions.prefixes import ALL_LANGUAGES, stored_prefix
from streams.queries.suggestions.suggester import Suggester
from streams.stores.protocols import StoredSuggestion

log = structlog.get_logger(__name__)


class SuggestService:
    """The suggestions of a gateway."""

    def __init__(self, context: GatewayContext) -> None:
        self._blocked = blocked_words(context.settings)
        self._stores, self._clock = context.stores, context.clock
        self._lists = PrefixLists(context.stores, context.metrics.count_failure, context.clock)
        self._suggester = Suggester(())
        self._build = ""
        self._looking = Looking("suggestions", self.look, context.clock)

    def use(self, suggestions: Iterable[Suggestion], build: str = "") -> None:
        """Hold these suggestions in memory."""
        self._suggester, self._build = Suggester(suggestions, self._blocked), build

    async def suggest(self, typed: str, language: str = "", limit: int = MAX_SHOWN) -> list[Suggestion]:
        """Return at most `limit` suggestions, best first: suggestions of the language, then others. Raises nothing."""
        self._looking.begin()
        prefix = key_of(normalize_prefix(typed))
        if not prefix or limit < 1:
            return []
        found = self._suggester.suggest(typed, language, limit)
        rows = await self._rows(prefix, language, is_enough=len(found) >= limit)
        return self._merge(found, rows, prefix, language, limit) if rows else found

    async def close(self) -> None:
        """End the look for a newer build."""
        await self._looking.close()

    async def look(self) -> None:
        """Load the last build, if it is another one than the build in memory."""
        build = await current_build(self._stores.suggestions)
        if build and build != self._build:
            stored = await read_build(self._stores.suggestions, build)
            await asyncio.to_thread(self._load, stored, build)
            log.info("suggestions were loaded", build=build, suggestions=len(self._suggester))
        elif not build and self._build:  # an operator deleted all suggestions
            self.use(())

    def _load(self, stored: list[StoredSuggestion], build: str) -> None:
        quarter = quarter_of(self._clock())
        heaviest = sorted(stored, key=lambda each: -each.weight)
        self.use((Suggestion(each.text, weight_at(each, quarter), each.language) for each in heaviest), build)

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
        self, found: list[Suggestion], rows: list[StoredSuggestion], prefix: str, language: str, limit: int
    ) -> list[Suggestion]:
        quarter = quarter_of(self._clock())
        hidden = {row.text for row in rows if row.weight < 0}
        merged = {each.text: each for each in found if key_of(each.text).startswith(prefix)}
        for row in rows:
            weight = weight_at(row, quarter)
            known = merged.get(row.text)
            if (known is None or known.weight < weight) and not self._blocked.blocks(row.text):
                merged[row.text] = Suggestion(row.text, weight, row.language)
        shown = [each for text, each in merged.items() if text not in hidden]
        shown.sort(key=lambda each: (bool(language) and each.language != language, -each.weight, each.text))
        return shown[:limit] or [each for each in found if each.text not in hidden]
