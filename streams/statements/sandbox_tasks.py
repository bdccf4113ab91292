"""Drafting as a task of a sandbox process: the bytes of a document go in, the bytes of its drafts come out.

A stranger wrote the text, so a process reads it that can be killed and has no part in the Kafka group.
"""

from dataclasses import dataclass
from functools import cache

import msgpack

from streams.pages.document.codec import decode_document
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.statements.drafting import Draft, draft_statements
from streams.statements.sentences.splitter import SentenceSplitter

DRAFT = "streams.statements.sandbox_tasks:draft"
CPU_SECONDS = 10.0
"""Maximum CPU time for one document (seconds). The largest documents that the parser accepts take 6 seconds."""
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


def drafting_pool(name: str) -> SandboxPool:
    """Return a pool of drafting processes for the worker or command with this name. The pool is not started."""
    limits = Limits(cpu_seconds=CPU_SECONDS, memory_bytes=MEMORY_BYTES)
    return SandboxPool((DRAFT,), processes=PROCESSES, limits=limits, name=name)


def draft(content: bytes) -> bytes:
    """Draft the document of these bytes. Raises PoisonError for bytes that are no document."""
    document = decode_document(content)
    found, left_out = draft_statements(document, _splitter())
    rows = [(one.text, one.context, one.kind, one.block, one.start, one.end, one.section, one.page) for one in found]
    answer = (document.title, document.language, rows, left_out)
    packed: bytes = msgpack.packb(answer, use_bin_type=True, unicode_errors="surrogatepass")
    return packed


def decode_drafts(answer: bytes) -> Drafted:
    """Read the drafts of the task's answer."""
    title, language, rows, left_out = msgpack.unpackb(answer, raw=False, unicode_errors="surrogatepass")
    found = tuple(Draft(text, tuple(context), *rest) for text, context, *rest in rows)
    return Drafted(title, language, found, left_out)


def warm_up() -> None:
    """Load the sentence model, before the limits of the process are set."""
    _splitter().split([_START_TEXT], ["en"])


@cache
def _splitter() -> SentenceSplitter:
    return SentenceSplitter()
