"""The history of a page, from three tables: the ledger's transitions, the frontier's row of the URL, and its record.

The frontier's row has the discovery of the URL, and the reason why it was not fetched. Neither fact is an event of its
own or a row of the ledger: a site may have far more such URLs than pages. The record has the removal on request, which
an erasure may take out of the ledger with all earlier rows, and what the last stages did: the ledger gathers a page's
events for up to five minutes, and a person who waits for a page sees each step at once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid5

from schemas import (
    PageDeduplicated,
    PageDiscovered,
    PageIndexed,
    PageNormalized,
    PageRemoved,
    PageSettled,
)
from streams.crawl.frontier.outputs import url_refused
from streams.crawl.urls import host_of
from streams.ledger.descriptions import describe
from streams.ledger.status import status_of
from streams.stores.opener import Stores
from streams.stores.page_record import Deduplicated, Fetched, Indexed, Normalized, PageRecord
from streams.stores.protocols import FrontierUrl, Transition
from streams.stores.removals import is_held_back, removals, requested

SOURCE = "/riffle/frontier"


async def history_of(stores: Stores, page_id: UUID, address: str = "") -> list[Transition]:
    """Return all transitions of a page, oldest first. `address`: see `read_record_and_history`."""
    _, history = await read_record_and_history(stores, page_id, address)
    return history


async def read_record_and_history(
    stores: Stores, page_id: UUID, address: str = "", shows: Callable[[str], bool] = lambda url: True
) -> tuple[PageRecord, list[Transition]]:
    """Return the record of a page, and all transitions of the page, oldest first. Each table is read once.

    `shows`: says whether a page with this URL is shown. One that is not shown is empty, after as many reads as a page
    that is not there.

    `address`: the page's URL, if the caller has it. Without it, the steps of a URL that was never fetched are unknown:
    the frontier's rows are found by their host.
    """
    stored, record = await stores.ledger.history(page_id), await stores.pages.get(page_id)
    address = address or url_of(record, stored)
    if address and not shows(address):
        return PageRecord({}), []
    url = await stores.frontier.url(host_of(address), page_id) if address else None
    steps = [
        *stored,
        *(frontier_steps(url, stored) if url else ()),
        *removal_steps(page_id, record, stored),
        *record_steps(page_id, record, stored),
    ]
    return record, sorted(steps, key=lambda step: (step.at, step.event_id))


def url_of(record: PageRecord, history: Sequence[Transition]) -> str:
    """Return the page's URL by its record or its history, or ""."""
    urls = (*(part.url for part in record.parts()), *(step.data.get("url") for step in history))
    return str(next(filter(None, urls), ""))


def frontier_steps(url: FrontierUrl, stored: Sequence[Transition]) -> Iterator[Transition]:
    """Yield the transitions that only the frontier's row shows."""
    if url.discovered_at and not any(_is_discovery(step, url) for step in stored):
        yield _make_transition(_discovery_event(url), url.discovered_at)
    # Outcomes that only the frontier decides. A refusal that was sent as an event is in the ledger.
    refused = url.state == "done" and url.outcome in ("disallowed", "over_budget") and not url.ok_generation
    if refused and not any(step.topic == PageRemoved.topic for step in stored):
        yield _make_transition(url_refused(url), url.at)


def removal_steps(page_id: UUID, record: PageRecord, stored: Sequence[Transition]) -> Iterator[Transition]:
    """Yield the removal on request if only the page's record has it, and once more behind the visits that it ended.

    A visit under way at the removal may come through several stages, and the last one drops it without an event.
    """
    if not is_held_back(record):
        return
    at, removed = requested(record), record.removed
    event = PageRemoved(
        page_id=page_id,
        url=removed.url or record.deduplicated.url,
        generation=at,
        reason="request",
        detail=removed.detail,
    )
    steps = list(stored)
    if not any(step.topic == PageRemoved.topic and step.data.get("reason") == "request" for step in stored):
        steps.append(_make_transition(event, at))
        yield steps[-1]
    status = status_of(steps)
    if status.reason != "request" or status.waits_for:
        generation = max(at, *(step.data.get("generation", 0) for step in stored))
        again = event.model_copy(update={"generation": generation})
        yield _make_transition(again, max(at, *(step.at + 1 for step in stored)), f"/{generation}")


def record_steps(page_id: UUID, record: PageRecord, stored: Sequence[Transition]) -> Iterator[Transition]:
    """Yield the last steps of a crawled page that its record has, and the ledger not yet.

    A step has the time of its fetch if its part has no time of its own, and comes after the step before it.
    """
    if is_held_back(record) or record.fetched.source != "crawl":
        return
    at, removed = 0, [step for step in stored if step.topic == PageRemoved.topic]
    last = max([*(one.generation for one in removals(record)), *(step.data.get("generation", 0) for step in removed)])
    for event, written_at in _recorded(page_id, record):
        if isinstance(event, PageNormalized) and event.generation <= last:
            continue  # such as a page that asks not to be indexed: it has a document, and no stage waits for that
        at = max(written_at, event.generation, at + 1)
        known = [step for step in stored if step.topic == event.topic]
        # The record has the generation of the decision: it may be later than the settlement, which has the fetch's.
        if isinstance(event, PageSettled) and any(step.at >= written_at for step in known):
            continue
        if event.generation > max((step.data.get("generation", 0) for step in known), default=-1):
            yield _make_transition(event, at)


def _recorded(page_id: UUID, record: PageRecord) -> Iterator[tuple[Any, int]]:
    """Yield the events that the parts of a record tell of, in the order of a journey, with the times of the parts."""
    about = {"page_id": page_id}
    if record.has(Fetched):
        yield record.fetched.event(), 0
    normalized, decided, indexed = record.normalized, record.deduplicated, record.indexed
    if record.has(Normalized) and not normalized.refused:
        quality = normalized.quality.get("score")
        row = {**normalized.row(), **about, "canonical_url": normalized.canonical, "quality": quality}
        yield PageNormalized.model_validate(row), 0
    if decided.settled == "unchanged" and decided.repeats:
        host = host_of(decided.url)
        yield PageSettled.model_validate({**decided.row(), **about, "host": host, "verdict": "unchanged"}), decided.at
    elif record.has(Deduplicated) and decided.canonical_page_id and decided.document_ref:
        yield PageDeduplicated.model_validate({**decided.row(), **about}), decided.at
    if record.has(Indexed):
        yield PageIndexed.model_validate({**indexed.row(), **about}), indexed.at


def _is_discovery(step: Transition, url: FrontierUrl) -> bool:
    return step.topic == PageDiscovered.topic and step.data.get("why") == url.why


def _discovery_event(url: FrontierUrl) -> PageDiscovered:
    return PageDiscovered.model_validate(
        {
            "page_id": url.page_id,
            "url": url.url,
            "host": url.host,
            "why": url.why,
            "depth": url.depth,
            "crawl_id": url.crawl_id,
            "referrer": url.referrer or None,
        }
    )


def _make_transition(event: Any, at: int, name: str = "") -> Transition:
    """Return a page's event as a transition. `name`: what tells it from another one of its topic."""
    return Transition(
        page_id=event.page_id,
        event_id=uuid5(event.page_id, f"frontier/{event.topic}{name}"),
        topic=event.topic,
        source=SOURCE,
        at=at,
        outcome=describe(event),
        data=event.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
    )
