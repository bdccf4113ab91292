"""Identifiers that a replay computes again and finds unchanged.

All are UUIDv5 (RFC 9562, section 5.5) in namespaces of our own, so that the same input has the same id
on every machine, and a second delivery overwrites the first instead of adding to it.
"""

from uuid import NAMESPACE_URL, UUID, uuid5

_EVENTS = uuid5(NAMESPACE_URL, "riffle:events")
_STATEMENTS = uuid5(NAMESPACE_URL, "riffle:statements")


def page_id(canonical_url: str) -> UUID:
    """The page's id. The URL must be canonical already (`streams.crawl.urls.canonicalize`)."""
    return uuid5(NAMESPACE_URL, canonical_url)


def statement_id(page: UUID, ordinal: int, content_hash: str) -> UUID:
    """The id of the statement at `ordinal` (from 0) of a page, `content_hash` being of its text."""
    return uuid5(_STATEMENTS, f"{page}/{ordinal}/{content_hash}")


def event_id(event_type: str, cause: UUID | str, key: str, ordinal: int = 0) -> UUID:
    """The id of the event that `cause` (an event's id or a stable name) leads to.

    A stage that handles the same event twice emits the same ids, so that consumers recognise the copy.
    """
    return uuid5(_EVENTS, f"{event_type}/{cause}/{key}/{ordinal}")
