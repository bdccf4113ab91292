"""A page taken apart: the original, the document, and the texts that were removed with the reason of each.

The original is shown as text, never as a page: nothing in it is loaded or run. A separate process finds the reasons
(`explainer`). A page that asks for no copies (`noarchive`, `nosnippet`, `noindex`, or removed on request) is not
shown.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streams.errors import PoisonError
from streams.gateway.context import GatewayContext
from streams.gateway.http import presentation
from streams.gateway.labs.explainer import Explainer, UnexplainedError
from streams.gateway.labs.source_view import Source, read_source
from streams.gateway.page.lookup import PageData, read_blob, refuse_copies
from streams.media_types import media_type
from streams.pages.document.codec import decode_document
from streams.pages.document.model import Block, Document
from streams.pages.sandbox.explanation import Explanation
from streams.pages.sandbox.original import original_text
from streams.stores.page_record import StoredPart

MAX_ORIGINAL_CHARS = 200_000
"""Maximum characters shown of the original."""
MAX_BLOCKS = 2_000
"""Maximum blocks shown of the document."""
MAX_BLOCK_CHARS = 4_000
"""Maximum characters shown of one block."""
MAX_DOCUMENT_CHARS = 200_000
"""Maximum characters shown of all blocks."""
MAX_REMOVED_CHARS = 200_000
"""Maximum characters shown of all removed texts."""
MAX_PATH = 12
"""Maximum containers named around a block. The innermost are named."""
_LABELS = {"blockquote": "quote", "figcaption": "caption"}
_NESTING = frozenset({"ul", "ol", "dl", "blockquote"})


@dataclass(frozen=True, slots=True)
class ShownText:
    """The start of a text, and the number of its characters that are not shown."""

    text: str
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block of the document, or a row of a table."""

    tag: str
    """The block's tag, or for a `p` the tag of its container, in short: `li`, `dd`, `quote`."""
    path: str
    """The containers around it: `table › tr › td › p`."""
    depth: int
    """The number of lists and quotations around it."""
    texts: tuple[ShownText, ...]
    """The block's text; for a row, the text of each block in its cells."""
    spoken: str = ""
    """The block's language, script and confidence, if they differ from the page's: `ru, Cyrl, 98 %`."""


@dataclass(frozen=True, slots=True)
class LabsView:
    """The three columns. A column that is None has its `..._missing` sentence."""

    url: str
    title: str = ""
    language: str = ""
    spoken: str = ""
    """The page's language, script and confidence: `en, Latn, 99 %`."""
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
    def blocks_shown(self) -> int:
        return sum(len(block.texts) for block in self.blocks or ())

    @property
    def kept_share(self) -> int | None:
        """The share of the page's text that was kept (percent)."""
        chars = self.kept_chars + self.explanation.chars if self.explanation else 0
        return round(100 * self.kept_chars / chars) if chars else None


async def labs_view(context: GatewayContext, explainer: Explainer, data: PageData) -> LabsView:
    """Return the three columns of a page.

    Raises ProblemError when the page asks for no copies, or the store of its contents doesn't answer.
    """
    refuse_copies(data)
    body, packed = await asyncio.gather(
        _blob(context, data, data.record.fetched, data.record.fetched.body_ref),
        _blob(context, data, data.record.normalized, data.record.normalized.document_ref),
    )
    headers = data.record.fetched.headers
    (explained, unexplained), (document, blocks), (source, no_source) = await asyncio.gather(
        _explain(explainer, data, body, headers),
        asyncio.to_thread(_document, packed),
        asyncio.to_thread(_source, body, headers),
    )
    return LabsView(
        url=data.url or str(data.page_id),
        title=presentation.clean_line(document.title, presentation.MAX_TITLE_CHARS) if document else "",
        language=document.language if document else "",
        spoken=_describe_language(document.language, document.language_confidence, document.script) if document else "",
        note=_note(data),
        source=source,
        source_bytes=len(body or b""),
        source_missing=no_source,
        blocks=blocks,
        blocks_count=len(document.blocks) if document else 0,
        document_missing=_why_no_document(data),
        explanation=explained,
        explanation_missing=unexplained,
        kept_chars=len(document.text) if document else 0,
    )


async def _blob(context: GatewayContext, data: PageData, part: StoredPart, ref: str | None) -> bytes | None:
    return await read_blob(context, data, part, ref) if ref else None


def _document(packed: bytes | None) -> tuple[Document | None, tuple[ShownBlock, ...] | None]:
    try:
        document = decode_document(packed) if packed is not None else None
    except PoisonError:  # written by a release with another layout
        document = None
    return document, _present_blocks(document) if document else None


def _source(body: bytes | None, headers: Mapping[str, str]) -> tuple[Source | None, str]:
    """Return the original as text, or the reason why it isn't shown."""
    if body is None:
        return None, "The original is no longer kept."
    kind = media_type(headers.get("content-type", "")).essence
    if kind and not kind.startswith("text/") and not kind.endswith("xml"):
        return None, f"Its type is {kind}, which is not text."
    return read_source(original_text(body, headers), MAX_ORIGINAL_CHARS), ""


async def _explain(
    explainer: Explainer, data: PageData, body: bytes | None, headers: Mapping[str, str]
) -> tuple[Explanation | None, str]:
    """Return the removed texts with their reasons, or a sentence that says why they are not known."""
    if body is None:
        return None, "Without the original this is not known."
    try:
        return _shorten_explanation(await explainer.explain(body, url=data.url, headers=headers)), ""
    except UnexplainedError as error:
        return None, str(error)


def _shorten_explanation(explanation: Explanation) -> Explanation:
    """Return the explanation with its first texts, MAX_REMOVED_CHARS in all. Each group keeps its counts."""
    left, groups = MAX_REMOVED_CHARS, []
    for group in explanation.groups:
        texts = []
        for text in group.texts:
            if len(text.text) > left:
                break
            left -= len(text.text)
            texts.append(text)
        groups.append(replace(group, texts=tuple(texts)))
    return Explanation(tuple(groups))


def _why_no_document(data: PageData) -> str:
    refused = data.record.normalized.refused
    return f"The page was refused: {refused}." if refused else "There is no document."


def _note(data: PageData) -> str:
    fetched, normalized = data.record.fetched.generation, data.record.normalized.generation
    if data.record.fetched.outcome not in ("", "ok"):
        return ""  # the visit brought no newer copy
    if fetched > 0 and normalized > 0 and fetched != normalized:
        return "The page was fetched again after this document was made: the other columns show the newer copy."
    return ""


def _present_blocks(document: Document) -> tuple[ShownBlock, ...]:
    """Return the first blocks that fit in MAX_DOCUMENT_CHARS. The blocks of a table row are one block."""
    shown: list[ShownBlock] = []
    row, left = -1, MAX_DOCUMENT_CHARS
    for block in document.blocks[:MAX_BLOCKS]:
        if left <= 0:
            break
        around = _find_containers(document, block)
        inside = next((index for index in around if document.containers[index].tag == "tr"), -1)
        tags = [document.containers[index].tag for index in around]
        text = _start(block, min(left, MAX_BLOCK_CHARS))
        left -= len(text.text)
        if inside >= 0 and inside == row:
            shown[-1] = replace(shown[-1], texts=(*shown[-1].texts, text))
        else:
            shown.append(_block(block, tags, text, in_row=inside >= 0))
        row = inside
    return tuple(shown)


def _start(block: Block, max_chars: int) -> ShownText:
    start = block.text[:max_chars]
    shown = start if block.tag == "pre" else presentation.clean_line(start)
    return ShownText(shown, len(block.text) - len(start))


def _find_containers(document: Document, block: Block) -> list[int]:
    """Return the indices of the containers around a block, at most MAX_PATH, the innermost first."""
    found: list[int] = []
    index = block.parent
    while index >= 0 and len(found) < MAX_PATH:
        found.append(index)
        index = document.containers[index].parent
    return found


def _block(block: Block, around: list[str], text: ShownText, *, in_row: bool) -> ShownBlock:
    """Return the block as it is shown. `around` are the tags of its containers, the innermost first."""
    held = around[0] if block.tag == "p" and around else block.tag
    depth = sum(tag in _NESTING for tag in around)
    return ShownBlock(
        "tr" if in_row else _LABELS.get(held, held),
        " › ".join([*reversed(around), block.tag]),
        min(depth, 4),
        (text,),
        _describe_language(block.language, block.confidence, block.script),
    )


def _describe_language(language: str, confidence: float, script: str) -> str:
    return ", ".join(
        part for part in (language, script, f"{confidence:.0%}".replace("%", " %") if confidence else "") if part
    )
