"""The queries stage: counts the queries that enough people ask on a day. It emits nothing.

The events are keyed by language and query, so one worker counts a query. Nothing is stored of a query until enough
people asked it on that day (`queries.min_people`). The stored counts have the place in Kafka of the last counted
event: a redelivered event changes nothing. A repeat of events whose query was not stored yet counts from nothing.
An event from another day than today, as far as this machine's clock says, is not counted: a wrong clock of a gateway
makes no counts of the future, and old records no counts of the past.

Where clicks are published, too, the pages that a counted query showed are counted, and clicks on them (`clicks.py`).

A query whose counts are stored is offered as a suggestion, before its counts are written: after a crash between the
two, the event comes again.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from schemas import Event, QueryAsked, ResultClicked
from streams.errors import PoisonError
from streams.queries.collection.clicks import ClickCounts
from streams.queries.collection.counting import Counted, QueriesOfToday, QueryOfDay, Question, count_question
from streams.queries.collection.offering import SuggestedQueries
from streams.queries.suggestions.block_words import BlockedWords, read_block_words
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import DayCounts, QueryCounts

MAX_AGE = timedelta(hours=24)
MAX_AHEAD = timedelta(minutes=5)
"""Time by which the clock of a gateway may be ahead of this machine's."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


class QueriesAgent(Agent):
    """Stores the counts and clicks of each query that enough people asked, and offers it as a suggestion."""

    def __init__(
        self,
        counts: QueryCounts,
        suggested: SuggestedQueries,
        min_people: int,
        clock: Callable[[], datetime],
        salt: bytes,
    ) -> None:
        self._counts, self._suggested, self._min_people = counts, suggested, min_people
        self._clock, self._salt = clock, salt
        self._queries = QueriesOfToday()
        self._clicks = ClickCounts(counts, salt)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Count one question or one click. Raises PoisonError for another event."""
        event = delivery.event
        if not isinstance(event, QueryAsked | ResultClicked):
            raise PoisonError(f"{type(event).__name__} is no query and no click")
        now = self._clock()
        if not -MAX_AHEAD <= now - delivery.time <= MAX_AGE:
            return ()
        if isinstance(event, QueryAsked):
            await self._count(event, delivery, now)
        else:
            day = (delivery.time - EPOCH) // timedelta(days=1)
            await self._clicks.note_click(event, day, delivery.offset, delivery.at)
        return ()

    async def _count(self, event: QueryAsked, delivery: Delivery, now: datetime) -> None:
        self._queries.forget_before((now - EPOCH - MAX_AGE) // timedelta(days=1))
        day, within = divmod(delivery.time - EPOCH, timedelta(days=1))
        key = (day, event.language, event.query)
        place = (delivery.partition, delivery.offset)
        asked = Question(event.person, _has_results(event), within // QUARTER, *place)
        before = self._queries.find(key) or await self._load(key)
        after = count_question(before, asked, self._salt, self._min_people)
        if after is not before and after.people is None:
            await self._suggested.offer(event.language, event.query, day, after.counts, delivery.at)
            await self._counts.put(event.language, event.query, day, after.counts, delivery.at)
        if after.people is None:
            await self._clicks.note_question(event, day, delivery.offset, delivery.at)
        self._queries.put(key, after)

    async def _load(self, key: QueryOfDay) -> Counted:
        """Return what is stored of a query: its people were enough."""
        day, language, query = key
        stored = (await self._counts.days(language, query)).get(day)
        return Counted(stored, None) if stored else Counted(DayCounts())

    async def assigned(self, partitions: frozenset[int]) -> None:
        self._queries.clear()
        self._clicks.clear()


async def build(settings: Settings, stores: Stores) -> QueriesAgent:
    own = settings.queries
    blocked = BlockedWords(read_block_words(own.blocked_words))
    suggested = SuggestedQueries(stores.query_counts, stores.suggestions, _now, blocked)
    return QueriesAgent(stores.query_counts, suggested, own.min_people, _now, secrets.token_bytes(32))


def _has_results(event: QueryAsked) -> bool:
    """Return False where the index has no page for the query. A search with a failed part can't show that."""
    return event.partial or (event.results > 0 and not event.nearest_only)


def _now() -> datetime:
    return datetime.now(UTC)
