"""The published events of Riffle: the data of each topic as frozen pydantic models.

There is one module per event family, and `envelope` for the attributes that all events share. This package doesn't
import `streams`, so that other services can depend on it.
"""

from schemas.crawl import OriginChanged, PageDiscovered, PageFetched, PageScheduled, PageSettled
from schemas.envelope import Envelope, Event, InvalidEvent, NewerEvent
from schemas.hooks import HookDue
from schemas.knowledge import EntityChanged
from schemas.links import LinkFound
from schemas.operations import OperationAudited
from schemas.pages import (
    PageChunked,
    PageDeduplicated,
    PageEmbedded,
    PageIndexed,
    PageNormalized,
    PageRemoved,
)
from schemas.queries import QueryAsked, QueryMade, ResultClicked

EVENTS: tuple[type[Event], ...] = (
    PageDiscovered,
    PageScheduled,
    PageFetched,
    PageNormalized,
    PageDeduplicated,
    PageChunked,
    PageEmbedded,
    PageIndexed,
    PageRemoved,
    PageSettled,
    OriginChanged,
    LinkFound,
    QueryAsked,
    QueryMade,
    ResultClicked,
    EntityChanged,
    OperationAudited,
    HookDue,
)
"""All events, in the order of a page's journey."""

__all__ = [
    "EVENTS",
    "EntityChanged",
    "Envelope",
    "Event",
    "HookDue",
    "InvalidEvent",
    "LinkFound",
    "NewerEvent",
    "OperationAudited",
    "OriginChanged",
    "PageChunked",
    "PageDeduplicated",
    "PageDiscovered",
    "PageEmbedded",
    "PageFetched",
    "PageIndexed",
    "PageNormalized",
    "PageRemoved",
    "PageScheduled",
    "PageSettled",
    "QueryAsked",
    "QueryMade",
    "ResultClicked",
]
