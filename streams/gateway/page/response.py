"""The API's answer about one page: its status, its history and its record, as pydantic models."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from schemas.envelope import utc_from_micros
from streams.crawl.host_quality import describe_host_quality
from streams.gateway.http import presentation
from streams.gateway.http.openapi import ApiModel
from streams.gateway.page.lookup import PageData, RelatedPage
from streams.language.marks import ends_sentence
from streams.ledger.descriptions import describe_next_step, describe_status, describe_step
from streams.ledger.status import PageStatus, Status, status_of, with_frontier
from streams.links import page_links as links
from streams.pages.document.consent import consent_of
from streams.plain_text import Sentence, message
from streams.stores.page_quality import page_quality
from streams.stores.page_record import PageRecord as StoredRecord
from streams.stores.protocols import Transition

MAX_LINKING_DOMAINS = 50
"""Maximum linking domains shown of a page."""
MAX_TRANSITIONS = 200
"""Maximum events shown of a page. The newest are shown: eight days of a page that is fetched every hour."""
_MOODS: dict[Status, str] = {"indexed": "good", "removed": "bad", "refused": "bad", "not_indexed": "bad"}
"""The colour of the status box; `open` for the others."""


class LifeEvent(ApiModel):
    """One event of a page's history."""

    id: UUID
    at: datetime
    topic: str
    source: str = Field(description="The stage that sent it: `/riffle/<stage>`.")
    outcome: Sentence = Field(description="What the stage found or decided, in a line for people.")
    data: dict[str, Any] = Field(default_factory=dict, description="The event's data, as published on its topic.")


class OtherPage(ApiModel):
    page_id: UUID
    url: str = Field("", description="Empty when it is not known.")


class IndexedStatement(ApiModel):
    """A statement of the page that searches can find."""

    id: UUID
    text: str
    context: tuple[str, ...] = ()
    doubtful: bool = Field(False, description="Readers of the page may not see it: no answer quotes it.")


class LinkFrom(ApiModel):
    """A link to the page from a page of another domain."""

    url: str
    anchor: str = Field("", description="The text of the link.")
    nofollow: bool = Field(False, description="The linking page doesn't vouch for the link.")


class LinkingDomain(ApiModel):
    """A registrable domain that links to the page."""

    domain: str
    links: tuple[LinkFrom, ...] = Field(description="Some of its links, at most 3.")


class PageRecord(ApiModel):
    """All that is known of a page."""

    page_id: UUID
    url: str
    title: str = ""
    status: Status = Field(description="One word, for programs.")
    state: PageStatus = Field(description="The status with its reason and the fields of that reason, for programs.")
    says: Sentence = Field(description="The status in a sentence, for people.")
    left_out: Sentence = Field("", description="Why no crawl follows a link to it, such as the trap that it is in.")
    not_rendered: Sentence = Field(
        "", description="Why the last try to render it in a browser left its static document."
    )
    next_step: Sentence = Field("", description="What happens next, or what can be done, in a sentence.")
    mood: str = Field(exclude=True)
    has_document: bool = Field(exclude=True)
    canonical: OtherPage | None = Field(None, description="Its representative, if it is a duplicate.")
    duplicates: tuple[OtherPage, ...] = Field((), description="Its duplicates, if it is a representative.")
    timeline: tuple[LifeEvent, ...] = Field(description="Oldest first.")
    older_transitions: int = Field(0, description="How many older events are not in `timeline`.")
    statements: tuple[IndexedStatement, ...] = Field((), description="At most 200.")
    parts: dict[str, dict[str, Any]] = Field(description="The last record of each stage.")
    linked_from: tuple[LinkingDomain, ...] = Field(
        (), description="Other registrable domains that link to it, at most 50."
    )
    linking_domains: int = Field(0, description="The number of these domains, as far as links are kept.")
    quality: tuple[tuple[Sentence, Sentence], ...] = Field((), exclude=True)
    host_quality: tuple[tuple[Sentence, Sentence], ...] = Field((), exclude=True)
    partial: bool = False
    missing: tuple[Sentence, ...] = Field((), description="The parts whose store did not answer.")


def _quotable_rows(record: StoredRecord) -> Mapping[str, Mapping[str, Any]]:
    """Return the parts of a page's record, without an answer of the page that may not be quoted."""
    typed = record.normalized.typed
    if consent_of(record.normalized).allows_quoting(len(typed.get("answer", ""))):
        return record.rows
    kept = {name: value for name, value in typed.items() if name != "answer"}
    return {part: {**row, "typed": kept} if "typed" in row else row for part, row in record.rows.items()}


def _statements(data: PageData) -> tuple[IndexedStatement, ...]:
    """Return the page's statements, as far as its publisher lets them be quoted: with a limit, without contexts."""
    consent = consent_of(data.record.normalized)
    texts = consent.quote([presentation.clean_line(hit.payload.text) for hit in data.statements])
    return tuple(
        IndexedStatement(
            id=hit.id,
            text=text,
            context=presentation.context_of(hit.payload) if consent.max_snippet is None else (),
            doubtful=hit.payload.doubtful,
        )
        for hit, text in zip(data.statements, texts, strict=True)
        if text
    )


def to_page_record(data: PageData) -> PageRecord:
    frontier = data.frontier
    status = with_frontier(status_of(data.history), frontier.waits, is_asked_for=frontier.is_asked_for)
    representative_url = data.representative.url if data.representative else ""
    return PageRecord(
        page_id=data.page_id,
        url=data.url,
        title=presentation.clean_line(data.record.normalized.title, presentation.MAX_TITLE_CHARS),
        status=status.status,
        state=status,
        says=_sentence(describe_status(status, representative_url)),
        left_out=frontier.left_out,
        not_rendered=presentation.clean_line(data.record.why_not_rendered()),
        next_step=_sentence(describe_next_step(status, data.url)),
        mood=_MOODS.get(status.status, "open"),
        has_document=bool(data.record.normalized.document_ref),
        canonical=_other(data.representative) if data.representative else None,
        duplicates=tuple(_other(page) for page in data.duplicates),
        timeline=tuple(_event(transition) for transition in data.history[-MAX_TRANSITIONS:]),
        older_transitions=max(0, len(data.history) - MAX_TRANSITIONS),
        statements=_statements(data),
        parts={part: presentation.plain_values(values) for part, values in _quotable_rows(data.record).items()},
        linked_from=tuple(_linking_domain(one) for one in data.linked_from[:MAX_LINKING_DOMAINS]),
        linking_domains=len(data.linked_from),
        quality=describe_quality(page_quality(data.record)),
        host_quality=describe_host_quality(data.host_quality) if data.host_quality else (),
        partial=bool(data.missing),
        missing=data.missing,
    )


def _linking_domain(found: links.LinkingDomain) -> LinkingDomain:
    shown = (
        LinkFrom(url=link.source_url, anchor=presentation.clean_line(link.anchor), nofollow=link.nofollow)
        for link in found.links
    )
    return LinkingDomain(domain=found.domain, links=tuple(shown))


def _sentence(words: str) -> str:
    """Return the words with a full stop, but without one after an address, which would seem to end with it."""
    ends = "://" in words.rpartition(" ")[2] or ends_sentence(words)
    return words if ends else message("%(sentence)s.", sentence=words)


def _event(transition: Transition) -> LifeEvent:
    return LifeEvent(
        id=transition.event_id,
        at=utc_from_micros(transition.at),
        topic=transition.topic,
        source=transition.source,
        outcome=describe_step(transition),
        data=presentation.plain_values(transition.data),
    )


def _other(page: RelatedPage) -> OtherPage:
    return OtherPage(page_id=page.page_id, url=page.url)


_NAMES = {
    "own_text": message("Share of the page that is its own text"),
    "hidden": message("No text that readers can't see"),
    "links": message("Text beside links"),
    "ads": message("Few advertisements"),
    "repetition": message("Words that don't repeat themselves"),
    "stuffing": message("No phrase again and again"),
    "common_words": message("The most frequent words are words of grammar"),
    "prose": message("Whole sentences"),
    "cohesion": message("Neighbouring parts are about the same"),
    "copies": message("Text that no older page of another site has"),
    "statements": message("Sentences that can be read"),
    "age": message("Time for which the text is known"),
}


def describe_quality(fields: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Return the quality of a page, and its parts that fall, with their names. Empty if it is not known."""
    if "score" not in fields:
        return ()
    parts = [(_NAMES[name], fields[name]) for name in _NAMES if fields.get(name, 1.0) < 1]
    return ((message("All together"), _percent(fields["score"])), *((name, _percent(value)) for name, value in parts))


def _percent(value: float) -> str:
    return message("%(value)s of 100", value=round(100 * min(max(value, 0.0), 1.0)))
