"""Drafting as a task of a sandbox process: the bytes of a document go in, the bytes of its drafts come out.

A stranger wrote the text, so a process reads it that can be killed and has no part in the Kafka group.
"""

from dataclasses import dataclass
from functools import cache

import msgpack

from streams.pages.document.codec import decode_document
from streams.pages.document.model import Document
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.statements.contexts import collapse_spaces
from streams.statements.drafting import Draft, draft_statements
from streams.statements.sentences.splitter import SentenceSplitter

DRAFT = "streams.statements.sandbox_tasks:draft"
CPU_SECONDS = 20.0
"""Maximum CPU time for one document (seconds). A manual of 3 MB of text takes 2.6 seconds."""
MEMORY_BYTES = 512 * 1024 * 1024
"""Maximum memory of a process beyond the memory of the sentence model."""
PROCESSES = 1
"""Number of drafting processes of one worker or command."""
_START_TEXT = "Dr. A. Smith wrote No. 5 of the series. It was read by many."
"""A text with doubtful endings, so that the sentence model is loaded and used."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """The drafts of a document, with the document's facts for its statements."""

    title: str
    language: str
    drafts: tuple[Draft, ...]
    left_out: int
    """Number of statements that were left out, see `drafting.draft_statements`."""
    version: int = 0
    """Version of the document."""
    heading: str = ""
    """A heading of the whole page that is another than the title: its first h1, or a heading before all text."""


def drafting_pool(name: str) -> SandboxPool:
    """Return a pool of drafting processes for the worker or command with this name. The pool is not started."""
    limits = Limits(cpu_seconds=CPU_SECONDS, memory_bytes=MEMORY_BYTES)
    return SandboxPool((DRAFT,), processes=PROCESSES, limits=limits, name=name)


def draft(content: bytes) -> bytes:
    """Draft the document of these bytes. Raises PoisonError for bytes that are no document."""
    document = decode_document(content)
    found, left_out = draft_statements(document, _splitter())
    rows = [_row(each) for each in found]
    answer = (document.title, document.language, rows, left_out, document.version, _heading_beside_title(document))
    packed: bytes = msgpack.packb(answer, use_bin_type=True, unicode_errors="surrogatepass")
    return packed


def _row(draft: Draft) -> tuple[object, ...]:
    place = (draft.block, draft.start, draft.end, draft.section)
    return (draft.text, draft.context, draft.kind, *place, draft.page, draft.anchor, draft.doubtful)


def decode_drafts(answer: bytes) -> Drafted:
    """Read the drafts of the task's answer."""
    title, language, rows, *rest = msgpack.unpackb(answer, raw=False, unicode_errors="surrogatepass")
    found = tuple(Draft(text, tuple(context), *rest) for text, context, *rest in rows)
    return Drafted(title, language, found, *rest)


def _heading_beside_title(document: Document) -> str:
    first_h1 = next((block for block in document.blocks if block.tag == "h1"), None)
    heading = first_h1 or next((block for block in document.blocks[:1] if block.tag.startswith("h")), None)
    text = "" if heading is None else collapse_spaces(heading.text)
    return text if text.casefold() != document.title.casefold() else ""


def warm_up() -> None:
    """Load the sentence model, before the limits of the process are set."""
    _splitter().split([_START_TEXT], ["en"])


@cache
def _splitter() -> SentenceSplitter:
    return SentenceSplitter()
