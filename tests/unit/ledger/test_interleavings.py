"""The status of a page under every order in which the events of two fetches and a removal can come."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import get_args

import pytest

from schemas import Event, PageIndexed, PageRemoved
from streams.ledger.status import PageStatus, status_of
from streams.stores.protocols import Transition
from tests.sizes import FULL
from tests.unit.ledger.events import (
    CHUNKED,
    EMBEDDED,
    INDEXED,
    LINK,
    OTHER,
    SCHEDULED,
    deduplicated,
    fetched,
    history,
    normalized,
    removed,
    settled,
)

FIRST_STATEMENTS, SECOND_STATEMENTS = 42, 7
FIRST_FETCH, REPEATED_DECISION, SECOND_FETCH, LATER = 10, 11, 20, 30
"""Generations. A decision of dedup that is made again lies between those of two fetches."""


def through_the_stages(generation: int, statements: int) -> list[Event]:
    """The events of content that is new, from the normalizer to the index."""
    changed: dict[str, object] = {"generation": generation, "statements": statements}
    return [
        normalized(generation),
        deduplicated(generation=generation, settles="changed"),
        CHUNKED.model_copy(update=changed),
        EMBEDDED.model_copy(update=changed),
        INDEXED.model_copy(update=changed),
    ]


BEGIN: list[Event] = [LINK, SCHEDULED, fetched(generation=FIRST_FETCH)]
"""Events before the second fetch: a host gives one lease of a page at a time."""
FIRST = through_the_stages(FIRST_FETCH, FIRST_STATEMENTS)
AGAIN = SCHEDULED.model_copy(update={"generation": SECOND_FETCH})
SECOND: dict[str, tuple[list[Event], int]] = {
    # the events of the second fetch, and the statements that are searchable in the end
    "not modified": ([AGAIN, fetched("not_modified", generation=SECOND_FETCH)], FIRST_STATEMENTS),
    "not modified, and settled": (
        [AGAIN, fetched("not_modified", generation=SECOND_FETCH), settled("unchanged", SECOND_FETCH)],
        FIRST_STATEMENTS,
    ),
    "the same text": ([AGAIN, fetched(generation=SECOND_FETCH), settled("unchanged", SECOND_FETCH)], FIRST_STATEMENTS),
    "failed": ([AGAIN, fetched("timeout", generation=SECOND_FETCH), settled("failed", SECOND_FETCH)], FIRST_STATEMENTS),
    "other text": (
        [AGAIN, fetched(generation=SECOND_FETCH), *through_the_stages(SECOND_FETCH, SECOND_STATEMENTS)],
        SECOND_STATEMENTS,
    ),
}


def interleavings(first: Sequence[Event], second: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield every order of both sequences in which each keeps its own order."""
    for places in combinations(range(len(first) + len(second)), len(first)):
        ones, others = iter(first), iter(second)
        yield [next(ones) if place in places else next(others) for place in range(len(first) + len(second))]


_TRANSITIONS: dict[tuple[int, int], tuple[Event, Transition]] = {}
"""The transition of an event at a place, by the event's id. It keeps the event, so that no other one gets the id."""


def transition_at(place: int, event: Event) -> Transition:
    """Return the transition of an event that is made at this place. Each is made once: orders share nearly all."""
    key = id(event), place
    if key not in _TRANSITIONS:
        _TRANSITIONS[key] = event, replace(history(event)[0], at=place)
    return _TRANSITIONS[key][1]


def status_after(events: Sequence[Event]) -> PageStatus:
    """Return the status after these events."""
    return status_of([transition_at(place, event) for place, event in enumerate(events)])


@pytest.mark.parametrize(("second", "statements"), SECOND.values(), ids=SECOND.keys())
def test_a_page_whose_content_is_indexed_is_searchable(second: list[Event], statements: int) -> None:
    for events in interleavings(FIRST, second):
        status = status_after([*BEGIN, *events])
        names = [event.topic for event in events]
        assert (status.status, status.statements, status.next_step) == ("indexed", statements, "none"), names


@pytest.mark.parametrize("second", [events for events, _ in SECOND.values()], ids=SECOND.keys())
def test_the_next_step_is_to_wait_while_content_is_under_way(second: list[Event]) -> None:
    tried: set[tuple[int, ...]] = set()
    for events in interleavings(FIRST, second):
        # What is left of the content that will be searchable: its last event makes it so.
        last = max(place for place, event in enumerate(events) if isinstance(event, PageIndexed))
        for end in range(last):
            if (begin := tuple(map(id, events[:end]))) in tried:
                continue  # many orders begin alike
            tried.add(begin)
            status = status_after([*BEGIN, *events[:end]])
            assert status.next_step != "crawl_again", [event.topic for event in events[:end]]


MANY_ORDERS = 1_000 if FULL else 100
"""Number of orders from which on each is tried with one reason at each place."""
REASONS: Mapping[str, tuple[str, str]] = {
    # the reason of a removal: the status of the page, with its reason
    "gone": ("removed", "gone"),
    "request": ("removed", "request"),
    "noindex": ("refused", "noindex"),
    "blocked": ("refused", "blocked"),
    "refused": ("refused", "refused"),
    "unsupported": ("not_indexed", "unsupported"),
    "duplicate": ("duplicate", "duplicate"),
}


LATER_REMOVALS = {reason: removed(reason, generation=LATER) for reason in REASONS}


def test_each_reason_is_tried() -> None:
    assert set(REASONS) == set(get_args(PageRemoved.model_fields["reason"].annotation))


def removals_at_each_place(orders: Sequence[list[Event]]) -> Iterator[tuple[str, int, list[Event]]]:
    """Yield a reason, a place and an order: each place of each order. Each reason, too, unless there are too many.

    By day a sixteenth of many orders.
    """
    few = len(orders) < MANY_ORDERS
    for number, events in enumerate(orders if few or FULL else orders[::16]):
        for place in range(len(events) + 1):
            reasons = list(REASONS)
            for reason in reasons if few else [reasons[(number + place) % len(reasons)]]:
                yield reason, place, events


@pytest.mark.parametrize("second", [events for events, _ in SECOND.values()], ids=SECOND.keys())
def test_a_page_that_is_removed_after_both_fetches_stays_removed(second: list[Event]) -> None:
    """By a person, an operator who blocks the host, or a watched folder: with a generation of that moment."""
    for reason, place, events in removals_at_each_place(list(interleavings(FIRST, second))):
        status = status_after([*BEGIN, *events[:place], LATER_REMOVALS[reason], *events[place:]])
        order = [event.topic for event in events]
        assert (status.status, status.reason, status.waits_for) == (*REASONS[reason], None), (place, order)


@pytest.mark.parametrize("reason", REASONS)
def test_a_removed_page_is_never_searchable_while_older_events_come(reason: str) -> None:
    some = list(interleavings(FIRST, SECOND["other text"][0]))[list(REASONS).index(reason) :: 40]
    for events in some:
        for place in range(len(events)):
            end = place + 1 + (len(events) - place) // 2
            status = status_after([*BEGIN, *events[:place], LATER_REMOVALS[reason], *events[place:end]])
            assert (status.status, status.reason) == REASONS[reason], [event.topic for event in events[:end]]


NEW = fetched(generation=SECOND_FETCH)
REMOVING: dict[str, tuple[list[Event], tuple[str, str]]] = {
    # the events of a second fetch that removes the page, and the status in the end
    "gone": (
        [AGAIN, fetched("gone", generation=SECOND_FETCH), removed("gone", generation=SECOND_FETCH)],
        REASONS["gone"],
    ),
    "moved": (
        [
            AGAIN,
            fetched("redirect", generation=SECOND_FETCH, redirect_to="https://example.org/b"),
            removed("gone", generation=SECOND_FETCH),
        ],
        REASONS["gone"],
    ),
    "soft 404": (
        [AGAIN, NEW, removed("gone", generation=SECOND_FETCH), settled("soft_404", SECOND_FETCH)],
        REASONS["gone"],
    ),
    "duplicate": (
        [
            AGAIN,
            NEW,
            normalized(SECOND_FETCH),
            deduplicated("exact", OTHER, generation=SECOND_FETCH),
            removed("duplicate", generation=SECOND_FETCH, canonical_page_id=OTHER),
            settled("duplicate", SECOND_FETCH, canonical_page_id=OTHER),
        ],
        REASONS["duplicate"],
    ),
    **{
        reason: (
            [AGAIN, NEW, removed(reason, generation=SECOND_FETCH), settled("refused", SECOND_FETCH)],
            REASONS[reason],
        )
        for reason in ("noindex", "blocked", "unsupported")
    },
}


@pytest.mark.parametrize(("second", "status"), REMOVING.values(), ids=REMOVING.keys())
def test_a_page_that_its_second_fetch_removes_stays_removed(second: list[Event], status: tuple[str, str]) -> None:
    """Wherever the first content is then. What is left of it changes nothing."""
    for events in interleavings(FIRST, second):
        found = status_after([*BEGIN, *events])
        assert (found.status, found.reason, found.waits_for) == (*status, None), [event.topic for event in events]


AFTER_DEDUP = 3
"""Number of the events of FIRST after which another page can become the representative of this one."""


@pytest.mark.parametrize(("second", "statements"), SECOND.values(), ids=SECOND.keys())
def test_a_page_is_a_duplicate_until_it_has_another_text(second: list[Event], statements: int) -> None:
    """Dedup decides again when it sees another page, at any time. The index ignores the older content from then on."""
    demotion = removed("duplicate", generation=REPEATED_DECISION, canonical_page_id=OTHER)
    has_other_text = statements == SECOND_STATEMENTS
    expected = ("indexed", None) if has_other_text else REASONS["duplicate"]
    for first in ([*FIRST[:place], demotion, *FIRST[place:]] for place in range(AFTER_DEDUP, len(FIRST) + 1)):
        for number, events in enumerate(interleavings(first, second)):
            if has_other_text and number % 3:
                continue
            status = status_after([*BEGIN, *events])
            found = (status.status, status.reason, status.waits_for)
            assert found == (*expected, None), [event.topic for event in events]
