"""A page's status, computed from its history."""

from dataclasses import replace
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Event, PageRemoved
from streams.ledger import status as ledger_status
from streams.ledger.status import FetchFailure, NextStage, PageStatus, Reason, Status, status_of
from streams.topology import PAGE_EVENTS, STAGES, stage
from tests.unit.ledger.events import (
    ANCHOR,
    EVERY_KIND,
    INDEXED,
    LINK,
    OTHER,
    PAGE,
    ROBOTS,
    SCHEDULED,
    TO_THE_INDEX,
    deduplicated,
    fetched,
    history,
    page,
    removed,
    settled,
)

SEARCHABLE = {"status": "indexed", "statements": 42, "next_step": "none"}


def waiting(stage_name: str, **more: Any) -> dict[str, Any]:
    return {"status": "waiting", "waits_for": stage_name, "next_step": "wait", **more}


def ended(status: str, reason: str, next_step: str = "crawl_again", **more: Any) -> dict[str, Any]:
    return {"status": status, "reason": reason, "next_step": next_step, **more}


DUPLICATE = ended("duplicate", "exact_duplicate", "see_representative", representative=OTHER)
FAILED = FetchFailure(outcome="client_error", http_status=400, error="status 400")
RETRIED = FetchFailure(outcome="server_error", http_status=503, error="status 503", retryable=True)

HISTORIES: dict[str, tuple[list[Event], dict[str, Any]]] = {
    # name: events, the fields of the status that are not empty
    "no event": ([], {"status": "unknown", "next_step": "crawl"}),
    "only its robots.txt": ([ROBOTS], {"status": "unknown", "next_step": "crawl"}),
    "discovered": ([LINK], waiting("frontier")),
    "scheduled": (TO_THE_INDEX[:2], waiting("fetch")),
    "fetched": (TO_THE_INDEX[:3], waiting("normalize")),
    "a lease that a second frontier gave again, and that the fetcher had answered before": (
        [LINK, SCHEDULED.model_copy(update={"generation": 9}), *TO_THE_INDEX[2:]],
        SEARCHABLE,
    ),
    "settled as changed is not the end": ([*TO_THE_INDEX[:4], settled("changed")], waiting("dedup")),
    "unique": (TO_THE_INDEX[:5], waiting("statements")),
    "split into statements": (TO_THE_INDEX[:6], waiting("embed")),
    "embedded": (TO_THE_INDEX[:7], waiting("index")),
    "indexed": (TO_THE_INDEX, SEARCHABLE),
    "indexed, and linked once more": ([*TO_THE_INDEX, LINK], SEARCHABLE),
    "indexed, and linked by a page with a newer generation": (
        [*TO_THE_INDEX, ANCHOR.model_copy(update={"generation": 9}), settled("changed")],
        SEARCHABLE,
    ),
    "only linked": ([ANCHOR], waiting("frontier")),
    "fetched again": (
        [*TO_THE_INDEX, SCHEDULED, fetched(generation=2)],
        {**SEARCHABLE, "waits_for": "normalize", "next_step": "wait"},
    ),
    "fetched again and unchanged": (
        [*TO_THE_INDEX, SCHEDULED, fetched(generation=2), settled("unchanged", 2)],
        SEARCHABLE,
    ),
    "fetched again and not modified": ([*TO_THE_INDEX, SCHEDULED, fetched("not_modified", generation=2)], SEARCHABLE),
    "a failed second fetch leaves it in the index": (
        [*TO_THE_INDEX, SCHEDULED, fetched("timeout", generation=2)],
        SEARCHABLE,
    ),
    "fetched again and gone": (
        [*TO_THE_INDEX, fetched("gone", generation=2), removed("gone", generation=2)],
        ended("removed", "gone"),
    ),
    "a late copy of an older removal": ([*TO_THE_INDEX, page(PageRemoved, 0, reason="gone")], SEARCHABLE),
    "a failure that will be tried again": (
        [LINK, SCHEDULED, fetched("server_error", retryable=True, error="status 503", status=503)],
        waiting("frontier", reason="fetch_failed", failure=RETRIED),
    ),
    "a lease that had expired before the request": (
        [LINK, SCHEDULED, fetched("timeout", retryable=True, lease_expired=True)],
        waiting("frontier", reason="fetch_failed", failure=FetchFailure(outcome="lease_expired", retryable=True)),
    ),
    "failed for good": (
        [LINK, SCHEDULED, fetched("client_error", error="status 400", status=400), settled("failed")],
        ended("not_indexed", "fetch_failed", failure=FAILED),
    ),
    "settled as failed, without the fetch": ([LINK, settled("failed")], ended("not_indexed", "fetch_failed")),
    "redirect": (
        [fetched("redirect", redirect_to="https://b.example/")],
        ended("redirected", "redirect", "see_redirect", redirect_to="https://b.example/"),
    ),
    "refused by robots.txt": (
        [LINK, removed("refused", detail="robots.txt", refused_by="robots")],
        ended("refused", "refused", "ask_owner", detail="robots.txt", refused_by="robots"),
    ),
    "beyond the budget of a crawl: another crawl has its own": (
        [LINK, removed("refused", refused_by="budget")],
        ended("refused", "refused", refused_by="budget"),
    ),
    "refused by the rules of URLs": (
        [removed("refused", refused_by="address")],
        ended("refused", "refused", "none", refused_by="address"),
    ),
    "refused, as a former release has said it": (
        [LINK, removed("refused", detail="robots.txt")],
        ended("refused", "refused", detail="robots.txt"),
    ),
    "noindex, with the verdict after it": (
        [*TO_THE_INDEX[:3], removed("noindex"), settled("refused")],
        ended("refused", "noindex", "ask_owner"),
    ),
    "its host is blocked": ([*TO_THE_INDEX, removed("blocked")], ended("refused", "blocked", "ask_operator")),
    "not supported": ([*TO_THE_INDEX[:3], removed("unsupported")], ended("not_indexed", "unsupported", "none")),
    **{
        f"not fetched: {outcome}": (
            [LINK, SCHEDULED, fetched(outcome)],
            ended("not_indexed", "fetch_failed", step, failure=FetchFailure(outcome=outcome)),
        )
        for outcome, step in {
            "guarded": "ask_operator",
            "too_large": "ask_operator",
            "unsupported_type": "none",
            "refused": "crawl_again",
            "gone": "crawl_again",
            "timeout": "crawl_again",
        }.items()
    },
    "soft 404": ([*TO_THE_INDEX[:3], settled("soft_404")], ended("not_indexed", "soft_404")),
    "on request": ([*TO_THE_INDEX, removed("request")], ended("removed", "request", "ask_operator")),
    "duplicate": ([*TO_THE_INDEX[:4], deduplicated("exact", OTHER), settled("duplicate")], DUPLICATE),
    "near-duplicate": (
        [*TO_THE_INDEX[:4], deduplicated("near", OTHER, distance=3)],
        ended("duplicate", "near_duplicate", "see_representative", representative=OTHER, distance=3),
    ),
    "URL alias": (
        [LINK, removed("duplicate", canonical_page_id=OTHER, detail="alias rule")],
        ended("duplicate", "duplicate", "see_representative", representative=OTHER, detail="alias rule"),
    ),
    "settled as a duplicate": (
        [*TO_THE_INDEX[:4], settled("duplicate", canonical_page_id=OTHER)],
        ended("duplicate", "duplicate", "see_representative", representative=OTHER),
    ),
    "elected as the representative": ([*TO_THE_INDEX[:4], deduplicated("near", PAGE)], waiting("statements")),
}


@pytest.mark.parametrize(("events", "fields"), HISTORIES.values(), ids=HISTORIES.keys())
def test_a_history_has_this_status(events: list[Event], fields: dict[str, Any]) -> None:
    assert status_of(history(*events)) == PageStatus.model_validate(fields)


@given(st.randoms())
def test_the_order_of_reading_changes_nothing(randomness: Any) -> None:
    transitions = history(*TO_THE_INDEX, settled("changed"))
    shuffled = list(transitions)
    randomness.shuffle(shuffled)
    assert status_of(shuffled) == status_of(transitions)


def test_a_value_of_a_newer_release_still_has_a_status() -> None:
    (removal,) = history(removed("gone"))
    newer = removal.__class__(PAGE, removal.event_id, removal.topic, "", 1, "", {**removal.data, "reason": "merged"})
    assert status_of([newer]) == PageStatus(status="removed", reason="other", next_step="crawl_again")


def test_each_status_and_reason_occurs_in_a_history() -> None:
    statuses = [PageStatus.model_validate(fields) for _, fields in HISTORIES.values()]
    assert {each.status for each in statuses} == set(get_args(Status))
    assert {each.reason for each in statuses} >= set(get_args(Reason)) - {"other", "blocked"}


def test_the_next_stages_are_those_of_the_topology() -> None:
    assert set(get_args(NextStage)) <= {each.name for each in STAGES}
    for topic, name in ledger_status._NEXT_STAGE.items():
        assert topic in {event.topic for event in stage(name).inputs}


def test_each_event_of_the_journey_has_a_place_in_it() -> None:
    on_the_way = (one for one in STAGES if not one.beside_journey)
    passed = {event for one in on_the_way for event in (*one.inputs, *one.outputs)}
    assert {event.topic for event in passed.intersection(PAGE_EVENTS)} == set(ledger_status._ORDER)


def test_an_event_of_a_stage_beside_the_journey_decides_nothing() -> None:
    before = history(*TO_THE_INDEX[:4])
    measured = replace(before[-1], topic="pages.measured", event_id=UUID(int=99), at=before[-1].at + 1)
    assert status_of([*before, measured]) == status_of(before)


@given(st.lists(st.sampled_from([*EVERY_KIND, ROBOTS, INDEXED]), max_size=12))
def test_any_history_has_a_status(events: list[Event]) -> None:
    assert status_of(history(*events)).status in get_args(Status)
