"""The bytes of a page's statements: MessagePack, with the version of the layout in front.

Layout 1 is an array: [1, page id, url, title, language, generation, statements], with statements as
[id, text, context, kind, block, start, end] in order of their ordinals, and ids as their 16 bytes. What the indexer
needs to know of the page rides along, so that it reads this blob alone. Equal pages have equal bytes.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgpack

from streams.errors import PoisonError
from streams.statements.statement import Statement

VERSION = 1


class InvalidStatements(PoisonError):
    """The bytes are not statements of a version that this release knows."""


@dataclass(frozen=True, slots=True)
class PageStatements:
    """A page as its statements."""

    page_id: UUID
    url: str
    title: str
    language: str
    generation: int
    statements: tuple[Statement, ...]


def encode_statements(page: PageStatements) -> bytes:
    """The page's statements as bytes, the same for the same page."""
    layout = [
        VERSION,
        page.page_id.bytes,
        page.url,
        page.title,
        page.language,
        page.generation,
        [_layout(statement) for statement in page.statements],
    ]
    packed: bytes = msgpack.packb(layout, use_bin_type=True, unicode_errors="surrogatepass")
    return packed


def decode_statements(content: bytes) -> PageStatements:
    """The page's statements again. Raises InvalidStatements."""
    try:
        version, *layout = msgpack.unpackb(content, raw=False, unicode_errors="surrogatepass")
        if version != VERSION:
            raise InvalidStatements(f"statements layout {version}; this release reads layout {VERSION}")
        page_id, url, title, language, generation, rows = layout
        statements = tuple(_statement(ordinal, *row) for ordinal, row in enumerate(rows))
        return PageStatements(UUID(bytes=page_id), url, title, language, generation, statements)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise InvalidStatements(f"{len(content)} bytes are not statements: {error}") from error


def _layout(statement: Statement) -> list[Any]:
    return [
        statement.id.bytes,
        statement.text,
        list(statement.context),
        statement.kind,
        statement.block,
        statement.start,
        statement.end,
    ]


def _statement(
    ordinal: int, identity: bytes, text: str, context: list[str], kind: str, block: int, start: int, end: int
) -> Statement:
    return Statement(UUID(bytes=identity), ordinal, text, tuple(context), kind, block, start, end)
