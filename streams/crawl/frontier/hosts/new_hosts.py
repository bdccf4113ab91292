"""The budget of new hosts of one owner: by wildcard DNS, an owner has any number of them. Pure.

An owner may begin MAX_AT_ONCE hosts at once, and one more each EVERY_SECONDS. A host that has a row, or that a person
gave, is not new. The budget is in the memory of each worker, so a restart fills it. A link that found no place leaves
no trace: it is taken when it is found again.
"""

from collections.abc import Callable

from streams.caches import RecentCache
from streams.crawl.frontier.policy import SECOND

MAX_AT_ONCE = 64
"""Maximum number of new hosts of an owner that are begun at once."""
EVERY_SECONDS = 300
"""Time in which an owner may begin one more host (seconds): 288 in a day."""
MAX_OWNERS = 50_000
"""Maximum number of owners in memory, about 6 MB. The one that began a host longest ago is forgotten."""


class NewHostBudget:
    """The number of hosts that each owner may begin now."""

    def __init__(self, now: Callable[[], int], max_owners: int = MAX_OWNERS) -> None:
        self._now = now
        self._full_at = RecentCache[str, int](max_owners)
        """The time at which an owner may begin MAX_AT_ONCE hosts again (microseconds)."""

    def take(self, owner: str) -> bool:
        """Return whether the owner may begin a host, and note that it does.

        A clock that is set back costs the owner a few minutes: it is never full later than from now on.
        """
        now, every = self._now(), EVERY_SECONDS * SECOND
        full_at = min(max(self._full_at.get(owner) or 0, now), now + MAX_AT_ONCE * every)
        may_begin = full_at <= now + (MAX_AT_ONCE - 1) * every
        self._full_at.put(owner, full_at + every if may_begin else full_at)
        return may_begin
