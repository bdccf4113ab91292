"""Document -> pieces: each block (or table row, or part of a listing) with the blocks that are its context.

The context of a piece only comes from structure: the title, the headings above it, the sentence that leads into its
list or listing, the term that it defines, the heading of its column. Containers are read, never text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from streams.language.marks import is_closed
from streams.pages.document.model import Block, Document
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.open_texts import ends_open, goes_on
from streams.statements.tables import Cells, tables_of

Kind = Literal["sentence", "item", "link", "list", "row", "code", "heading"]
MAX_TERMS = 64
"""Maximum terms in the context of one description: the last ones. Further words don't fit into a context."""
_LISTS = frozenset({"ul", "ol", "dl", "table"})
_NAMED = frozenset({"li", "blockquote"})
"""Containers whose paragraphs may have a name: the first paragraph of an item, the one before a quotation."""
MAX_NAME_WORDS = 8
"""Maximum words of the name of an item or a quotation: "--json", "add [path ...]"."""
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A block with its kind, its place in the outline, and the blocks of its context."""

    block: int
    kind: Kind
    headings: tuple[int, ...] = ()
    """Blocks of the headings above it, the widest first."""
    leads: tuple[int, ...] = ()
    """Blocks with a last sentence that leads into this block, the widest first."""
    labels: tuple[int, ...] = ()
    """Blocks with a text that names this block: a term, a caption, the heading of its column."""
    cells: Cells = ()
    """The cells of a row, also cells of rows above that span this one."""
    begun_in: int | None = None
    """The paragraph in which the first sentence of this block begins. It is the last one of the leads."""
    is_name: bool = False
    """True for a heading, a term or a caption: a statement only if it is in no other piece's context."""


@dataclass(slots=True)
class _State:
    headings: list[int] = field(default_factory=list)
    leads: dict[int, int] = field(default_factory=dict)
    """The block that leads into each list container; -1 for none."""
    terms: dict[int, list[int]] = field(default_factory=dict)
    """The blocks of the terms that the next dd defines, by dl container."""
    term_done: set[int] = field(default_factory=set)
    names: dict[int, int] = field(default_factory=dict)
    """The block that names the others of an item, or a quotation; -1 for none."""
    prose: dict[int, int] = field(default_factory=dict)
    """The last paragraph in each container below the present heading."""


def outline(document: Document) -> list[Piece]:
    """Return the pieces of a document in reading order."""
    tables = tables_of(document)
    state, pieces = _State(), []
    for index, block in enumerate(document.blocks):
        if block.tag in _HEADINGS and not _inside(document, block, _LISTS):
            _enter_heading(document, state, index)
            continue
        row = tables.rows.get(index)
        if row is None and index in tables.taken:
            continue
        context = _context(document, state, index)
        if row is not None:
            pieces.append(
                replace(context, kind="row", cells=row, labels=(*context.labels, *tables.captions.get(index, ())))
            )
        else:
            labels = (*context.labels, *tables.captions.get(index, ()), *tables.columns.get(index, ()))
            pieces.append(replace(context, labels=labels))
    return sorted([*_mark_names(pieces), *_heading_pieces(document)], key=lambda piece: piece.block)


def _mark_names(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces. Those that name other pieces are marked."""
    heads = {head for piece in pieces for found, _ in piece.cells for head in found}
    names = heads.union(*(piece.labels for piece in pieces))
    for piece in pieces:
        yield replace(piece, is_name=True) if piece.block in names and piece.kind != "row" else piece


def _enter_heading(document: Document, state: _State, index: int) -> None:
    level = document.blocks[index].tag
    while state.headings and document.blocks[state.headings[-1]].tag >= level:
        state.headings.pop()
    state.headings.append(index)
    state.prose.clear()


def _context(document: Document, state: _State, index: int) -> Piece:
    """Return the piece of a block: its headings, leads and terms, and its kind by the containers around it."""
    block = document.blocks[index]
    chain = document.ancestors(block)
    leads: list[int] = []
    labels: list[int] = []
    for inside, container in zip([-1, *chain], chain, strict=False):
        tag = document.containers[container].tag
        if tag in _LISTS and (lead := _lead(document, state, index, container)) is not None:
            leads.append(lead)
        if tag == "dl":
            labels.extend(reversed(_terms(document, state, index, container, inside)))
    if (
        block.tag == "pre"
        and index
        and document.blocks[index - 1].parent == block.parent
        and _prose(document, index - 1)
    ):
        leads.insert(0, index - 1)
    if (name := _name(document, state, index)) is not None:
        labels.insert(0, name)
    begun_in = _begun_in(document, state, index)
    leads[:0] = begun_in
    return Piece(
        index,
        _kind(document, block, chain),
        tuple(state.headings),
        tuple(reversed(leads)),
        tuple(reversed(labels)),
        begun_in=begun_in[0] if begun_in else None,
    )


def _begun_in(document: Document, state: _State, index: int) -> list[int]:
    """Return the paragraph that a paragraph goes on with: a listing or list may stand within a sentence.

    It has the same parent and heading.
    """
    block = document.blocks[index]
    if block.tag != "p":
        return []
    before = state.prose.get(block.parent)
    state.prose[block.parent] = index
    return [before] if before is not None and goes_on(document.blocks[before].text, block.text) else []


def _lead(document: Document, state: _State, index: int, container: int) -> int | None:
    """Return the block that leads into a list, if there is one.

    It is the block just before the list, if it has the same parent and ends in a colon or within a sentence, or if it
    is the item that the list is nested in.
    """
    if container not in state.leads:
        before = index - 1
        beside = before >= 0 and document.blocks[before].parent == document.containers[container].parent
        nested = (
            beside
            and document.containers[container].parent >= 0
            and document.containers[document.containers[container].parent].tag in {"li", "dd"}
        )
        leads = beside and _prose(document, before) and (nested or _leads_on(document, before, index, container))
        state.leads[container] = before if leads else -1
    found = state.leads[container]
    return found if found >= 0 else None


def _leads_on(document: Document, before: int, first: int, container: int) -> bool:
    """Return whether a paragraph leads into a list by its end, or by the small first letter of the list's first item.

    Many terms, and many cells of tables, begin with a small letter.
    """
    text = document.blocks[before].text
    if text.endswith((":", "：")) or ends_open(text):
        return True
    return document.containers[container].tag in {"ul", "ol"} and goes_on(text, document.blocks[first].text)


def _terms(document: Document, state: _State, index: int, dl: int, inside: int) -> list[int]:
    """Return the terms that a description belongs to. A term after a description begins a new group."""
    tag = document.containers[inside].tag if inside >= 0 else ""
    if tag == "dt":
        if dl in state.term_done:
            state.terms[dl] = []
            state.term_done.discard(dl)
        state.terms.setdefault(dl, []).append(index)
        return []
    state.term_done.add(dl)
    return state.terms.get(dl, [])[-MAX_TERMS:]


def _name(document: Document, state: _State, index: int) -> int | None:
    """Return the block that names a block: a short paragraph at the beginning of its item, or before its quotation.

    Manuals in Markdown write so in place of a list of terms: "--json" is a paragraph, and its meaning is the next one.
    """
    parent = document.blocks[index].parent
    if parent < 0 or document.containers[parent].tag not in _NAMED:
        return None
    if parent not in state.names:
        is_item = document.containers[parent].tag == "li"
        first, after = (index, index + 1) if is_item else (index - 1, index)
        state.names[parent] = first if _is_name(document, parent, first, after) else -1
    name = state.names[parent]
    return name if 0 <= name != index else None


def _is_name(document: Document, container: int, first: int, after: int) -> bool:
    """Return whether the block `first` is a short paragraph without an end mark, and `after` is of the container."""
    if first < 0 or after >= len(document.blocks) or document.blocks[after].parent != container:
        return False
    beside = container if document.containers[container].tag == "li" else document.containers[container].parent
    text = document.blocks[first].text
    if document.blocks[first].parent != beside or not _prose(document, first) or word_count(text) > MAX_NAME_WORDS:
        return False
    is_open = ends_open(text) or text.endswith((",", ";", "；", "，"))
    return not is_open and (text.endswith("]") or not is_closed(text))  # "add [path ...]"


def _kind(document: Document, block: Block, chain: Sequence[int]) -> Kind:
    if block.tag == "pre":
        return "code"
    tags = {document.containers[container].tag for container in chain}
    return "item" if tags & {"li", "dt", "dd"} else "sentence"


def _prose(document: Document, index: int) -> bool:
    return document.blocks[index].tag == "p"


def _inside(document: Document, block: Block, tags: frozenset[str]) -> bool:
    return any(document.containers[container].tag in tags for container in document.ancestors(block))


def _heading_pieces(document: Document) -> Iterator[Piece]:
    above: list[int] = []
    for index, block in enumerate(document.blocks):
        if block.tag in _HEADINGS and not _inside(document, block, _LISTS):
            while above and document.blocks[above[-1]].tag >= block.tag:
                above.pop()
            yield Piece(index, "heading", tuple(above), is_name=True)
            above.append(index)
