"""Each change of what a stage makes of a page raises its version, so that people learn what to replay.

Fixed inputs go through each stage that has a version, alone. The digest of what it makes stands here, beside the
version. Few inputs can't show every change: raise the version for others, too.
"""

import asyncio
from collections.abc import Callable
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgpack
import numpy as np
import pytest

from streams.models.memory import MemoryChains
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Container, Document, Span
from streams.pages.normalize import normalize
from streams.statements.chaining import chain_drafts
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.statements.statement import PageStatements, Statement, encode_statements
from streams.topology import VERSIONS
from streams.vectors.page_records import PageFacts
from streams.vectors.points import points_of, texts_of

DIGESTS = {
    "normalize": (4, "22870cd9980680d2"),
    "statements": (3, "9795323a5992608a"),
    "embed": (1, "ebb5719f8011c7fc"),
    "index": (7, "37e6e92141e3f9af"),
}
"""The version of each stage, and the digest of what it makes."""
CHANGED = """The stage {name} makes something else of the same input. If there may be an index with pages of the former
kind, raise its `version` in streams/topology.py. Then write here: "{name}": {found}"""
URL, PAGE = "https://site.example/wal", UUID(int=7)
HTML = """<!doctype html><html lang=en><title>The log - Site</title>
<nav><a href=/>Home</a> <a href=/all>All pages</a></nav>
<main><h1>The log</h1><p>The log is copied back into the database when it has grown to a thousand pages.
<p>These settings have an effect on it:<ul><li>the size of a page<li>the <code>cache</code></ul>
<h2 id=modes>Modes</h2><table><tr><th>Mode<th>Durable<tr><td>full<td>yes<tr><td>normal<td>no</table>
<dl><dt id=fsync>fsync<dd>Waits until the disk has all of it.</dl><pre>PRAGMA journal_mode = wal;</pre>
<p>A reader is never blocked by a writer, e.g. by a backup, and sees <a href=/snapshots>a snapshot</a> of the data.
<p>Published on <time datetime=2026-03-01>1 March 2026</time> by Ada.</main><footer>All rights reserved.</footer>"""
DOCUMENT = Document(
    url=URL,
    title="The log",
    language="en",
    containers=(Container("ul"), Container("li", 0), Container("table"), Container("tr", 2), Container("td", 3)),
    blocks=(
        Block("h2", "Modes"),
        Block("p", "The log is copied back, e.g. by a backup. It starts over then. These settings have an effect:"),
        Block("p", "the size of a page", 1, (Span(4, 8, "link", "https://site.example/size"),)),
        Block("pre", "PRAGMA journal_mode = wal;"),
        Block("p", "full", 4),
    ),
    facts={"anchors": [[0, "modes"]]},
)
STATEMENTS = PageStatements(
    PAGE,
    URL,
    "The log",
    "en",
    (
        Statement(UUID(int=1), 0, "The log is copied back.", ("The log", "Modes"), anchor="modes"),
        Statement(UUID(int=2), 1, "It starts over then.", ("The log", "The log is copied back."), chain=(0,), need=0.9),
        Statement(UUID(int=3), 2, "PRAGMA\njournal_mode", ("The log", "Note"), kind="code", page=3),
    ),
)


def documents() -> bytes:
    return encode_document(normalize(HTML, url=URL).document)


def statements() -> bytes:
    drafted = decode_drafts(draft(encode_document(DOCUMENT)))
    return encode_statements(asyncio.run(chain_drafts(MemoryChains(), PAGE, URL, drafted)))


def texts() -> bytes:
    return "\n\n".join(texts_of(STATEMENTS)).encode()


def index_points() -> bytes:
    facts = PageFacts(1, "2026-03-01", "Article", quality=0.9, left_out=5, made=(("embed", 1),))
    rows: list[Any] = [
        [str(point.id), point.payload.row(), point.sparse.indices, [round(value, 4) for value in point.sparse.values]]
        for point in points_of(STATEMENTS, np.ones((3, 4), np.float32), facts)
    ]
    packed: bytes = msgpack.packb(rows)
    return packed


MADE: dict[str, Callable[[], bytes]] = {
    "normalize": documents,
    "statements": statements,
    "embed": texts,
    "index": index_points,
}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_stage_that_makes_something_else_has_another_version(name: str) -> None:
    found = VERSIONS[name], blake2b(MADE[name](), digest_size=8).hexdigest()
    assert found == DIGESTS[name], CHANGED.format(name=name, found=found)
