"""Events as transitions of pages, the links to a page that are stored, and what a history no longer needs. Pure.

A page that is fetched again and again has some transitions more after each fetch. Its history keeps the newest ones.
Of the older ones it keeps what explains the page today:

- every row of links to the page, at most three
- the newest transition of each kind: the last time that the page was indexed, given as a seed, failed with a timeout;
  and what was decided about each of these fetches
- the events of the content that is indexed, or under way, of the event that decided the status, and of the fetch before
  that event: a page that is gone was removed only if it was indexed until then

So the status stays the same, whatever events follow. This is compared before anything is deleted.

Half a site may link to a page, so links are stored together: at 3, 12 and 48 linking pages one row is written with all
links since the last row. A second link from the same page costs nothing. So the number of linking pages is known within
a factor of four, up to 48. The link that led to the first discovery of the page is in the frontier's row of the page.
The memory of links is a cache. After a restart, or when other pages have displaced a page, its rows are written again
from the first one: the history then names other linking pages, never more rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import xxhash

from schemas import Event, LinkFound, PageFetched, PageSettled
from streams.caches import RecentCache
from streams.ledger.descriptions import describe
from streams.ledger.status import PageState, state_after
from streams.runtime.agent import Delivery
from streams.stores.protocols import Transition

_NOT_KEPT = {"more_urls", "title", "description", "label"}
"""Fields that a transition leaves out: further URLs have rows of their own, and a history outlives a page's texts."""
THRESHOLDS = (3, 12, 48)
"""Numbers of linking pages that lead to a row."""
MAX_PAGES = 20_000
"""Maximum number of linked pages in memory: about 100 MB when all of them have many links."""


def make_transition(delivery: Delivery, page_id: UUID, row_id: UUID, event: Event) -> Transition:
    """Return an event as a transition of a page, with its data as JSON has it, but no text of the page.

    Two with one `row_id` are one row.
    """
    return Transition(
        page_id=page_id,
        event_id=row_id,
        topic=event.topic,
        source=delivery.envelope.source,
        at=delivery.at,
        outcome=describe(event),
        data=event.model_dump(mode="json", exclude_none=True, exclude=_NOT_KEPT),
    )


MAX_NEWEST = 100
"""Number of transitions, counted from the newest one, that a history always keeps: of 10 to 30 fetches."""
MAX_OUTDATED = 50
"""Maximum number of transitions that are no longer needed and still stored. They are deleted together."""
_KIND = ("purpose", "why", "outcome", "retryable", "verdict", "settles", "reason")
"""The fields that tell events of one topic apart."""

_Kind = tuple[str, ...]


def find_outdated(history: Sequence[Transition]) -> list[Transition]:
    """Return the transitions of a page that its history no longer needs; none while they are few.

    `history` has the oldest first.
    """
    older = history[:-MAX_NEWEST]
    if len(older) <= MAX_OUTDATED:
        return []
    state = state_after(history)
    newest = list(_newest_of_each_kind(history))
    kept = {step.event_id for step in (*newest, *_verdicts(older, newest), *_explaining(older, state))}
    outdated = [step for step in older if step.event_id not in kept]
    deleted = {step.event_id for step in outdated}
    if len(outdated) <= MAX_OUTDATED or state_after(step for step in history if step.event_id not in deleted) != state:
        return []
    return outdated


def _newest_of_each_kind(history: Iterable[Transition]) -> Iterable[Transition]:
    newest: dict[_Kind, Transition] = {}
    for step in history:
        kind = (step.topic, *(str(step.data.get(name, "")) for name in _KIND))
        newest[kind] = max(newest.get(kind, step), step, key=lambda one: (_generation(one), one.at))
    return newest.values()


def _verdicts(older: Iterable[Transition], newest: Iterable[Transition]) -> Iterable[Transition]:
    fetches = {_generation(step) for step in newest if step.topic == PageFetched.topic}
    return (step for step in older if _is_verdict(step) and _generation(step) in fetches)


def _is_verdict(step: Transition) -> bool:
    return step.topic == PageSettled.topic or step.data.get("settles") is not None


def _explaining(older: Sequence[Transition], state: PageState) -> Iterable[Transition]:
    before = max((one for one in map(_generation, older) if one < state.decided_generation), default=0)
    generations = {state.content_generation, state.decided_generation, before} - {0}
    return (step for step in older if step.topic == LinkFound.topic or _generation(step) in generations)


def _generation(step: Transition) -> int:
    generation = step.data.get("generation", 0)
    return generation if isinstance(generation, int) else 0


@dataclass(frozen=True, slots=True)
class Links:
    """Linking pages to store in one row. The row's number is the same for the same threshold."""

    row: int
    referrers: tuple[str, ...]
    """In the order of their events."""


@dataclass(slots=True)
class _Page:
    known: set[int] = field(default_factory=set)
    """Hashes of all linking pages."""
    unstored: list[str] = field(default_factory=list)


class LinkMemory:
    """The linking pages of the pages that were linked lately."""

    def __init__(self, max_pages: int = MAX_PAGES) -> None:
        self._pages: RecentCache[UUID, _Page] = RecentCache(max_pages)

    def note(self, page_id: UUID, referrer: str) -> Links | None:
        """Remember a link. Returns the links to store now, or None."""
        page = self._pages.get(page_id)
        if page is None:
            page = _Page()
            self._pages.put(page_id, page)
        key = xxhash.xxh3_64_intdigest(referrer.encode("utf-8", "replace"))
        if key in page.known or len(page.known) >= THRESHOLDS[-1]:
            return None
        page.known.add(key)
        page.unstored.append(referrer)
        if len(page.known) not in THRESHOLDS:
            return None
        referrers, page.unstored = tuple(page.unstored), []
        return Links(THRESHOLDS.index(len(page.known)), referrers)

    def forget(self, page_id: UUID) -> None:
        """Forget a page after a failed write of its row, so that its next links are stored."""
        self._pages.take(page_id)
