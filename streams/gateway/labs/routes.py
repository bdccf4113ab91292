"""A page taken apart: what came, what was kept, what was removed and why; for those who miss a text.

The original is shown as text, never as a page: nothing of it is loaded or run. Why texts were removed is worked out by
a process that may die (`explaining`). A page that asks for no copies (`noarchive`, `nosnippet`, `noindex`, or taken out
on request) is not shown.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streams.errors import PoisonError
from streams.gateway.context import Site
from streams.gateway.http import presentation
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.labs.explanation import UnexplainedError
from streams.gateway.labs.source_view import Source, read_source
from streams.gateway.page.lookup import Known, read_blob
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Block, Document
from streams.pages.parse.charset import decode
from streams.pages.parse.content_type import media_type
from streams.pages.sandbox.explanation import Explanation

MAX_ORIGINAL_CHARS = 200_000
MAX_BLOCKS = 2_000
MAX_PATH = 12
_NO_COPIES = {"noarchive", "noindex", "nosnippet", "none"}
_LABELS = {"blockquote": "quote", "figcaption": "caption"}
_NESTING = frozenset({"ul", "ol", "dl", "blockquote"})


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block of the document, or a row of a table."""

    tag: str
    """The block's, or of a `p` that of what holds it, in short: `li`, `dd`, `quote`."""
    path: str
    """Where it stands: `table › tr › td › p`."""
    depth: int
    """Of lists and quotations."""
    texts: tuple[str, ...]
    """One; of a row, one for each block in its cells."""
    spoken: str = ""
    """Its language, how sure that is, and its script, where they aren't the page's: `ru, Cyrl, 98 %`."""


@dataclass(frozen=True, slots=True)
class LabsView:
    """The three columns. A column that is None has its `..._missing` sentence."""

    url: str
    title: str = ""
    language: str = ""
    spoken: str = ""
    """The page's language, script, and how sure the language is: `en, Latn, 99 %`."""
    note: str = ""
    source: Source | None = None
    source_bytes: int = 0
    source_missing: str = ""
    blocks: tuple[ShownBlock, ...] | None = None
    blocks_count: int = 0
    document_missing: str = ""
    explanation: Explanation | None = None
    explanation_missing: str = ""
    kept_chars: int = 0

    @property
    def kept_share(self) -> int | None:
        """In percent of the page's text."""
        chars = self.kept_chars + self.explanation.chars if self.explanation else 0
        return round(100 * self.kept_chars / chars) if chars else None


async def labs_view(site: Site, known: Known) -> LabsView:
    """Raises ProblemError when the page asks for no copies, or its contents' store doesn't answer."""
    _refuse_copies(known)
    body, packed = await asyncio.gather(
        _blob(site, known.value("fetched", "body_ref")), _blob(site, known.value("normalized", "document_ref"))
    )
    headers = _headers(known)
    (explained, unexplained), (document, blocks), (source, no_source) = await asyncio.gather(
        _explained(site, known, body, headers),
        asyncio.to_thread(_document, packed),
        asyncio.to_thread(_source, body, headers),
    )
    return LabsView(
        url=known.url or str(known.page_id),
        title=presentation.clean_line(document.title, presentation.MAX_TITLE_CHARS) if document else "",
        language=document.language if document else "",
        spoken=_spoken(document.language, document.language_confidence, document.script) if document else "",
        note=_note(known),
        source=source,
        source_bytes=len(body or b""),
        source_missing=no_source,
        blocks=blocks,
        blocks_count=len(document.blocks) if document else 0,
        document_missing=_why_no_document(known),
        explanation=explained,
        explanation_missing=unexplained,
        kept_chars=len(document.text) if document else 0,
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


def _document(packed: bytes | None) -> tuple[Document | None, tuple[ShownBlock, ...] | None]:
    try:
        document = decode_document(packed) if packed is not None else None
    except PoisonError:  # written by a release with another layout
        document = None
    return document, _shown(document) if document else None


def _headers(known: Known) -> dict[str, str]:
    headers = known.value("fetched", "headers")
    return {str(name): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {}


def _source(body: bytes | None, headers: Mapping[str, str]) -> tuple[Source | None, str]:
    """The original as text, or why it isn't shown."""
    if body is None:
        return None, "The original is not kept any more."
    kind = media_type(headers)
    if kind and not kind.startswith("text/") and not kind.endswith("xml"):
        return None, f"It is {kind}, which is no text."
    return read_source(decode(body, headers.get("content-type", "")), MAX_ORIGINAL_CHARS), ""


async def _explained(
    site: Site, known: Known, body: bytes | None, headers: Mapping[str, str]
) -> tuple[Explanation | None, str]:
    """What was removed, or why that can't be said."""
    if body is None:
        return None, "Without the original nothing can be said of it."
    try:
        return await site.explainer.explain(body, url=known.url, headers=headers), ""
    except UnexplainedError as error:
        return None, str(error)


def _why_no_document(known: Known) -> str:
    refused = known.value("normalized", "refused")
    return f"The page was refused: {refused}." if refused else "No document was made of it."


def _note(known: Known) -> str:
    came, made = known.value("fetched", "generation"), known.value("normalized", "generation")
    if came and made and came != made:
        return "The page was fetched again since this document was made: the other columns show the newer copy."
    return ""


def _shown(document: Document) -> tuple[ShownBlock, ...]:
    """The first blocks, those of a row together."""
    shown: list[ShownBlock] = []
    row = -1
    for block in document.blocks[:MAX_BLOCKS]:
        around = _around(document, block)
        inside = next((index for index in around if document.containers[index].tag == "tr"), -1)
        tags = [document.containers[index].tag for index in around]
        text = block.text if block.tag == "pre" else presentation.clean_line(block.text)
        if inside >= 0 and inside == row:
            shown[-1] = replace(shown[-1], texts=(*shown[-1].texts, text))
        else:
            shown.append(_block(block, tags, text, in_row=inside >= 0))
        row = inside
    return tuple(shown)


def _around(document: Document, block: Block) -> list[int]:
    """Indices of the containers around a block, the innermost first; of many only the innermost."""
    found: list[int] = []
    index = block.parent
    while index >= 0 and len(found) < MAX_PATH:
        found.append(index)
        index = document.containers[index].parent
    return found


def _block(block: Block, around: list[str], text: str, *, in_row: bool) -> ShownBlock:
    """`around`: the tags of what holds it, the innermost first."""
    held = around[0] if block.tag == "p" and around else block.tag
    depth = sum(tag in _NESTING for tag in around)
    return ShownBlock(
        "tr" if in_row else _LABELS.get(held, held),
        " › ".join([*reversed(around), block.tag]),
        min(depth, 4),
        (text,),
        _spoken(block.language, block.confidence, block.script),
    )


def _spoken(language: str, confidence: float, script: str) -> str:
    return ", ".join(
        part for part in (language, script, f"{confidence:.0%}".replace("%", " %") if confidence else "") if part
    )
