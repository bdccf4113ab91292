"""The status of a page under every order in which the events of two fetches and a removal can come."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from schemas import Event, PageIndexed
from streams.ledger.status import PageStatus, status_of
from tests.unit.ledger.events import (
    CHUNKED,
    EMBEDDED,
    INDEXED,
    LINK,
    SCHEDULED,
    deduplicated,
    fetched,
    history,
    normalized,
    removed,
    settled,
)

FIRST_STATEMENTS, SECOND_STATEMENTS = 42, 7


def through_the_stages(generation: int, statements: int) -> list[Event]:
    """The events of content that is new, from the normalizer to the index."""
    changed: dict[str, object] = {"generation": generation, "statements": statements}
    return [
        normalized(generation),
        settled("changed", generation),
        deduplicated(generation=generation),
        CHUNKED.model_copy(update=changed),
        EMBEDDED.model_copy(update=changed),
        INDEXED.model_copy(update=changed),
    ]


BEGIN: list[Event] = [LINK, SCHEDULED, fetched(generation=1)]
"""Events before the second fetch: a host gives one lease of a page at a time."""
FIRST = through_the_stages(1, FIRST_STATEMENTS)
AGAIN = SCHEDULED.model_copy(update={"generation": 2})
SECOND: dict[str, tuple[list[Event], int]] = {
    # the events of the second fetch, and the statements that are searchable in the end
    "not modified": ([AGAIN, fetched("not_modified", generation=2)], FIRST_STATEMENTS),
    "not modified, and settled": (
        [AGAIN, fetched("not_modified", generation=2), settled("unchanged", 2)],
        FIRST_STATEMENTS,
    ),
    "the same text": ([AGAIN, fetched(generation=2), settled("unchanged", 2)], FIRST_STATEMENTS),
    "failed": ([AGAIN, fetched("timeout", generation=2), settled("failed", 2)], FIRST_STATEMENTS),
    "other text": ([AGAIN, fetched(generation=2), *through_the_stages(2, SECOND_STATEMENTS)], SECOND_STATEMENTS),
}


def interleavings(first: Sequence[Event], second: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield every order of both sequences in which each keeps its own order."""
    for places in combinations(range(len(first) + len(second)), len(first)):
        ones, others = iter(first), iter(second)
        yield [next(ones) if place in places else next(others) for place in range(len(first) + len(second))]


def status_after(events: Sequence[Event]) -> PageStatus:
    return status_of(history(*events))


@pytest.mark.parametrize(("second", "statements"), SECOND.values(), ids=SECOND.keys())
def test_a_page_whose_content_is_indexed_is_searchable(second: list[Event], statements: int) -> None:
    for events in interleavings(FIRST, second):
        status = status_after([*BEGIN, *events])
        names = [event.topic for event in events]
        assert (status.status, status.statements, status.next_step) == ("indexed", statements, "none"), names


@pytest.mark.parametrize("second", [events for events, _ in SECOND.values()], ids=SECOND.keys())
def test_the_next_step_is_to_wait_while_content_is_under_way(second: list[Event]) -> None:
    for events in interleavings(FIRST, second):
        # What is left of the content that will be searchable: its last event makes it so.
        last = max(place for place, event in enumerate(events) if isinstance(event, PageIndexed))
        for end in range(last):
            status = status_after([*BEGIN, *events[:end]])
            assert status.next_step != "crawl_again", [event.topic for event in events[:end]]


@pytest.mark.parametrize("second", [events for events, _ in SECOND.values()], ids=SECOND.keys())
def test_a_page_that_is_removed_on_request_stays_removed(second: list[Event]) -> None:
    request = removed("request", generation=9)
    for number, events in enumerate(interleavings(FIRST, second)):
        place = number % (len(events) + 1)
        status = status_after([*BEGIN, *events[:place], request, *events[place:]])
        assert (status.status, status.reason) == ("removed", "request"), [event.topic for event in events]
