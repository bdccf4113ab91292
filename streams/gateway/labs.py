"""What was kept of a page beside what came: for those who ask why a text is not found.

The original is shown as text, never as a page: nothing of it is loaded or run. A page that asks for no copies
(`noarchive`, `nosnippet`, `noindex`, or taken out on request) is not shown.
"""

import asyncio
from dataclasses import dataclass

from streams.errors import PoisonError
from streams.gateway import presentation
from streams.gateway.comparison import Removed, removed_texts
from streams.gateway.lookup import Known, read_blob
from streams.gateway.problems import Problem, ProblemError
from streams.gateway.site import Site
from streams.pages.charset import decode
from streams.pages.codec import decode_document
from streams.pages.document import Block, Document

MAX_ORIGINAL_CHARS = 100_000
MAX_BLOCKS = 2_000
_NO_COPIES = {"noarchive", "noindex", "nosnippet", "none"}


@dataclass(frozen=True, slots=True)
class ShownBlock:
    tag: str
    path: str
    """Where it stands: `table › tr › td › p`."""
    text: str


@dataclass(frozen=True, slots=True)
class LabsView:
    """The three columns. A column that is None has its `..._missing` sentence."""

    url: str
    title: str = ""
    language: str = ""
    original: str | None = None
    original_bytes: int = 0
    original_cut: bool = False
    original_missing: str = "The original is not kept any more."
    blocks: tuple[ShownBlock, ...] | None = None
    document_missing: str = "No document was made of it."
    removed: tuple[Removed, ...] | None = None


async def labs_view(site: Site, known: Known) -> LabsView:
    """Raises ProblemError when the page asks for no copies, or its contents' store doesn't answer."""
    _refuse_copies(known)
    body = await _blob(site, known.value("fetched", "body_ref"))
    packed = await _blob(site, known.value("normalized", "document_ref"))
    document = _document(packed)
    original = _original(body, known)
    removed = None
    if original is not None and document is not None:
        shown = original[:MAX_ORIGINAL_CHARS]
        removed = tuple(await asyncio.to_thread(removed_texts, shown, document.text))
    return LabsView(
        url=known.url or str(known.page_id),
        title=presentation.clean_line(document.title, presentation.MAX_TITLE_CHARS) if document else "",
        language=document.language if document else "",
        original=original[:MAX_ORIGINAL_CHARS] if original is not None else None,
        original_bytes=len(body or b""),
        original_cut=original is not None and len(original) > MAX_ORIGINAL_CHARS,
        blocks=tuple(_shown(document, block) for block in document.blocks[:MAX_BLOCKS]) if document else None,
        removed=removed,
    )


def _refuse_copies(known: Known) -> None:
    directives = set(known.value("normalized", "directives") or ())
    asked = directives & _NO_COPIES
    if asked or known.value("removed", "reason") == "request":
        why = f"The page says `{sorted(asked)[0]}`." if asked else "The page was taken out on request."
        raise ProblemError(
            Problem(403, "no-copies", "No copy of this page is shown", why, "Its life is still on the record.")
        )


async def _blob(site: Site, ref: object) -> bytes | None:
    return await read_blob(site, str(ref)) if ref else None


def _document(packed: bytes | None) -> Document | None:
    try:
        return decode_document(packed) if packed is not None else None
    except PoisonError:  # written by a release with another layout
        return None


def _original(body: bytes | None, known: Known) -> str | None:
    if body is None:
        return None
    headers = known.value("fetched", "headers") or {}
    text = decode(body, str(headers.get("content-type", "")))
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def _shown(document: Document, block: Block) -> ShownBlock:
    around = [document.containers[index].tag for index in reversed(document.ancestors(block))]
    text = block.text if block.tag == "pre" else presentation.clean_line(block.text)
    return ShownBlock(block.tag, " › ".join([*around, block.tag]), text)
