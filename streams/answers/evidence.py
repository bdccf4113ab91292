"""The evidence of an answer: the statements of the first results, each with its page and its place. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from streams.pages.document.consent import UNKNOWN, Consent, consent_of
from streams.search.searcher import Found
from streams.statements.sentences.reading_alone import reads_alone
from streams.stores.page_record import Normalized
from streams.stores.protocols import Hit, PageHits
from streams.stores.statement_payload import NO_PLACE, Place

MAX_PAGES = 10
"""Maximum results whose statements are evidence."""
MAX_CHARS = 1_000
"""Maximum characters of a statement that is evidence: a longer one is no short answer, and costs a model too much."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A statement of a result."""

    id: UUID
    page_id: UUID
    text: str
    context: tuple[str, ...]
    kind: str
    url: str
    title: str
    host: str
    language: str = ""
    published: str = ""
    """The date that the page states (ISO 8601); empty if it states none."""
    fetched: str = ""
    """The day on which Riffle read the page (ISO 8601)."""
    ordinal: int = 0
    rank: int = 0
    """The place of its page among the results, from 0."""
    score: float = 0.0
    """The score of its page: standard deviations, comparable within one search."""
    similarity: float = 0.0
    """Its closeness to the question (`ModelInfo.closeness`); 0 if it is not in the list by meaning."""
    consent: Consent = UNKNOWN
    place: Place = NO_PLACE


def evidence_of(found: Found, pages: int = MAX_PAGES) -> list[Evidence]:
    """Return the statements of the first results, in their order.

    Results that are only the nearest by meaning are no evidence: nothing was found, so nothing can be answered.
    """
    if found.notes.nearest_only:
        return []
    return [each for rank, page in enumerate(found.pages[:pages]) for each in _of_page(found, page, rank)]


def _of_page(found: Found, page: PageHits, rank: int) -> Iterator[Evidence]:
    record = found.facts.get(page.page_id)
    for hit in page.hits:
        if _may_be_quoted(hit):
            yield _evidence(hit, page, rank, consent_of(record), found.trace.similarities.get(hit.id, 0.0))


def _evidence(hit: Hit, page: PageHits, rank: int, consent: Consent, similarity: float) -> Evidence:
    payload = hit.payload
    return Evidence(
        id=hit.id,
        page_id=page.page_id,
        text=payload.text,
        context=payload.context,
        kind=payload.kind,
        url=payload.url,
        title=payload.title,
        host=payload.host,
        language=payload.language,
        published=payload.published,
        fetched=_day(payload.generation),
        ordinal=payload.ordinal,
        rank=rank,
        score=page.score,
        similarity=similarity,
        consent=consent,
        place=payload.place if consent.max_snippet is None else payload.place.section,
    )


def evidence_of_page(hits: Iterable[Hit], record: Normalized | None) -> list[Evidence]:
    """Return the statements of one page, in the order of the page."""
    found = [
        _evidence(hit, PageHits(hit.payload.page_id, (hit,), 0.0), 0, consent_of(record), 0.0)
        for hit in sorted(hits, key=lambda hit: hit.payload.ordinal)
        if _may_be_quoted(hit)
    ]
    return [each for each in found if reads_alone(each.text, each.kind, each.context)] or found


def evidence_near(hits: Iterable[Hit], record: Normalized | None, similarities: Mapping[UUID, float]) -> list[Evidence]:
    """Return statements of one page, in their order, with how close they are to a question."""
    consent = consent_of(record)
    return [
        _evidence(hit, PageHits(hit.payload.page_id, (hit,), 0.0), 0, consent, similarities.get(hit.id, 0.0))
        for hit in hits
        if _may_be_quoted(hit)
    ]


def _may_be_quoted(hit: Hit) -> bool:
    payload = hit.payload
    return bool(payload.text.strip()) and len(payload.text) <= MAX_CHARS and not payload.doubtful


def _day(generation: int) -> str:
    """Return the day of a fetch; empty for a number that is no time."""
    try:
        return datetime.fromtimestamp(generation / 1e6, UTC).date().isoformat() if generation > 1e12 else ""
    except (OverflowError, ValueError, OSError):
        return ""
