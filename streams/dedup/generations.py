"""Fetches and replays of a page: which events are outdated, and the generations of what is published about it. Pure."""

from schemas import PageNormalized, PageRemoved
from streams.dedup.grouping import have_one_audience, is_undecided, published_generation
from streams.dedup.log import Log
from streams.stores.blobs import have_same_content
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Fingerprint
from streams.stores.removals import removals

SAME_FETCH = 500_000
"""Minimum difference between the generations of two fetches of a page (microseconds). Replays use what lies between."""
DECISION_MARGIN = 100
"""Microseconds that a replay adds to a generation, so that other workers' decisions at the same moment are older."""
NEVER = 2**63 - 1


def is_same_fetch(event: PageNormalized, former: Fingerprint) -> bool:
    return former.generation >= event.generation


def is_overtaken(event: PageNormalized | PageRemoved, known: int) -> bool:
    """Return whether a later fetch than the event's is known. A replay is not a fetch."""
    return known >= event.generation + SAME_FETCH


def repetition(event: PageNormalized, made: Fingerprint, former: Fingerprint | None, log: Log) -> tuple[bool, int]:
    """Return the facts `repeats` and `document_generation` of the record. `made`: the fingerprint of this fetch.

    A page with another audience repeats nothing: its points, words and duplicates change.
    """
    known = log.record.document_generation
    known = event.generation if known is None else known
    if log.is_own:
        return bool(log.record.repeats), known
    # A record of another document: the event that stored the fingerprint has not decided it.
    if former is None or not (
        have_same_content(former.document_ref, made.document_ref)
        and have_same_content(log.record.document_ref, made.document_ref)
        and have_one_audience(former.content_hash, made.content_hash)
    ):
        return False, event.generation
    is_fetch = event.generation >= former.generation + SAME_FETCH
    was_elected = former.representative == former.page_id and not is_undecided(former)
    return is_fetch and was_elected, known


def generation_after_removal(record: PageRecord, event: PageNormalized) -> int:
    """Return the generation for a replay of a page without a fingerprint. NEVER after a removal on request.

    It is less than the event's generation if no removal is known, or only removals of earlier fetches.
    """
    last = max(removals(record), key=lambda removal: removal.generation)
    if last.reason == "request" and last.generation >= event.generation:
        return NEVER
    return last.generation + DECISION_MARGIN if last.generation >= event.generation else last.generation


def minimum_generation(page: Fingerprint, at: int) -> int:
    """Return a generation later than all that were published about a page.

    If the event with the time `at` wrote the fingerprint itself, it is the fingerprint's generation.
    """
    return page.generation if page.written_at >= at else published_generation(page) + DECISION_MARGIN


def removal_time(event: PageRemoved, page: Fingerprint | None, at: int) -> int:
    """Return the time at which a removal deletes a page's row: no later than any write of a later fetch.

    The event's own time may be later, such as when the frontier read the answer after a stage had the next one.
    """
    ends = min(at, event.generation + SAME_FETCH - 1)
    return max(ends, page.written_at, page.decided_at) if page else ends


def removal_generation(event: PageRemoved, page: Fingerprint | None, log: Log) -> int:
    """Return the generation of a removal.

    It is higher than the event's if the fetch was replayed or its page promoted.
    """
    known = log.record.generation
    if log.is_own:
        return known
    published = published_generation(page) if page else known
    is_same_fetch = event.generation < published < event.generation + SAME_FETCH
    return published + DECISION_MARGIN if is_same_fetch else event.generation
