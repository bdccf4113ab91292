"""The budget of new hosts of one owner: by wildcard DNS, an owner has any number of them. Pure.

An owner may begin MAX_AT_ONCE hosts at once, and one more each EVERY_SECONDS. A host that has a row, or that a person
gave, is not new. The budget is in the memory of each worker, so a restart fills it. A link that found no place leaves
no trace: it is taken when it is found again.

Anybody can link to any number of names below another's domain. So the hosts that strangers found have a budget of
their own, of the same size, and each stranger's owner may spend PART of it. Another budget is of the hosts that other
names below the domain found: on a platform they are other people's.
"""

from collections.abc import Callable

from streams.caches import RecentCache
from streams.crawl.frontier.policy import SECOND

MAX_AT_ONCE = 64
"""Maximum number of new hosts of an owner that are begun at once, by its own links and by strangers' each."""
EVERY_SECONDS = 300
"""Time in which an owner may begin one more host (seconds): 288 in a day."""
SIBLINGS = "."
"""The finder, if it is another name below the domain."""
PART = 4
"""One finder has one Nth of the budget of an owner for strangers' links: 16 hosts at once, and 72 more in a day."""
MAX_OWNERS = 50_000
"""Maximum number of budgets in memory, about 6 MB. The one that was asked for longest ago is forgotten."""


class NewHostBudget:
    """The number of hosts that each owner may begin now."""

    def __init__(self, now: Callable[[], int], max_owners: int = MAX_OWNERS) -> None:
        self._now = now
        self._full_at = RecentCache[tuple[str, str], int](max_owners)
        """The time at which a budget is full again (microseconds), by the owner and its finder."""

    def may_begin(self, owner: str, finder: str = "") -> bool:
        """Return whether the owner may begin a host. `finder`: the owner of the stranger that led to it, or ""."""
        now = self._now()
        return all(
            self._full_at_of(key, part, now) <= now + (MAX_AT_ONCE // part - 1) * part * EVERY_SECONDS * SECOND
            for key, part in _budgets(owner, finder)
        )

    def begin(self, owner: str, finder: str = "") -> None:
        """Note that the owner begins a host."""
        now = self._now()
        for key, part in _budgets(owner, finder):
            self._full_at.put(key, self._full_at_of(key, part, now) + part * EVERY_SECONDS * SECOND)

    def _full_at_of(self, key: tuple[str, str], part: int, now: int) -> int:
        """Return when a budget is full again. A clock that is set back costs an owner a few minutes of its part."""
        most = MAX_AT_ONCE // part * part * EVERY_SECONDS * SECOND
        full_at = min(max(self._full_at.get(key) or 0, now), now + most)
        if key in self._full_at:
            self._full_at.put(key, full_at)
        return full_at


def _budgets(owner: str, finder: str) -> list[tuple[tuple[str, str], int]]:
    """Return the keys of the budgets that a host is taken from, and which part of a whole one each is."""
    return [((owner, finder), 1)] if finder in ("", SIBLINGS) else [((owner, "*"), 1), ((owner, finder), PART)]
