"""The sentences of the ledger: a line for each event, and a page's status and next step."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Event
from schemas.pages import PageEvent
from streams.gateway.http.languages import Wording
from streams.ledger import descriptions
from streams.ledger.descriptions import describe, describe_links, describe_next_step, describe_status, describe_step
from streams.ledger.status import FetchFailure, PageStatus, status_of
from streams.stores.protocols import Transition
from tests.unit.ledger.events import (
    ANCHOR,
    CHUNKED,
    EMBEDDED,
    EVERY_KIND,
    INDEXED,
    LINK,
    OTHER,
    PAGE,
    ROBOTS,
    SCHEDULED,
    SEED,
    URL,
    deduplicated,
    fetched,
    history,
    normalized,
    removed,
    settled,
)

LINES: list[tuple[Event, str]] = [
    (LINK, "Linked from https://example.org/, depth 2"),
    (ANCHOR, "Linked from https://example.org/"),
    (SEED, "Given as a seed"),
    (SCHEDULED, "Scheduled to be fetched"),
    (ROBOTS, "robots.txt of example.org scheduled to be fetched, attempt 2"),
    (fetched(status=200, body_bytes=1, elapsed_ms=12.6), "Fetched with status 200: 1 byte in 13 ms"),
    (fetched(source="warc", body_bytes=2_000), "Read from a WARC archive: 2,000 bytes in 0 ms"),
    (fetched("redirect", redirect_to="https://b.example/"), "Redirects to https://b.example/"),
    (
        fetched("redirect", redirect_to="https://b.example/", body_ref="a" * 64),
        "Redirects to https://b.example/. Its last content stays, since the redirect is temporary",
    ),
    (fetched("timeout", retryable=True, error="30 s"), "The server did not answer in time (30 s), will be tried again"),
    (
        fetched("timeout", retryable=True, lease_expired=True),
        "Not requested: its lease had expired, will be tried again",
    ),
    (fetched("gone", purpose="robots", error="status 404"), "robots.txt: Gone (status 404)"),
    (normalized(), "Normalized: 12,345 characters in en, 1 link"),
    (deduplicated(), "Unique"),
    (deduplicated(settles="changed"), "Unique; the content is new or has changed"),
    (deduplicated(settles="unchanged"), "Unique; the content has not changed"),
    (deduplicated("near", PAGE), "Elected as the representative of its duplicates"),
    (deduplicated("near", OTHER, distance=2), f"Duplicate of page {OTHER} (near: 2 bits apart)"),
    (CHUNKED, "Split into 42 statements"),
    (
        CHUNKED.model_copy(update={"left_out": 1_000}),
        "Split into 42 statements; about 1,000 more are left out, since the page is too long",
    ),
    (EMBEDDED, "Embedded: 42 vectors of 384 dimensions by sbert"),
    (INDEXED, "Indexed: 42 statements are searchable"),
    (
        INDEXED.model_copy(update={"statements": 12_000, "left_out": 18_000}),
        "Indexed: 12,000 of about 30,000 statements are searchable: the page is too long for more",
    ),
    (removed("blocked", detail="robots.txt: Disallow: /a"), "Blocked (robots.txt: Disallow: /a)"),
    (removed("duplicate", canonical_page_id=OTHER), f"Duplicate of page {OTHER}"),
    (removed("noindex"), "Refused by the page itself: noindex"),
    (settled("unchanged"), "Settled: the content has not changed"),
]


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line[:40] for _, line in LINES])
def test_each_event_has_its_line(event: Event, line: str) -> None:
    assert describe(event) == line


@pytest.mark.parametrize(("event", "line"), LINES, ids=[line[:40] for _, line in LINES])
def test_a_stored_row_has_the_line_of_its_event_in_each_language(event: Event, line: str) -> None:
    (row,) = history(event)
    shown = describe_step(replace(row, outcome="the line of another release"))
    assert shown == line
    assert Wording.of("de").say(shown) != line


LINKS = ["https://a.example/", "https://b.example/", "https://c.example/"]
GERMAN: list[tuple[Transition, str]] = [
    (history(LINK)[0], "Verlinkt von https://example.org/, Tiefe 2"),
    (
        history(fetched(status=200, body_bytes=41_230, elapsed_ms=1_084.0))[0],
        "Abgerufen mit Status 200: 41.230 Bytes in 1.084 ms",
    ),
    (history(normalized())[0], "Normalisiert: 12.345 Zeichen auf Englisch, 1 Link"),
    (
        history(deduplicated("near", OTHER, distance=2))[0],
        f"Duplikat von Seite {OTHER} (ähnlich: 2 Bit Unterschied)",
    ),
    (
        replace(history(ANCHOR)[0], outcome=describe_links(LINKS), data={"referrers": LINKS}),
        "Verlinkt von 3 Seiten, zum Beispiel https://a.example/",
    ),
    # Rows whose data this release can't read keep their line.
    (replace(history(SEED)[0], data={"why": "a whim"}, outcome="Given by a whim\u202e"), "Given by a whim"),
    (replace(history(SEED)[0], topic="pages.weighed", outcome="It was weighed"), "It was weighed"),
]


@pytest.mark.parametrize(("row", "line"), GERMAN, ids=[line[:40] for _, line in GERMAN])
def test_a_history_is_in_the_readers_language(row: Transition, line: str) -> None:
    assert Wording.of("de").say(describe_step(row)) == line


def test_each_line_of_an_event_is_checked() -> None:
    assert {type(event) for event, _ in LINES} == descriptions._LINES.keys()


def test_an_event_of_a_stage_that_the_ledger_does_not_know_is_described_by_its_first_line() -> None:
    class PageWeighed(PageEvent):
        """The bytes of a page were counted.

        It has more lines.
        """

    assert describe(PageWeighed(page_id=PAGE, url=URL, generation=1)) == "The bytes of a page were counted"


FIELDS = [
    (fetched(), "outcome"),
    (fetched(), "purpose"),
    (LINK, "why"),
    (removed("gone"), "reason"),
    (deduplicated(), "verdict"),
    (settled("gone"), "verdict"),
]


@pytest.mark.parametrize(
    ("event", "field"), FIELDS, ids=lambda value: value if isinstance(value, str) else type(value).__name__
)
def test_each_value_of_a_schema_has_a_line_of_its_own(event: Event, field: str) -> None:
    values = type(event).model_json_schema()["properties"][field]["enum"]
    lines = {value: describe(type(event).model_validate({**event.model_dump(), field: value})) for value in values}
    without_a_line = {value for value, line in lines.items() if line in ("Removed", value.replace("_", " "))}
    assert not without_a_line
    assert len(set(lines.values())) == len(lines) or event == deduplicated(), lines


RETRIED = FetchFailure(outcome="server_error", http_status=503, error="status 503", retryable=True)
STATUSES: list[tuple[PageStatus, str, str]] = [
    # status, sentence, next step
    (
        PageStatus(status="unknown", next_step="crawl"),
        "Unknown: Riffle has no event about this page",
        "Crawl it: riffle",
    ),
    (
        PageStatus(status="indexed", statements=12_000, left_out=18_000),
        "Indexed: 12,000 of about 30,000 statements are searchable: the page is too long for more",
        "Nothing to do: searches find it",
    ),
    (
        PageStatus(status="indexed", statements=1),
        "Indexed: 1 statement is searchable",
        "Nothing to do: searches find it",
    ),
    (
        PageStatus(status="indexed", statements=42, waits_for="normalize", next_step="wait"),
        "Indexed: 42 statements are searchable. Under way again: fetched, not yet normalized",
        "The normalize stage handles it next. If nothing happens: riffle dead-letters list --stage normalize",
    ),
    (
        PageStatus(status="waiting", waits_for="fetch", next_step="wait"),
        "Waiting: scheduled, not yet fetched",
        "The fetch stage handles it next at its host's pace.",
    ),
    (
        PageStatus(status="waiting", reason="fetch_failed", failure=RETRIED, waits_for="frontier", next_step="wait"),
        "Waiting: The server failed (status 503), will be tried again",
        "The frontier stage handles it next at its host's pace.",
    ),
    (
        PageStatus(status="duplicate", reason="near_duplicate", representative=OTHER, distance=1),
        f"Duplicate of page {OTHER} (near: 1 bit apart)",
        "",
    ),
    (
        PageStatus(status="duplicate", reason="duplicate", next_step="see_representative"),
        "Duplicate of another page",
        "Nothing to do: its representative is searchable in its place",
    ),
    (
        PageStatus(status="redirected", redirect_to="https://b.example/", next_step="see_redirect"),
        "Redirects to https://b.example/",
        "Look at the page that it redirects to",
    ),
    (PageStatus(status="removed", reason="gone"), "Removed: the page is gone", ""),
    (
        PageStatus(status="refused", reason="refused", detail="robots.txt", refused_by="robots", next_step="ask_owner"),
        "Refused (robots.txt)",
        "Only the owner of its host can change this, in the host's robots.txt. Once that is done: riffle crawl URL",
    ),
    (
        PageStatus(status="refused", reason="noindex", next_step="ask_owner"),
        "Refused by the page itself: noindex",
        "Only its owner can change this, by leaving out noindex. Once that is done: riffle crawl URL",
    ),
    (
        PageStatus(status="refused", reason="blocked", next_step="ask_operator"),
        "Blocked",
        "An operator of this Riffle has blocked its host. To withdraw it: riffle frontier set HOST --unblock",
    ),
    (
        PageStatus(status="not_indexed", reason="unsupported", next_step="none"),
        "Not indexed: this kind of content is not supported",
        "Nothing to do: another crawl would end in the same way",
    ),
    (
        PageStatus(
            status="not_indexed",
            failure=FetchFailure(outcome="guarded"),
            reason="fetch_failed",
            next_step="ask_operator",
        ),
        "Not indexed: Its address is not on the public network",
        "Only an operator of this Riffle can allow its address: RIFFLE_CRAWL__ALLOWED_NETWORKS. Once that is done:",
    ),
    (
        PageStatus(
            status="not_indexed",
            failure=FetchFailure(outcome="too_large"),
            reason="fetch_failed",
            next_step="ask_operator",
        ),
        "Not indexed: Larger than the limit",
        "Only an operator of this Riffle can raise RIFFLE_CRAWL__MAX_BODY_BYTES. Once that is done: riffle crawl URL",
    ),
    (
        PageStatus(status="not_indexed", reason="refused", next_step="crawl_again"),
        "Not indexed: refused",
        "Nothing happens by itself. To fetch it again: riffle crawl URL",
    ),
]


@pytest.mark.parametrize(("status", "sentence", "step"), STATUSES, ids=[sentence for _, sentence, _ in STATUSES])
def test_each_status_has_its_sentence_and_next_step(status: PageStatus, sentence: str, step: str) -> None:
    assert describe_status(status) == sentence
    assert describe_next_step(status).startswith(step)


@pytest.mark.parametrize(
    ("status", "command"),
    [
        (PageStatus(status="unknown", next_step="crawl"), "riffle crawl"),
        (PageStatus(status="removed", reason="request", next_step="ask_operator"), "riffle remove --undo"),
        (PageStatus(status="refused", reason="noindex", next_step="ask_owner"), "riffle crawl"),
        (PageStatus(status="not_indexed", reason="refused", next_step="crawl_again"), "riffle crawl"),
    ],
    ids=["unknown", "removed on request", "noindex", "refused"],
)
def test_a_command_names_the_page_as_a_shell_reads_it(status: PageStatus, command: str) -> None:
    assert describe_next_step(status, "https://b.example/x").endswith(f"{command} https://b.example/x")
    assert describe_next_step(status, "https://b.example/?a=1&b=2").endswith(f"{command} 'https://b.example/?a=1&b=2'")
    assert describe_next_step(status).endswith(f"{command} URL")


def test_a_representative_is_named_by_its_url_where_that_is_known() -> None:
    status = PageStatus(status="duplicate", representative=UUID(int=7))
    assert describe_status(status, "https://b.example/") == "Duplicate of https://b.example/"


@given(st.lists(st.sampled_from([event for event, _ in LINES] + EVERY_KIND), max_size=12))
def test_any_history_has_a_sentence_and_a_next_step(events: list[Event]) -> None:
    status = status_of(history(*events))
    assert describe_status(status)
    assert describe_next_step(status)
