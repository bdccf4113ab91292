"""The statement: one sentence that can be found, read and understood alone; and the bytes of a page's statements.

The bytes are MessagePack, with the version of the layout in front.

    page       [1, page id, url, title, language, statements]
    statement  [id, text, context, kind, block, start, end, chain, need, leaf], then its page in a file with pages (or
               0 before an anchor), then its anchor if it has one (or "" before a doubt), then true if it is doubtful

Statements are in the order of their ordinals, and ids are their 16 bytes. The facts about the page are there so that
the indexer only needs this blob. The generation isn't among them: a page with unchanged statements has the same bytes
at each fetch, so its vectors are not computed again. A later release may append to the arrays; this release ignores the
appended fields. Probabilities are in hundredths, so that machines that differ in the last bit agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgpack

from streams.errors import PoisonError
from streams.pages.text.tokens import drop_box_labels

Key = bytes
KEY_BYTES = 16


def text_key(text: str) -> Key:
    """Return the hash of a text as it is embedded (blake2b, 128 bits)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence (or row, or item) with its context."""

    id: UUID
    ordinal: int
    """Position in the page, from 0."""
    text: str
    context: tuple[str, ...] = ()
    """Texts that a reader needs before it, the widest first: title, headings, lead-in, column headings, antecedents."""
    kind: str = "sentence"
    """sentence, item, link (an item that is only links), list, row, code or heading."""
    block: int = 0
    """Index of the statement's block in the document."""
    start: int = 0
    end: int = 0
    """Place in the block: its text is `document.blocks[block].text[start:end]`, except in a row."""
    chain: tuple[int, ...] = ()
    """Ordinals of its antecedents, the earliest first. Their texts are the last ones of the context."""
    need: float = 0.0
    """Probability that the statement needs an earlier sentence, by the chain model."""
    leaf: float = 1.0
    """Probability that the statement can be matched alone, by the chain model."""

    page: int = 0
    """Number of the page of the file (as in `#page=3`), from 1; 0 for a document without pages."""
    anchor: str = ""
    """The anchor of the term or heading that it is below (as in `#checkpoints`); empty if there is none."""
    doubtful: bool = False
    """True if readers of the page may not see it (`pages.parse.hiding.doubts`): it is found, and never quoted."""

    @property
    def in_context(self) -> str:
        """The embedding text: the context without labels of boxes, and the statement, each on one line.

        A listing of several lines is one line here: an encoder without room for the whole text leaves out lines before
        the last one.
        """
        return "\n".join(" ".join(part.split("\n")) for part in (*drop_box_labels(self.context), self.text))


VERSION = 1
_PAGE_FIELDS, _STATEMENT_FIELDS = 5, 13
"""Number of fields of a page behind the version, and of a statement."""


class InvalidStatements(PoisonError):
    """Bytes that are not statements in a layout of this release."""


@dataclass(frozen=True, slots=True)
class PageStatements:
    """The statements of a page, with the facts that the index needs."""

    page_id: UUID
    url: str
    title: str
    language: str
    statements: tuple[Statement, ...]


def encode_statements(page: PageStatements) -> bytes:
    """Return the bytes of a page's statements. Equal statements have equal bytes."""
    layout = [
        VERSION,
        page.page_id.bytes,
        page.url,
        page.title,
        page.language,
        [_layout(statement) for statement in page.statements],
    ]
    packed: bytes = msgpack.packb(layout, use_bin_type=True, unicode_errors="surrogatepass")
    return packed


def decode_statements(content: bytes) -> PageStatements:
    """Return the statements of these bytes. Raises InvalidStatements."""
    try:
        version, *layout = msgpack.unpackb(content, raw=False, unicode_errors="surrogatepass")
        if version != VERSION:
            raise InvalidStatements(f"statements layout {version}; this release reads layout {VERSION}")
        page_id, url, title, language, rows = layout[:_PAGE_FIELDS]
        statements = tuple(_statement(ordinal, *row[:_STATEMENT_FIELDS]) for ordinal, row in enumerate(rows))
        return PageStatements(UUID(bytes=page_id), url, title, language, statements)
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
        list(statement.chain),
        round(100 * statement.need),
        round(100 * statement.leaf),
        *([statement.page] if statement.page or statement.anchor or statement.doubtful else ()),
        *([statement.anchor] if statement.anchor or statement.doubtful else ()),
        *([True] if statement.doubtful else ()),
    ]


def _statement(
    ordinal: int,
    identity: bytes,
    text: str,
    context: Sequence[str],
    kind: str,
    block: int,
    start: int,
    end: int,
    chain: Sequence[int],
    need: int,
    leaf: int,
    page: int = 0,
    anchor: str = "",
    doubtful: bool = False,
) -> Statement:
    place = (kind, block, start, end)
    probabilities = need / 100, leaf / 100
    found = Statement(UUID(bytes=identity), ordinal, text, tuple(context), *place, tuple(chain), *probabilities)
    return replace(found, page=page, anchor=anchor, doubtful=bool(doubtful)) if page or anchor or doubtful else found
