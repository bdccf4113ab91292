"""A page's history: the ledger's rows, with what only the frontier's row of the URL shows."""

from dataclasses import replace
from typing import Any

import pytest

from schemas import Event
from streams.ledger.descriptions import describe_status
from streams.ledger.history import history_of
from streams.ledger.status import status_of
from streams.stores.memory import MemoryFrontier, MemoryLedger, MemoryPages
from streams.stores.opener import Stores
from streams.stores.page_record import Deduplicated, Fetched, Indexed, Normalized, Removed, StoredPart
from streams.stores.protocols import FrontierUrl
from tests.frontier_rows import put_urls
from tests.unit.ledger.events import (
    LINK,
    PAGE,
    SCHEDULED,
    TO_THE_INDEX,
    URL,
    fetched,
    history,
    normalized,
    removed,
    settled,
)

ROW = FrontierUrl(
    PAGE, URL, "example.org", "queued", at=5, depth=2, why="link", referrer="https://example.org/", discovered_at=3
)
DISALLOWED: dict[str, Any] = {
    "state": "done",
    "outcome": "disallowed",
    "detail": "robots.txt of example.org disallows it",
}


async def stores(row: FrontierUrl | None, *events: Any) -> Stores:
    found = Stores(ledger=MemoryLedger(), frontier=MemoryFrontier(), pages=MemoryPages())
    for step in history(*events):
        await found.ledger.record(replace(step, at=step.at + 10))
    if row:
        await put_urls(found.frontier, [row])
    return found


async def test_a_url_that_waits_shows_how_it_was_discovered() -> None:
    (step,) = await history_of(await stores(ROW), PAGE, URL)
    assert (step.topic, step.at, step.source) == ("pages.discovered", 3, "/riffle/frontier")
    assert step.outcome == "Linked from https://example.org/, depth 2"
    assert status_of([step]).waits_for == "frontier"


async def test_a_refusal_without_an_event_is_shown_with_its_reason() -> None:
    steps = await history_of(await stores(replace(ROW, **DISALLOWED)), PAGE, URL)
    assert [step.topic for step in steps] == ["pages.discovered", "pages.removed"]
    assert describe_status(status_of(steps)) == "Refused (robots.txt of example.org disallows it)"


async def test_the_discovery_comes_before_what_the_ledger_has() -> None:
    steps = await history_of(await stores(ROW, *TO_THE_INDEX[1:]), PAGE)
    assert [step.topic for step in steps][:2] == ["pages.discovered", "pages.scheduled"]
    assert status_of(steps).status == "indexed"


@pytest.mark.parametrize(
    ("row", "events", "why"),
    [
        (None, [SCHEDULED], "the frontier does not know the URL"),
        (replace(ROW, discovered_at=0, why=""), [SCHEDULED], "the row was written by an earlier version"),
        (ROW, [LINK, SCHEDULED], "a ledger of an earlier version has the discovery"),
        (replace(ROW, **DISALLOWED), [LINK, removed("refused")], "the refusal was sent as an event"),
        (replace(ROW, discovered_at=0, **DISALLOWED, ok_generation=1), [LINK], "the page was fetched before"),
    ],
)
async def test_a_step_is_never_shown_twice(row: FrontierUrl | None, events: list[Any], why: str) -> None:
    steps = await history_of(await stores(row, *events), PAGE)
    assert [step.topic for step in steps] == [event.topic for event in events], why


REQUEST = Removed.of_row({"url": URL, "generation": 4, "reason": "request", "detail": "by the owner", "at": 4})


async def test_a_removal_on_request_that_was_erased_from_the_ledger_is_shown() -> None:
    """A page that was removed in flight: the erasure took the ledger's row, and a late verdict came behind it."""
    found = await stores(None, settled("refused", 1))
    await found.pages.put(PAGE, REQUEST, 4)
    steps = await history_of(found, PAGE)
    assert [step.topic for step in steps] == ["pages.removed", "pages.settled"]
    assert describe_status(status_of(steps)) == "Removed on request (by the owner)"


async def test_a_removal_that_is_shown_twice_is_two_steps() -> None:
    """The erasure took the removal out of the ledger, and a visit that it ended still waits for a stage."""
    found = await stores(None, fetched(generation=6), normalized(generation=6))
    await found.pages.put(PAGE, REQUEST, 4)
    steps = await history_of(found, PAGE)
    removals = [step for step in steps if step.topic == "pages.removed"]
    assert [step.data["generation"] for step in removals] == [4, 6]
    assert len({step.event_id for step in steps}) == len(steps), "each has an id of its own"


async def test_a_removal_that_was_withdrawn_is_not_shown() -> None:
    found = await stores(None, *TO_THE_INDEX)
    await found.pages.put(PAGE, replace(REQUEST, withdrawn=4), 5)
    assert status_of(await history_of(found, PAGE)).status == "indexed"


async def test_a_removal_that_the_ledger_has_is_shown_once() -> None:
    found = await stores(None, removed("request"))
    await found.pages.put(PAGE, REQUEST, 4)
    assert len(await history_of(found, PAGE)) == 1


RECORD: dict[str, StoredPart] = {
    "fetched": Fetched.of_event(fetched(generation=30)),
    "normalized": Normalized.of_row({"url": URL, "generation": 30, "document_ref": "d", "content_hash": "c"}),
    "unique": Deduplicated.of_row(
        {"url": URL, "generation": 30, "document_ref": "d", "verdict": "unique", "canonical_page_id": PAGE, "at": 31}
    ),
    "indexed": Indexed.of_row(
        {"url": URL, "generation": 30, "statements": 4, "model": "m", "model_version": "1", "collection": "c", "at": 90}
    ),
}
UNCHANGED = Deduplicated.of_row({**RECORD["unique"].row(), "settled": "unchanged", "repeats": True})
JOURNEY = ["pages.fetched", "pages.normalized", "pages.deduplicated", "pages.indexed"]


@pytest.mark.parametrize(
    ("parts", "stored", "shown", "status"),
    [
        (["fetched"], [], JOURNEY[:1], "waiting"),
        (["fetched", "normalized", "unique"], [], JOURNEY[:3], "waiting"),
        (["fetched", "normalized", "unique", "indexed"], [], JOURNEY, "indexed"),
        # What the ledger has is shown once, and a later fetch than the ledger's is shown at once.
        (["fetched", "normalized"], [fetched(generation=30)], JOURNEY[1:2], "waiting"),
        (["fetched"], TO_THE_INDEX, JOURNEY[:1], "indexed"),
    ],
)
async def test_what_the_ledger_still_gathers_is_shown_from_the_record(
    parts: list[str], stored: list[Event], shown: list[str], status: str
) -> None:
    found = await stores(None, *stored)
    for part in parts:
        await found.pages.put(PAGE, RECORD[part], 30)
    steps, known = await history_of(found, PAGE), await found.ledger.history(PAGE)
    assert [step.topic for step in steps if step not in known] == shown
    assert status_of(steps).status == status


async def test_an_unchanged_page_is_settled_and_not_compared_again() -> None:
    found = await stores(None, *TO_THE_INDEX)
    for part in (RECORD["fetched"], RECORD["normalized"], UNCHANGED):
        await found.pages.put(PAGE, part, 30)
    steps = await history_of(found, PAGE)
    assert steps[-1].topic == "pages.settled"
    status = status_of(steps)
    assert (status.status, status.waits_for) == ("indexed", None)


async def test_a_page_that_is_unchanged_is_settled_once() -> None:
    """The ledger has the settlement with the generation of the fetch, the record that of a later decision."""
    found = await stores(None, *TO_THE_INDEX, fetched(generation=30), normalized(30), settled("unchanged", 30))
    parts = RECORD["fetched"], RECORD["normalized"]
    for part in (*parts, Deduplicated.of_row({**UNCHANGED.row(), "generation": 35, "at": 15})):
        await found.pages.put(PAGE, part, 30)
    topics = [step.topic for step in await history_of(found, PAGE)]
    assert topics.count("pages.settled") == 1


async def test_after_a_removal_on_request_the_record_tells_of_no_fetch() -> None:
    found = await stores(None)
    await found.pages.put(PAGE, RECORD["fetched"], 30)
    await found.pages.put(PAGE, replace(REQUEST, generation=40), 40)
    assert [step.topic for step in await history_of(found, PAGE)] == ["pages.removed"]
