"""The history of a page is bounded, and explains the page as the whole history does."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas import Event, LinkFound, PageIndexed, PageScheduled
from streams.ledger.status import state_after, status_of
from streams.ledger.transitions import MAX_NEWEST, MAX_OUTDATED, find_outdated
from streams.stores.protocols import Transition
from tests.sizes import FULL, examples
from tests.unit.ledger.events import (
    ANCHOR,
    CHUNKED,
    EMBEDDED,
    INDEXED,
    LINK,
    PAGE,
    ROBOTS,
    SCHEDULED,
    SEED,
    deduplicated,
    fetched,
    history,
    normalized,
    removed,
    settled,
)

MOST_KINDS = 60
"""More kinds of transitions than any page has."""
BOUND = MAX_NEWEST + MAX_OUTDATED + MOST_KINDS
OTHER = UUID(int=2)
FETCHES = 1_000 if FULL else 200
"""Number of fetches of a page: by day, still far more than a history keeps."""
MAX_LATE = 60
"""Maximum number of events of a page that come before an event that was sent earlier."""


def scheduled(generation: int) -> Event:
    return SCHEDULED.model_copy(update={"generation": generation})


def changed(generation: int) -> list[Event]:
    """The events of a fetch with new text."""
    of_content = {"generation": generation, "statements": generation}
    stages = [event.model_copy(update=of_content) for event in (CHUNKED, EMBEDDED, INDEXED)]
    return [
        scheduled(generation),
        fetched(generation=generation),
        normalized(generation),
        deduplicated(generation=generation, settles="changed"),
        *stages,
    ]


def without_content(outcome: str, verdict: str, generation: int) -> list[Event]:
    return [scheduled(generation), fetched(outcome, generation=generation), settled(verdict, generation)]


def visit(kind: str, generation: int) -> list[Event]:
    """The events of one fetch, seed or removal."""
    match kind:
        case "changed":
            return changed(generation)
        case "under way":
            return changed(generation)[: 3 + generation % 5]
        case "the same text":
            return [scheduled(generation), fetched(generation=generation), settled("unchanged", generation)]
        case "not modified":
            return without_content("not_modified", "unchanged", generation)
        case "lost":
            return [scheduled(generation), fetched("timeout", generation=generation, retryable=True)]
        case "redirect":
            return [scheduled(generation), fetched("redirect", generation=generation, redirect_to="https://a.test/")]
        case "duplicate":
            settled_too = deduplicated("near", OTHER, generation=generation, settles="duplicate")
            return [*changed(generation)[:3], settled_too]
        case "indexed anew":  # the same text, which the index did not have
            before, after = changed(generation)[:3], changed(generation)[4:]
            return [*before, deduplicated(generation=generation, settles="unchanged"), *after]
        case "robots":
            return [ROBOTS, fetched(generation=generation, purpose="robots")]
        case "seed":
            return [SEED]
        case "removed":
            return [removed("request", generation=generation)]
    return without_content("client_error", kind, generation)


KINDS = [
    "changed",
    "under way",
    "the same text",
    "indexed anew",
    "not modified",
    "failed",
    "gone",
    "soft_404",
    "refused",
    "lost",
]
KINDS += ["redirect", "duplicate", "robots", "seed", "removed"]


def trim_after_each(events: Sequence[Event]) -> tuple[list[Transition], list[Transition]]:
    """Return the whole history, and the history that is trimmed as the ledger stage does: after each fetch."""
    whole, kept = history(*events), []
    for step in whole:
        kept.append(step)
        if step.topic == "pages.fetched":
            gone = {one.event_id for one in find_outdated(kept)}
            kept = [one for one in kept if one.event_id not in gone]
    return whole, kept


@pytest.mark.parametrize("kind", KINDS[:-4])
def test_the_history_of_a_page_that_is_fetched_a_thousand_times_is_bounded(kind: str) -> None:
    events = [LINK, ANCHOR, *changed(1), *(event for number in range(2, FETCHES + 2) for event in visit(kind, number))]
    whole, kept = trim_after_each(events)
    assert len(kept) <= BOUND < len(whole)
    assert status_of(kept) == status_of(whole)
    assert kept[-MAX_NEWEST:] == whole[-MAX_NEWEST:]


def test_what_made_a_page_searchable_is_kept_through_a_thousand_unchanged_fetches() -> None:
    events = [LINK, ANCHOR, SEED, *changed(1)]
    events += [event for number in range(2, FETCHES + 2) for event in visit("not modified", number)]
    _, kept = trim_after_each(events)
    topics = {step.topic for step in kept[:-MAX_NEWEST]}
    assert {LinkFound.topic, PageIndexed.topic, PageScheduled.topic, "pages.chunked", "pages.embedded"} <= topics
    assert status_of(kept).statements == 1


def test_a_short_history_is_kept_whole() -> None:
    events = [LINK, *(event for number in range(1, 19) for event in changed(number))]
    assert len(events) <= MAX_NEWEST + MAX_OUTDATED
    assert find_outdated(history(*events)) == []


def test_rows_of_links_stay() -> None:
    events = [ANCHOR, ANCHOR, ANCHOR, *(event for number in range(1, 101) for event in changed(number))]
    _, kept = trim_after_each(events)
    assert sum(step.topic == LinkFound.topic for step in kept) == 3


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 60)), min_size=1, max_size=8))
@example([("changed", 1), ("gone", 2), ("under way", 39)])  # found gone twice: removed, then only not found
@example([("changed", 3), ("the same text", 1), ("not modified", 60)])  # the last content was known
def test_the_state_is_the_same_as_with_the_whole_history(visits: list[tuple[str, int]]) -> None:
    """Kinds of fetches by turns, each many times."""
    kinds = [*(kind for kind, times in visits for _ in range(times)), "not modified"]
    events = [LINK, *(event for number, kind in enumerate(kinds, 1) for event in visit(kind, number))]
    whole, kept = trim_after_each(events)
    assert state_after(kept) == state_after(whole)
    assert status_of(kept) == status_of(whole)
    assert len(kept) <= BOUND


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from(KINDS), min_size=100, max_size=150), st.lists(st.integers(0, MAX_LATE), min_size=50))
def test_events_that_come_late_or_in_another_order_change_nothing(kinds: list[str], late: list[int]) -> None:
    events = [event for number, kind in enumerate(kinds, 1) for event in visit(kind, number)]
    places = [place + late[place % len(late)] for place in range(len(events))]
    moved = [
        event for _, _, event in sorted(zip(places, range(len(events)), events, strict=True), key=lambda one: one[:2])
    ]
    whole, kept = trim_after_each(moved)
    assert state_after(kept) == state_after(whole)


def test_nothing_is_deleted_if_the_status_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for number in range(1, 101) for event in changed(number)]
    whole = history(*events)
    assert find_outdated(whole)
    states = iter([state_after(whole), state_after(whole[:-1])])  # of the whole history, and of the trimmed one
    monkeypatch.setattr("streams.ledger.transitions.state_after", lambda _: next(states))
    assert find_outdated(whole) == []


def test_a_transition_without_a_generation_is_as_old_as_its_time() -> None:
    steps = [
        replace(step, page_id=PAGE, data={**step.data, "generation": "?"})
        for step in history(*[SCHEDULED] * (MAX_NEWEST + MAX_OUTDATED + 2))
    ]
    assert find_outdated(steps) == steps[: MAX_OUTDATED + 2]
