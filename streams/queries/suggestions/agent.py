"""The suggest stage: the title of each page that becomes searchable is stored, sorted, until the next build.

It emits nothing. The same event twice changes nothing, and after a crash the event comes again: it is acknowledged when
its title is stored. The titles that come within some seconds are stored together, and no list is read. So people are
suggested a page a moment after it is found; headings, names and the numbers of pages come with the next `riffle
suggest build`. Titles that the block list of the worker's settings has are left out. So are titles of private sites,
since anybody reads suggestions, and titles of pages that the operator did not choose: the next build counts them.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from schemas import Event, PageIndexed
from streams.caches import TimedCache
from streams.crawl.audiences import EVERYBODY, Audiences
from streams.crawl.urls import host_of
from streams.errors import PoisonError, TransientError
from streams.grouped_calls import GroupedCalls, groups_of
from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.queries.suggestions.page_texts import is_chosen, is_of_chosen_host, title_text
from streams.queries.suggestions.prefix_lists import new_title
from streams.queries.suggestions.sums import Sum, of_host
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import ApiKeys, NewTitle, Pages, Suggestions

GATHER_SECONDS = 10.0
"""Maximum time that a title waits for others, to be stored with them (seconds)."""
MAX_TOGETHER = 400
"""Maximum number of titles that are stored together: less than the stage handles at once, so that none waits long."""
CHOSEN_SECONDS = 300.0
"""Time for which a worker knows that the operator chose all pages of a host (seconds)."""
MAX_HOSTS = 20_000
"""Maximum number of hosts of which a worker knows it."""


class ChosenPages:
    """Says whether the operator chose a page, by its own record unless all pages of its host are chosen."""

    def __init__(self, pages: Pages, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._hosts = TimedCache[str, bool](CHOSEN_SECONDS, MAX_HOSTS, lambda: clock().timestamp())

    async def has(self, event: PageIndexed) -> bool:
        """Return whether the page is chosen. Raises StoreUnavailable."""
        host = host_of(event.url)
        if self._hosts.fresh(host):
            return True
        record = await self._pages.get(event.page_id)
        if is_of_chosen_host(record):
            self._hosts.keep(host, True)
        return is_chosen(record)


class SuggestAgent(Agent):
    """Stores the titles of new pages as suggestions."""

    def __init__(
        self,
        store: Suggestions,
        sites: ApiKeys,
        clock: Callable[[], datetime],
        blocked: BlockedWords,
        gather_seconds: float = GATHER_SECONDS,
        *,
        pages: Pages,
    ) -> None:
        self._chosen = ChosenPages(pages, clock)
        self._blocked = blocked
        self._audiences = Audiences(sites, True, lambda: clock().timestamp())
        self._titles: GroupedCalls[NewTitle] = GroupedCalls(
            store.add_titles, groups_of(MAX_TOGETHER), TransientError, seconds=gather_seconds, full=MAX_TOGETHER
        )

    def hurry(self, *, is_on: bool) -> None:
        self._titles.hurry(is_on=is_on)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Store the title of a page that everybody finds. Raises PoisonError for another event, and TransientError."""
        event = delivery.event
        if not isinstance(event, PageIndexed):
            raise PoisonError(f"{type(event).__name__} is no page that was indexed")
        text = title_text(event.title)
        if not text or self._blocked.blocks(text) or await self._audiences.of(event.url) != EVERYBODY:
            return ()
        if await self._chosen.has(event):
            host = host_of(event.url)
            weight = Sum(titles=1, hosts=of_host(host), chosen=of_host(host)).weight
            await self._titles.call(new_title(text, event.language, weight, delivery.at, host))
        return ()


async def build(settings: Settings, stores: Stores) -> SuggestAgent:
    blocked = BlockedWords(read_block_words(settings.queries.blocked_words))
    return SuggestAgent(stores.suggestions, stores.api_keys, lambda: datetime.now(UTC), blocked, pages=stores.pages)
