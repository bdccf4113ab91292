"""Encodes documents as bytes: MessagePack, with the version of the layout first.

Layout 1 is an array: [1, url, title, description, language, language_confidence, script, containers, blocks, links,
facts], with [..., version] if a stage made it.

- A container is [tag, parent], with [..., spanned_by] if a cell spans it.
- A block is [tag, text, parent, spans, language], with [..., confidence, script] if it has one of them.
- A span is [start, end, kind, target, label].
- A link is [url, text, nofollow, in_content].

Equal documents have equal bytes, so that a replay writes the same blob. The keys of `facts` are sorted for this.
"""

from typing import Any

import msgpack

from streams.errors import PoisonError
from streams.pages.document.model import Block, Container, Document, Link, Span

VERSION = 1
_CONTAINER_FIELDS = 2
"""Number of fields of a container that no cell spans."""
_BLOCK_FIELDS = 5
"""Number of fields of a block that has neither a confidence nor a script."""


class InvalidDocument(PoisonError):
    """Bytes that are not a document, or have a layout that this release does not know."""


def encode_document(document: Document) -> bytes:
    """Return a document as bytes. Equal documents have equal bytes."""
    layout = [
        VERSION,
        document.url,
        document.title,
        document.description,
        document.language,
        document.language_confidence,
        document.script,
        [each if each.spanned_by != -1 else each[:_CONTAINER_FIELDS] for each in document.containers],
        [block if block.confidence or block.script else block[:_BLOCK_FIELDS] for block in document.blocks],
        document.links,
        _sort_keys(document.facts),
        *([document.version] if document.version else ()),
    ]
    packed: bytes = msgpack.packb(layout, use_bin_type=True)
    return packed


def decode_document(content: bytes) -> Document:
    """Decode a document. Raises InvalidDocument."""
    try:
        version, *layout = msgpack.unpackb(content, raw=False, strict_map_key=False)
        if version != VERSION:
            raise InvalidDocument(f"document layout {version}; this release reads layout {VERSION}")
        url, title, description, language, confidence, script, containers, blocks, links, facts, *made = layout
        return Document(
            url=url,
            title=title,
            description=description,
            language=language,
            language_confidence=confidence,
            script=script,
            containers=tuple(Container(*container) for container in containers),
            blocks=tuple(_block(*block) for block in blocks),
            links=tuple(Link(*link) for link in links),
            facts=facts,
            version=made[0] if made else 0,
        )
    except (ValueError, TypeError, LookupError, AttributeError, msgpack.UnpackException) as error:
        raise InvalidDocument(f"{len(content)} bytes are not a document: {error}") from error


def _block(
    tag: str, text: str, parent: int, spans: list[list[Any]], language: str, confidence: float = 0.0, script: str = ""
) -> Block:
    return Block(tag, text, parent, tuple(Span(*span) for span in spans), language, confidence, script)


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sort_keys(item) for item in value]
    return value
