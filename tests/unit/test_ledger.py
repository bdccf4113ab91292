"""What became of a page, in words, for each way that a page's life can go."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import (
    Event,
    PageChunked,
    PageDeduplicated,
    PageDiscovered,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageNormalized,
    PageRemoved,
    PageScheduled,
    PageSettled,
)
from streams.ledger.status import describe, next_step, status_of
from streams.stores.protocols import Transition
from streams.topology import stage

PAGE, OTHER = UUID(int=1), UUID(int=2)
URL = "https://example.org/a"
HOST: dict[str, Any] = {"page_id": PAGE, "url": URL, "host": "example.org"}
LINK = PageDiscovered(**HOST, why="link", depth=2, referrer="https://example.org/")
SCHEDULED = PageScheduled(**HOST, lease_id=UUID(int=9), lease_until="2024-05-01T00:00:00Z", attempt=1)
ROBOTS = PageScheduled(**{**SCHEDULED.model_dump(), "purpose": "robots", "attempt": 2})


def fetched(outcome: str = "ok", **more: Any) -> PageFetched:
    return PageFetched.model_validate({**HOST, "outcome": outcome, "generation": 1, **more})


def page(kind: type[Event], generation: int = 1, **more: Any) -> Any:
    return kind.model_validate({"page_id": PAGE, "url": URL, "generation": generation, **more})


def normalized(generation: int = 1) -> PageNormalized:
    found: PageNormalized = page(
        PageNormalized, generation, document_ref="d", content_hash="c", language="en", text_chars=12_345, links=1
    )
    return found


def deduplicated(verdict: str = "unique", canonical: UUID = PAGE, **more: Any) -> Any:
    return page(PageDeduplicated, document_ref="d", verdict=verdict, canonical_page_id=canonical, **more)


CHUNKED = page(PageChunked, statements_ref="s", statements=42)
MODEL = {"statements": 42, "model": "sbert", "model_version": "1"}
EMBEDDED = page(PageEmbedded, statements_ref="s", vectors_ref="v", dimensions=384, **MODEL)
INDEXED = page(PageIndexed, collection="statements", **MODEL)
THROUGH = [LINK, SCHEDULED, fetched(), normalized(), deduplicated(), CHUNKED, EMBEDDED, INDEXED]


def settled(verdict: str, generation: int = 1) -> PageSettled:
    return PageSettled.model_validate({**HOST, "generation": generation, "verdict": verdict})


def removed(reason: str, **more: Any) -> Any:
    return page(PageRemoved, reason=reason, **more)


LINES: list[tuple[Event, str]] = [
    (LINK, "Linked from https://example.org/, depth 2"),
    (PageDiscovered(**HOST, why="seed", depth=0), "Given as a seed"),
    (SCHEDULED, "Scheduled to be fetched"),
    (ROBOTS, "robots.txt of example.org scheduled to be fetched, attempt 2"),
    (fetched(status=200, body_bytes=1, elapsed_ms=12.6), "Fetched with status 200: 1 byte in 13 ms"),
    (fetched(source="warc", body_bytes=2_000), "Read from a WARC archive: 2,000 bytes in 0 ms"),
    (fetched("redirect", redirect_to="https://b.example/"), "Redirects to https://b.example/"),
    (fetched("timeout", retryable=True, error="30 s"), "The server did not answer in time (30 s), to be tried again"),
    (fetched("gone", purpose="robots", error="status 404"), "robots.txt: Gone (status 404)"),
    (normalized(), "Understood: 12,345 characters in en, 1 link"),
    (deduplicated(), "Unique"),
    (deduplicated("near", PAGE), "Elected to stand for its duplicates"),
    (deduplicated("near", OTHER, distance=2), f"Duplicate of page {OTHER} (near: 2 bits apart)"),
    (CHUNKED, "Cut into 42 statements"),
    (EMBEDDED, "Embedded: 42 vectors of 384 dimensions by sbert"),
    (INDEXED, "Indexed: 42 statements are searchable"),
    (removed("blocked", detail="robots.txt: Disallow: /a"), "Refused by robots.txt (robots.txt: Disallow: /a)"),
    (removed("blocked", detail="host on the block list"), "Blocked (host on the block list)"),
    (removed("noindex"), "Refused by the page itself: noindex"),
    (settled("unchanged"), "Settled: the content has not changed"),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line[:40] for _, line in LINES])
def test_each_event_has_its_line(event: Event, line: str) -> None:
    assert describe(event) == line


def test_no_event_of_the_ledger_is_without_words() -> None:
    described = {type(event) for event, _ in LINES}
    assert {event.__name__ for event in stage("ledger").inputs} == {event.__name__ for event in described}


WORDS = [
    (fetched(), "outcome"),
    (fetched(), "purpose"),
    (LINK, "why"),
    (removed("gone"), "reason"),
    (deduplicated(), "verdict"),
    (settled("gone"), "verdict"),
]


@pytest.mark.parametrize(
    ("event", "field"), WORDS, ids=lambda value: value if isinstance(value, str) else type(value).__name__
)
def test_a_value_that_is_added_to_a_schema_needs_words_of_its_own(event: Event, field: str) -> None:
    values = type(event).model_json_schema()["properties"][field]["enum"]
    lines = {value: describe(type(event).model_validate({**event.model_dump(), field: value})) for value in values}
    bare = {value for value, line in lines.items() if line in ("Removed", value.replace("_", " "))}
    assert not bare
    assert len(set(lines.values())) == len(lines) or event == deduplicated(), lines


def history(*events: Event) -> list[Transition]:
    """One event a second."""
    return [
        Transition(
            PAGE,
            uuid4(),
            event.topic,
            "/riffle/test",
            at,
            describe(event),
            event.model_dump(mode="json", exclude_none=True),
        )
        for at, event in enumerate(events)
    ]


LIVES: dict[str, tuple[list[Event], str, str]] = {
    "nothing": ([], "Unknown: no event about this page was ever seen", "riffle crawl URL"),
    "seen": ([LINK], "Waiting: discovered, not yet scheduled", "The frontier stage"),
    "scheduled": (THROUGH[:2], "Waiting: scheduled, not yet fetched", "The fetch stage takes it further at its host's"),
    "fetched": (THROUGH[:3], "Waiting: fetched, not yet normalized", "riffle dead-letters list --stage normalize"),
    "settled as changed is not the end": (
        [*THROUGH[:4], settled("changed")],
        "Waiting: normalized, not yet compared with other pages",
        "The dedup stage",
    ),
    "embedded": (THROUGH[:7], "Waiting: embedded, not yet indexed", "The index stage"),
    "indexed": (THROUGH, "Indexed: 42 statements are searchable", "Nothing to do: searches find it"),
    "indexed, and linked once more": ([*THROUGH, LINK], "Indexed: 42 statements are searchable", "Nothing to do"),
    "recrawl under way": (
        [*THROUGH, SCHEDULED, fetched(generation=2)],
        "Indexed: 42 statements are searchable. Under way again: fetched, not yet normalized",
        "The normalize stage",
    ),
    "recrawled and unchanged": (
        [*THROUGH, SCHEDULED, fetched(generation=2), settled("unchanged", 2)],
        "Indexed: 42 statements are searchable",
        "Nothing to do",
    ),
    "recrawled and not modified": (
        [*THROUGH, SCHEDULED, fetched("not_modified", generation=2)],
        "Indexed: 42 statements are searchable",
        "Nothing to do",
    ),
    "recrawl failed, the index keeps it": (
        [*THROUGH, SCHEDULED, fetched("timeout", generation=2)],
        "Indexed: 42 statements are searchable",
        "Nothing to do",
    ),
    "recrawled and gone": (
        [*THROUGH, fetched("gone", generation=2), removed("gone", generation=2)],
        "Removed: the page is gone",
        "riffle crawl URL",
    ),
    "a late copy of the former removal": (
        [*THROUGH, page(PageRemoved, 0, reason="gone")],
        "Indexed: 42 statements are searchable",
        "Nothing to do",
    ),
    "failed, to be tried again": (
        [LINK, SCHEDULED, fetched("server_error", retryable=True, error="status 503")],
        "Waiting: The server failed (status 503), to be tried again",
        "The frontier stage",
    ),
    "failed for good": (
        [LINK, SCHEDULED, fetched("client_error", error="status 400"), settled("failed")],
        "Not indexed: The server found the request wrong (status 400)",
        "riffle crawl URL",
    ),
    "redirect": ([fetched("redirect", redirect_to="https://b.example/")], "Redirects to https://b.example/", "Look at"),
    "refused by robots": ([LINK, removed("blocked")], "Refused by robots.txt", "Nothing happens by itself"),
    "noindex says more than its verdict": (
        [*THROUGH[:3], removed("noindex"), settled("refused")],
        "Refused by the page itself: noindex",
        "Nothing happens by itself",
    ),
    "soft 404": (
        [*THROUGH[:3], settled("soft_404")],
        "Not indexed: the page says that there is nothing",
        "riffle crawl",
    ),
    "duplicate": (
        [*THROUGH[:4], deduplicated("exact", OTHER), settled("duplicate")],
        f"Duplicate of page {OTHER}",
        "searchable in its place",
    ),
    "elected among duplicates": (
        [*THROUGH[:4], deduplicated("near", PAGE)],
        "Waiting: unique, not yet cut into statements",
        "The statements stage",
    ),
    "only its robots.txt": ([ROBOTS], "Unknown", "riffle crawl URL"),
}


@pytest.mark.parametrize(("events", "status", "step"), LIVES.values(), ids=LIVES.keys())
def test_what_became_of_the_page_and_what_comes_next(events: list[Event], status: str, step: str) -> None:
    past = history(*events)
    assert status_of(past).startswith(status)
    assert step in next_step(past)


@given(st.randoms())
def test_the_order_of_reading_changes_nothing(randomness: Any) -> None:
    past = history(*THROUGH, settled("changed"))
    shuffled = list(past)
    randomness.shuffle(shuffled)
    assert (status_of(shuffled), next_step(shuffled)) == (status_of(past), next_step(past))


@given(st.lists(st.sampled_from([event for event, _ in LINES]), max_size=12))
def test_any_history_has_a_status_and_a_next_step(events: list[Event]) -> None:
    past = history(*events)
    assert status_of(past)
    assert next_step(past)
