"""The API's answer about one page: its status in a sentence, its life, its record, as pydantic models."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from schemas.envelope import utc_from_micros
from streams.gateway.http import presentation
from streams.gateway.page.lookup import Known, Related
from streams.gateway.page.page_status import STATUSES, tell
from streams.stores.protocols import Transition

MAX_TRANSITIONS = 200
"""Of a page that is fetched every hour the last eight days: the newest are shown."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class LifeEvent(_Model):
    """One step of a page's life."""

    id: UUID
    at: datetime
    topic: str
    source: str = Field(description="Which stage told it: `/riffle/<stage>`.")
    outcome: str = Field(description="What was found or decided, in a line for people.")
    data: dict[str, Any] = Field(default_factory=dict, description="The event's data, as published on its topic.")


class OtherPage(_Model):
    page_id: UUID
    url: str = Field("", description="Empty when it is not known.")


class IndexedStatement(_Model):
    """A statement of the page that searches can find."""

    id: UUID
    text: str
    context: tuple[str, ...] = ()


class PageRecord(_Model):
    """All that is known of a page."""

    page_id: UUID
    url: str
    title: str = ""
    status: str = Field(description="In a word, for programs.", json_schema_extra={"enum": list(STATUSES)})
    says: str = Field(description="In a sentence, for people.")
    next_step: str = Field("", description="What will happen next, or what can be done.")
    mood: str = Field(exclude=True)
    canonical: OtherPage | None = Field(None, description="The page that stands for it, when it is a duplicate.")
    duplicates: tuple[OtherPage, ...] = Field((), description="The pages that it stands for.")
    timeline: tuple[LifeEvent, ...] = Field(description="Oldest first.")
    older_transitions: int = Field(0, description="How many older events are not in `timeline`.")
    statements: tuple[IndexedStatement, ...] = Field((), description="At most 200.")
    parts: dict[str, dict[str, Any]] = Field(description="What each stage last wrote down of the page.")
    partial: bool = False
    missing: tuple[str, ...] = Field((), description="What could not be found out just now.")

    @property
    def has_document(self) -> bool:
        return bool(self.parts.get("normalized", {}).get("document_ref"))


def to_page_record(known: Known) -> PageRecord:
    story = tell(known)
    return PageRecord(
        page_id=known.page_id,
        url=known.url,
        title=presentation.clean_line(str(known.value("normalized", "title") or ""), presentation.MAX_TITLE_CHARS),
        status=story.status,
        says=story.says,
        next_step=story.next_step,
        mood=story.mood,
        canonical=_other(known.canonical) if known.canonical else None,
        duplicates=tuple(_other(related) for related in known.duplicates),
        timeline=tuple(_event(transition) for transition in known.history[-MAX_TRANSITIONS:]),
        older_transitions=max(0, len(known.history) - MAX_TRANSITIONS),
        statements=tuple(
            IndexedStatement(
                id=hit.id,
                text=presentation.clean_line(str(hit.payload.get("text") or "")),
                context=presentation.context_of(hit.payload),
            )
            for hit in known.statements
        ),
        parts={part: presentation.plain_values(values) for part, values in known.parts.items()},
        partial=bool(known.missing),
        missing=known.missing,
    )


def _event(transition: Transition) -> LifeEvent:
    return LifeEvent(
        id=transition.event_id,
        at=utc_from_micros(transition.at),
        topic=transition.topic,
        source=transition.source,
        outcome=presentation.clean_line(transition.outcome),
        data=presentation.plain_values(transition.data),
    )


def _other(related: Related) -> OtherPage:
    return OtherPage(page_id=related.page_id, url=related.url)
