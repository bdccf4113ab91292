"""The published events of Riffle: what every topic says, as frozen pydantic models.

One module per event family, and `envelope` for what all events share. This package imports nothing of
`streams`, so that another service can depend on it alone.
"""

from schemas.crawl import OriginChanged, PageDiscovered, PageFetched, PageScheduled, PageSettled
from schemas.envelope import Envelope, Event, InvalidEvent
from schemas.knowledge import EntityChanged
from schemas.links import LinkFound
from schemas.pages import PageChunked, PageDeduplicated, PageEmbedded, PageIndexed, PageNormalized, PageRemoved
from schemas.queries import QueryMade, ResultClicked

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
    QueryMade,
    ResultClicked,
    EntityChanged,
)
"""Every event, in the order of a page's journey."""

__all__ = [
    "EVENTS",
    "EntityChanged",
    "Envelope",
    "Event",
    "InvalidEvent",
    "LinkFound",
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
    "QueryMade",
    "ResultClicked",
]
