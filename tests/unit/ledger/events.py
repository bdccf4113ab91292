"""Events of one page, and histories made of them."""

from typing import Any
from uuid import UUID, uuid4

from schemas import (
    Event,
    LinkFound,
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
from streams.ledger.descriptions import describe
from streams.stores.protocols import Transition

PAGE, OTHER = UUID(int=1), UUID(int=2)
URL = "https://example.org/a"
HOST: dict[str, Any] = {"page_id": PAGE, "url": URL, "host": "example.org"}
LINK = PageDiscovered(**HOST, why="link", depth=2, referrer="https://example.org/")
ANCHOR = LinkFound(
    target_page_id=PAGE, target_url=URL, source_page_id=OTHER, source_url="https://example.org/", generation=1
)
SEED = PageDiscovered(**HOST, why="seed", depth=0)
SCHEDULED = PageScheduled(**HOST, lease_id=UUID(int=9), lease_until="2024-05-01T00:00:00Z", attempt=1)
ROBOTS = PageScheduled(**{**SCHEDULED.model_dump(), "purpose": "robots", "attempt": 2})


def fetched(outcome: str = "ok", **more: Any) -> PageFetched:
    return PageFetched.model_validate({**HOST, "outcome": outcome, "generation": 1, **more})


def page(kind: type[Event], generation: int = 1, **more: Any) -> Any:
    return kind.model_validate({"page_id": PAGE, "url": URL, "generation": generation, **more})


def normalized(generation: int = 1) -> PageNormalized:
    event: PageNormalized = page(
        PageNormalized, generation, document_ref="d", content_hash="c", language="en", text_chars=12_345, links=1
    )
    return event


def deduplicated(verdict: str = "unique", canonical: UUID = PAGE, **more: Any) -> Any:
    return page(PageDeduplicated, document_ref="d", verdict=verdict, canonical_page_id=canonical, **more)


def settled(verdict: str, generation: int = 1, **more: Any) -> PageSettled:
    return PageSettled.model_validate({**HOST, "generation": generation, "verdict": verdict, **more})


def removed(reason: str, **more: Any) -> Any:
    return page(PageRemoved, reason=reason, **more)


MODEL: dict[str, Any] = {"statements": 42, "model": "sbert", "model_version": "1"}
CHUNKED = page(PageChunked, statements_ref="s", statements=42)
EMBEDDED = page(PageEmbedded, statements_ref="s", vectors_ref="v", dimensions=384, **MODEL)
INDEXED = page(PageIndexed, collection="statements", **MODEL)
TO_THE_INDEX = [LINK, SCHEDULED, fetched(), normalized(), deduplicated(), CHUNKED, EMBEDDED, INDEXED]
"""All events of a page, from its discovery to the index."""
EVERY_KIND: list[Event] = [*TO_THE_INDEX, removed("gone"), settled("changed")]


def history(*events: Event) -> list[Transition]:
    """The transitions of these events, a microsecond apart."""
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
