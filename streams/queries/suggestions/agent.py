"""The suggest stage: the title of each page that becomes searchable is stored, sorted, until the next build.

It emits nothing. The same event twice changes nothing, and after a crash the event comes again: it is acknowledged when
its title is stored. The titles that come within some seconds are stored together, and nothing is read. So people are
suggested a page a moment after it is found; headings, phrases and the numbers of pages come with the next `riffle
suggest build`. Titles that the block list of the worker's settings has are left out. So are titles of private sites,
since anybody reads suggestions.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from schemas import Event, PageIndexed
from streams.crawl.domains import is_page_below
from streams.errors import PoisonError, TransientError
from streams.grouped_calls import GroupedCalls, groups_of
from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.queries.suggestions.page_texts import title_text
from streams.queries.suggestions.prefix_lists import new_title
from streams.queries.suggestions.sums import Sum, host_hash
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import ApiKeys, NewTitle, Suggestions, private_hosts

GATHER_SECONDS = 10.0
"""Maximum time that a title waits for others, to be stored with them (seconds)."""
MAX_TOGETHER = 400
"""Maximum number of titles that are stored together: less than the stage handles at once, so that none waits long."""
SITES_SECONDS = 10.0
"""Time for which the list of private sites is kept (seconds)."""


class SuggestAgent(Agent):
    """Stores the titles of new pages as suggestions."""

    def __init__(
        self,
        store: Suggestions,
        sites: ApiKeys,
        clock: Callable[[], datetime],
        blocked: BlockedWords,
        gather_seconds: float = GATHER_SECONDS,
    ) -> None:
        self._sites, self._clock, self._blocked = sites, clock, blocked
        self._titles: GroupedCalls[NewTitle] = GroupedCalls(
            store.add_titles, groups_of(MAX_TOGETHER), TransientError, seconds=gather_seconds, full=MAX_TOGETHER
        )
        self._private: tuple[str, ...] = ()
        self._read_at: datetime | None = None

    def hurry(self, *, is_on: bool) -> None:
        self._titles.hurry(is_on=is_on)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store the title of a page. Raises PoisonError for another event."""
        event = delivery.event
        if not isinstance(event, PageIndexed):
            raise PoisonError(f"{type(event).__name__} is no page that was indexed")
        text = title_text(event.title)
        if text and not self._blocked.blocks(text) and not await self._is_private(event.url):
            weight = Sum(titles=1, hosts=frozenset({host_hash(event.url)})).weight
            await self._titles.call(new_title(text, event.language, weight, delivery.at))
        return ()

    async def _is_private(self, url: str) -> bool:
        """Return whether a page is of a private site. Sites are read each SITES_SECONDS. Raises TransientError."""
        now = self._clock()
        if self._read_at is None or (now - self._read_at).total_seconds() >= SITES_SECONDS:
            self._private, self._read_at = private_hosts(await self._sites.sites()), now
        return is_page_below(url, self._private)


async def build(settings: Settings, stores: Stores) -> SuggestAgent:
    blocked = BlockedWords(read_block_words(settings.queries.blocked_words))
    return SuggestAgent(stores.suggestions, stores.api_keys, lambda: datetime.now(UTC), blocked)
