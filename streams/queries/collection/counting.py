"""The counts of the queries of today, in bounded memory. Pure.

A query has its set of people until there are enough of them; then only its counts stay. The set holds hashes of the
hashes in the events, with a salt that only this process knows and never stores: nobody can compare the set with the
events, and it ends with the process. After a restart the people of a query that was not counted yet are counted anew,
so a query may be missed, and never counted too early.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b

from streams.caches import RecentCache
from streams.stores.protocols import DayCounts

MAX_QUERIES = 100_000
"""Maximum number of queries in memory. The query that was asked longest ago is forgotten first."""
_PERSON_BYTES = 8

QueryOfDay = tuple[int, str, str]
"""Day, language and query."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A query with its counts of the day, and its people until they are enough."""

    counts: DayCounts
    people: frozenset[bytes] | None = frozenset()
    """None: enough people asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """One time that a query was asked."""

    person: str
    has_results: bool
    quarter: int
    partition: int
    offset: int


def count_question(before: Counted, asked: Question, salt: bytes, min_people: int) -> Counted:
    """Return the query with one more question. A question that was counted before changes nothing."""
    counts = before.counts
    if counts.partition == asked.partition and asked.offset <= counts.offset:
        return before
    people = before.people
    if people is not None:
        person = blake2b(asked.person.encode(), key=salt, digest_size=_PERSON_BYTES).digest()
        people = people | {person}
    after = replace(
        counts,
        asked=counts.asked + 1,
        empty=counts.empty + (not asked.has_results),
        quarters={**counts.quarters, asked.quarter: counts.quarters.get(asked.quarter, 0) + 1},
        partition=asked.partition,
        offset=asked.offset,
    )
    return Counted(after, None if people is None or len(people) >= min_people else people)


class QueriesOfToday:
    """The queries in memory, by day, language and query."""

    def __init__(self, max_queries: int = MAX_QUERIES) -> None:
        self._queries: RecentCache[QueryOfDay, Counted] = RecentCache(max_queries)
        self._first_day = 0

    def __len__(self) -> int:
        return len(self._queries)

    def find(self, key: QueryOfDay) -> Counted | None:
        """Return a query, or None if it is not in memory."""
        return self._queries.get(key)

    def put(self, key: QueryOfDay, counted: Counted) -> None:
        """Keep a query as the newest. The oldest query is forgotten if there are too many."""
        self._queries.put(key, counted)

    def forget_before(self, day: int) -> None:
        """Forget the queries of earlier days, with their people."""
        if day > self._first_day:
            self._first_day = day
            self._queries.drop_if(lambda key, _: key[0] < day)

    def clear(self) -> None:
        self._queries.clear()
