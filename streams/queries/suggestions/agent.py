"""The suggest stage: the title of each page that becomes searchable is offered to the lists of its prefixes.

It emits nothing. The same event twice changes nothing, and after a crash the event comes again. So people are suggested
a page a moment after it is found; headings, phrases and the numbers of pages come with the next
`riffle suggest build`. A title that the block list of the worker's settings has is left out.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from schemas import Event, PageIndexed
from streams.errors import PoisonError
from streams.queries.counts import quarter_of
from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.queries.suggestions.page_texts import title_text
from streams.queries.suggestions.sums import Sum, host_hash
from streams.queries.suggestions.writer import offer
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import StoredSuggestion, Suggestions


class SuggestAgent(Agent):
    """Offers the titles of pages to the lists of suggestions."""

    def __init__(self, store: Suggestions, clock: Callable[[], datetime], blocked: BlockedWords) -> None:
        self._store, self._clock, self._blocked = store, clock, blocked

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Offer the title of a page. Raises PoisonError for another event."""
        event = delivery.event
        if not isinstance(event, PageIndexed):
            raise PoisonError(f"{type(event).__name__} is no page that was indexed")
        text = title_text(event.title)
        if text and not self._blocked.blocks(text):
            weight = Sum(titles=1, hosts=frozenset({host_hash(event.url)})).weight
            quarter = quarter_of(self._clock())
            await offer(self._store, StoredSuggestion(text, event.language, weight), quarter, delivery.at)
        return ()


async def build(settings: Settings, stores: Stores) -> SuggestAgent:
    blocked = BlockedWords(read_block_words(settings.queries.blocked_words))
    return SuggestAgent(stores.suggestions, lambda: datetime.now(UTC), blocked)
