"""Rows and blobs of the former release: today's code reads them, and pages in the middle of their journey continue."""

import dataclasses
import json
from dataclasses import asdict
from typing import Any
from uuid import UUID

import pytest

from schemas import EVENTS, Event, PageDiscovered, PageIndexed
from schemas.ids import page_id
from streams.crawl.frontier.host_state import Host, Lease, Robots
from streams.ledger.agent import LedgerAgent
from streams.ledger.status import status_of
from streams.pages.document.codec import decode_document
from streams.runtime.agent import Agent, Delivery
from streams.runtime.records import decode
from streams.sandbox.inline import InlineSandbox
from streams.statements.agent import StatementsAgent
from streams.statements.codec import decode_statements
from streams.statements.sandbox_tasks import DRAFT
from streams.stores.opener import Stores, memory_stores
from streams.stores.packing import FIELDS, unpack
from streams.stores.protocols import Fingerprint, FrontierHost, FrontierUrl, Transition
from streams.stores.row_codec import blob_ref, unpack_fingerprint, unpack_frontier_url, unpack_transition
from streams.vectors.codec import decode_vectors
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent
from tests.former_release import FormerRelease, row_bytes

RELEASE = FormerRelease()
PAGE, DUPLICATE, GONE = (page_id(f"https://rivers.example/{path}") for path in ("riffles", "print/riffles", "gone"))
MODELS = {event.topic: event for event in EVENTS}


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def test_records_of_pages() -> None:
    for page, parts in RELEASE.rows["pages"].items():
        found = {part: as_json(unpack(row_bytes(value))) for part, value in parts.items()}
        assert found == RELEASE.expected["pages"][page]


def history(page: UUID) -> list[Transition]:
    rows = [row for row in RELEASE.rows["transitions"] if row["page_id"] == str(page)]
    return [unpack_transition(page, UUID(row["event_id"]), row_bytes(row["value"])) for row in rows]


def test_transitions_and_the_status_that_follows_from_them() -> None:
    for row in RELEASE.rows["transitions"]:
        found = unpack_transition(UUID(row["page_id"]), UUID(row["event_id"]), row_bytes(row["value"]))
        assert as_json({**asdict(found), **row["expected"]}) == as_json(asdict(found))
    assert status_of(history(PAGE)).status == "indexed"
    assert status_of(history(DUPLICATE)).status == "duplicate"
    assert status_of(history(GONE)).status == "not_indexed"


def test_fingerprints() -> None:
    for row in RELEASE.rows["fingerprints"]:
        found = unpack_fingerprint(UUID(row["page_id"]), row_bytes(row["value"]))
        expected = {
            **row["expected"],
            "sketch": row_bytes(row["expected"]["sketch"]),
            "bands": tuple(row["expected"]["bands"]),
        }
        assert {name: getattr(found, name) for name in expected} == expected


def test_urls_of_the_frontier() -> None:
    for row in RELEASE.rows["frontier_urls"]:
        found = as_json(asdict(unpack_frontier_url(UUID(row["page_id"]), row["at"], row_bytes(row["value"]))))
        assert {name: found[name] for name in row["expected"]} == row["expected"]


def test_hosts_of_the_frontier() -> None:
    (row,) = RELEASE.rows["frontier_hosts"]
    host = Host.from_row(FrontierHost(0, row["host"], row["due"], unpack(row_bytes(row["value"])), row["at"]))
    assert host.cursor is not None
    assert (host.cursor.position, host.cursor.page_id, host.next_at, host.failures) == (7, PAGE, 11, 2)
    assert (host.crawls["c"].scheduled, host.crawls["c"].seeded) == (4, True)
    assert list(host.leases.values()) == [Lease(UUID(int=5), PAGE, 99, 1)]
    assert host.robots == Robots(
        "rules", "ab" * 32, 5, 2.5, 1, redirects=1, url="https://x.example/robots.txt", detail="d"
    )


def test_held_urls() -> None:
    (row,) = RELEASE.rows["held_urls"]
    assert PageDiscovered.from_json(row["discovered"].encode()).url == "https://rivers.example/riffles"


def test_documents() -> None:
    ((ref, expected),) = RELEASE.expected["documents"].items()
    found = decode_document(RELEASE.blobs[ref])
    assert (found.title, found.language) == (expected["title"], expected["language"])
    assert [block.text for block in found.blocks] == expected["texts"]
    assert [block.tag for block in found.blocks] == expected["kinds"]


def test_statements_and_their_vectors() -> None:
    ((ref, expected),) = RELEASE.expected["statements"].items()
    found = [as_json(asdict(statement)) for statement in decode_statements(RELEASE.blobs[ref]).statements]
    assert [{name: one[name] for name in wanted} for one, wanted in zip(found, expected, strict=True)] == expected
    ((vectors_ref, shape),) = RELEASE.expected["vectors"].items()
    vectors = decode_vectors(RELEASE.blobs[vectors_ref], ref)
    assert list(vectors.shape) == shape["shape"] == [len(expected), 64]


async def former_stores() -> Stores:
    """Stores with what the former release had written of the first page."""
    stores = memory_stores()
    for ref, content in RELEASE.blobs.items():
        assert await stores.blobs.put(content) == ref == blob_ref(content)
    return stores


def former_delivery(topic: str, event: Event | None = None) -> Delivery:
    """A delivery of the former release's first event of a topic, or of another event with its envelope."""
    record = RELEASE.journey(topic)
    former, envelope = decode(MODELS[topic], record.value, record.headers)
    return Delivery(event or former, envelope, topic, 0, 0)


@pytest.mark.parametrize("topic", ["pages.deduplicated", "pages.chunked", "pages.embedded"])
async def test_a_page_in_the_middle_of_its_journey_reaches_the_index(topic: str) -> None:
    stores = await former_stores()
    stages: dict[str, Agent] = {
        "pages.deduplicated": StatementsAgent(stores, InlineSandbox((DRAFT,))),
        "pages.chunked": EmbedAgent(stores),
        "pages.embedded": IndexAgent(stores),
    }
    delivery = former_delivery(topic)
    while stage := stages.get(delivery.topic):
        (event,) = await stage.handle(delivery)
        delivery = former_delivery(event.topic, event)
    assert isinstance(delivery.event, PageIndexed)
    collection = await stores.vectors.ensure(await stores.embedder.info())
    texts = {hit.payload.text for hit in await stores.vectors.scroll(collection, PAGE)}
    assert "Riffles are shallow and fast." in texts


async def test_the_ledger_records_every_event_of_the_former_release() -> None:
    stores = memory_stores()
    ledger = LedgerAgent(stores.ledger, max_gathering_seconds=0)
    for record in RELEASE.records:
        event, envelope = decode(MODELS[record.topic], record.value, record.headers)
        if hasattr(event, "page_id") and record.topic not in ("results.clicked",):
            await ledger.handle(Delivery(event, envelope, record.topic, 0, 0))
    assert status_of(await stores.ledger.history(DUPLICATE)).status == "duplicate"


NOT_READ_BY_1D35875 = {
    "FrontierUrl": {"lease_generation", "why", "referrer", "discovered_at"},
    "Lease": {"begin_by", "generation"},
    "Robots": {"outages"},
    "Fingerprint": set(),
    "Transition": set(),
}
"""Fields that today's rows have and the readers of 1d35875 refuse: its frontier workers must be stopped before an
upgrade (`riffle migrate`). Later releases ignore unknown fields, so this list must not grow."""
STORE_FIELDS = {"representative", "site_first_seen", "group", "is_hidden"}
"""Fields of a fingerprint that are columns or rows of their own, so that no reader meets them in the row."""


@pytest.mark.parametrize("kind", [FrontierUrl, Fingerprint, Transition, Lease, Robots])
def test_the_former_release_knows_every_field_of_todays_rows(kind: Any) -> None:
    written = {field.name for field in dataclasses.fields(kind)}
    known = set(RELEASE.data["fields"][kind.__name__])
    assert written - known - STORE_FIELDS == NOT_READ_BY_1D35875[kind.__name__]


def test_field_numbers_of_the_former_release_are_unchanged() -> None:
    assert list(FIELDS[: len(RELEASE.data["fields"]["packed"])]) == RELEASE.data["fields"]["packed"]
