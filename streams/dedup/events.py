"""The events that the dedup stage publishes, as pure functions of its decisions."""

from collections.abc import Iterable
from typing import Any

from schemas import Event, PageDeduplicated, PageNormalized, PageRemoved, PageSettled
from streams.crawl.urls import host_of
from streams.dedup.grouping import published_generation
from streams.dedup.log import Outcome
from streams.errors import Refused
from streams.stores.page_quality import age_part, combined, copies_part
from streams.stores.page_record import Deduplicated
from streams.stores.protocols import Fingerprint


def own_events(
    event: PageNormalized, page: Fingerprint, outcome: Outcome, settled: str, record: Deduplicated, *, is_new: bool
) -> list[Event]:
    """Return the events about the own page: its decision, which settles the fetch, and its removal if it is a
    duplicate."""
    representative = outcome.canonical_page_id
    is_duplicate = representative != event.page_id
    generation = published_generation(page)
    deduplicated = PageDeduplicated.following(
        event,
        host=host_of(event.url),
        generation=generation,
        document_ref=page.document_ref,
        verdict=outcome.verdict,
        canonical_page_id=representative,
        distance=outcome.distance,
        simhash=outcome.simhash,
        simhash_version=page.simhash_version,
        settles="duplicate" if is_duplicate else settled,
        quality=_quality(event, record),
        is_new=is_new,
    )
    removed = PageRemoved.following(event, generation=generation, reason="duplicate", canonical_page_id=representative)
    return [deduplicated, removed] if is_duplicate else [deduplicated]


def only_settled(own: Iterable[Event], generation: int) -> list[Event]:
    """Return the settlement of a fetch from the events about its page. The index has the decision already.

    It has the generation of the fetch, also if the fetch was read again: nothing was published that is older.
    """
    settled = [event.settled() for event in own if isinstance(event, PageDeduplicated)]
    return [one.model_copy(update={"generation": generation}) for one in settled if one]


def _quality(event: PageNormalized, record: Deduplicated) -> float | None:
    """Return the quality of the page's text, with the parts that this stage adds."""
    if event.quality is None:
        return None
    parts = {"copies": copies_part(record.copied or 0.0)}
    if record.first_seen is not None:
        parts["age"] = age_part(event.generation - record.first_seen)
    return combined(event.quality, parts)


def refusal_events(event: PageNormalized, generation: int, refusal: Refused) -> list[Event]:
    """Return the removal of a page after its text used up a sandbox process, and its settlement.

    The removal promotes a duplicate of the page, if it has one.
    """
    removed = PageRemoved.following(event, generation=generation, reason="unsupported", detail=str(refusal))
    return [removed, refused(event, generation)]


def refused(event: PageNormalized, generation: int) -> Event:
    """Return the settlement of a page that is not indexed, such as a page that was removed on request."""
    return PageSettled.following(event, generation=generation, host=host_of(event.url), verdict="refused")


def overtaken(event: PageNormalized) -> Event:
    """Return the settlement of a fetch whose text came behind a later visit or removal of its page: it changes nothing.

    What came later may be of another crawl, or have been before an import: no other event settles this fetch.
    """
    return PageSettled.following(event, host=host_of(event.url), verdict="unchanged")


def promotion(page: Fingerprint, crawl_id: str) -> Event:
    """Return the event that another page became the representative."""
    return PageDeduplicated(
        **_about(page, crawl_id),
        host=host_of(page.url),
        document_ref=page.document_ref,
        verdict="unique",
        canonical_page_id=page.page_id,
        simhash=f"{page.simhash:016x}",
        simhash_version=page.simhash_version,
    )


def demotion(page: Fingerprint, crawl_id: str) -> Event:
    """Return the event that another page became a duplicate."""
    return PageRemoved(**_about(page, crawl_id), reason="duplicate", canonical_page_id=page.representative)


def _about(page: Fingerprint, crawl_id: str) -> dict[str, Any]:
    """Return the fields of an event about a page that is not the one of its cause."""
    return {
        "page_id": page.page_id,
        "url": page.url,
        "generation": published_generation(page),
        "crawl_id": crawl_id,
    }
