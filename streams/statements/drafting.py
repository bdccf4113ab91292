"""Pieces -> drafts: statements with their structural context, before the chains between sentences are known.

Every character of the document except white space is in a draft's text or context, unless the page has more than
MAX_STATEMENTS, MAX_BLOCKS or MAX_CHARS: then its beginning is kept.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from streams.language.marks import is_closed
from streams.pages.document.model import Block, Document
from streams.statements.contexts import Contexts, collapse_spaces
from streams.statements.joined_lists import join_short_items
from streams.statements.outline import Kind, Piece, outline
from streams.statements.sentences.lengths import MAX_WORDS, Span, bound_lengths, word_count
from streams.statements.sentences.lines import begins_with_name
from streams.statements.sentences.splitter import SentenceSplitter

MAX_STATEMENTS = 40_000
"""Maximum statements of a page (docs/decisions/0131). The manual of Node.js on one page, 8.4 MB of HTML, has 38,758."""
MAX_BLOCKS = 200_000
"""Maximum blocks of a page that are drafted: MAX_STATEMENTS rows of 5 cells."""
MAX_CHARS = 4_000_000
"""Maximum characters of a page that are drafted: as many as are read of a file (`pages.formats.converted`)."""
MAX_NAME_WORDS = 6
"""Maximum words of a cell that names the cell beside it, such as "Default:"."""
MIN_VALUE_WORDS = 3
"""Minimum words of a cell that says what the name beside it means."""
MAX_LINK_WORDS = 5
"""Maximum words of an item that is a link and says nothing else."""
MIN_LINK_SHARE = 0.8
"""Minimum share of an item's letters in links that makes it a link."""
CELLS = " | "
"""The separator between the cells of a row."""
_PARAGRAPH = re.compile(r"\n[ \t]*+(?=\n)")
_LINE = re.compile(r"\n")
_COLONS = (":", "：")
_MARKS_OF_CODE = frozenset("_.:")


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement without its id and its antecedents."""

    text: str
    context: tuple[str, ...]
    kind: Kind
    block: int
    start: int
    end: int
    section: int
    """Chains stay within a section."""
    page: int = 0
    """Number of the page of the file, from 1; 0 for a document without pages."""
    anchor: str = ""
    """Anchor of the term or the nearest heading above it; empty if an address leads to none of them."""
    doubtful: bool = False
    """True if readers may not see it: its block is doubtful, or a cell of its row."""


def draft_statements(document: Document, splitter: SentenceSplitter) -> tuple[list[Draft], int]:
    """Return the drafts of a document, and the number of statements left out, as far as they can be counted.

    Text that was not read has as many statements as the same length of the text before it, at least one a block.
    """
    first = _first_blocks(document.blocks)
    chars, read = (sum(len(block.text) for block in blocks) for blocks in (document.blocks, first))
    blocks = len(document.blocks) - len(first)
    found = _draft_blocks(replace(document, blocks=first) if blocks or chars > read else document, splitter)
    unread = chars - read + document.unread_chars
    is_cut = bool(first) and first[-1] is not document.blocks[len(first) - 1]
    left_out = max(blocks + is_cut, unread > 0, round(len(found) * unread / max(read, 1)))
    left_out += max(0, len(found) - MAX_STATEMENTS)
    kept = found[:MAX_STATEMENTS]
    if document.facts.get("pages"):
        kept = [replace(draft, page=document.page_of(draft.block)) for draft in kept]
    return kept, left_out


def _first_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the first blocks of a page, the last of them cut where the page gets too long."""
    first: list[Block] = []
    left = MAX_CHARS
    for block in blocks[:MAX_BLOCKS]:
        first.append(block if len(block.text) <= left else block._replace(text=block.text[:left]))
        left -= len(block.text)
        if left <= 0:
            break
    return tuple(first)


def _without_doubtful_contexts(document: Document, pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces without headings, lead-ins and labels that may be hidden: a context is shown with its text."""
    if not (doubtful := document.doubtful()):
        return pieces

    def sure(blocks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(block for block in blocks if block not in doubtful)

    return [
        replace(piece, headings=sure(piece.headings), leads=sure(piece.leads), labels=sure(piece.labels))
        for piece in pieces
    ]


def _draft_blocks(document: Document, splitter: SentenceSplitter) -> list[Draft]:
    pieces = _without_doubtful_contexts(document, outline(document))
    spans = _sentence_spans(document, pieces, splitter)
    contexts = Contexts(document, spans)
    by_piece = [
        [] if piece.is_name else list(_draft_piece(document, piece, spans, contexts, section))
        for section, piece in zip(_number_sections(document, pieces), pieces, strict=True)
    ]
    join_short_items(document, pieces, by_piece)
    _find_links(document, by_piece)
    shown = _texts_in_contexts(document, pieces, by_piece, contexts)
    for index, piece in enumerate(pieces):
        if piece.is_name and collapse_spaces(document.blocks[piece.block].text) not in shown:
            by_piece[index] = list(_draft_piece(document, piece, spans, contexts, -1 - index))
    if doubtful := document.doubtful():
        _mark_doubts(doubtful, pieces, by_piece)
    return list(_with_anchors(document, pieces, by_piece))


def _mark_doubts(doubtful: Collection[int], pieces: Sequence[Piece], by_piece: Sequence[list[Draft]]) -> None:
    for piece, group in zip(pieces, by_piece, strict=True):
        if piece.block in doubtful or any(cell in doubtful for _, cell in piece.cells):
            group[:] = [replace(draft, doubtful=True) for draft in group]


def _with_anchors(document: Document, pieces: Sequence[Piece], by_piece: Sequence[Sequence[Draft]]) -> Iterator[Draft]:
    """Yield all drafts, each with the anchor of its own text, of the term that it describes, or of a heading above."""
    anchors = document.anchors()
    for piece, group in zip(pieces, by_piece, strict=True):
        names = (piece.block, *reversed(piece.labels), *reversed(piece.headings)) if anchors and group else ()
        anchor = next((anchors[block] for block in names if block in anchors), "")
        yield from (replace(draft, anchor=anchor) for draft in group) if anchor else group


def _find_links(document: Document, by_piece: Sequence[list[Draft]]) -> None:
    """Give the items that are links their kind. The links of a block are read once, however many drafts it has."""
    links: dict[int, list[Span]] = {}
    for group in by_piece:
        for place, draft in enumerate(group):
            if draft.kind != "item" or is_closed(draft.text):
                continue
            block = document.blocks[draft.block]
            if draft.block not in links:
                links[draft.block] = _link_spans(block)
            if _is_link(block.text, draft, links[draft.block]):
                group[place] = replace(draft, kind="link")


def _link_spans(block: Block) -> list[Span]:
    """Return the parts of a block's text that are links, in their order; links within others are a part of these."""
    spans: list[Span] = []
    for start, end in sorted((span.start, span.end) for span in block.spans if span.kind == "link"):
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        elif start < end:
            spans.append((start, end))
    return spans


def _is_link(text: str, draft: Draft, links: Sequence[Span]) -> bool:
    """Return whether an item only names the pages that it leads to: a few words that are a link, or a term's links.

    The latter is an entry of an index: "timeout during, Lock Management". A longer link may state a fact that somebody
    asks for: "ACID transactions, even after power loss".
    """
    inside, first = 0, draft.end
    for index in range(bisect_right(links, draft.start, key=itemgetter(1)), len(links)):
        start, end = max(links[index][0], draft.start), min(links[index][1], draft.end)
        if start >= end:
            break
        inside, first = inside + _count_letters(text[start:end]), min(first, start)
    if inside >= MIN_LINK_SHARE * _count_letters(draft.text) > 0 and word_count(draft.text) <= MAX_LINK_WORDS:
        return True
    behind = _count_letters(text[first : draft.end])
    return text[draft.start : first].rstrip().endswith(",") and inside >= MIN_LINK_SHARE * behind > 0


def _count_letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _texts_in_contexts(
    document: Document, pieces: Sequence[Piece], by_piece: Sequence[Sequence[Draft]], contexts: Contexts
) -> set[str]:
    """Return the whole texts in the context (or row) of some statement."""
    shown = {part for group in by_piece for draft in group for part in draft.context}
    heads = {head for piece in pieces for found, _ in piece.cells for head in found}
    return shown | {collapse_spaces(document.blocks[head].text) for head in heads if contexts.is_whole(head)}


def _number_sections(document: Document, pieces: Sequence[Piece]) -> list[int]:
    """Return a number for each piece: the same for paragraphs that follow each other beneath the same heading."""
    numbers: list[int] = []
    last: object = None
    for piece in pieces:
        place = (piece.headings, document.blocks[piece.block].parent) if piece.kind == "sentence" else piece.block
        numbers.append(numbers[-1] if numbers and place == last else len(numbers))
        last = place
    return numbers


def _sentence_spans(document: Document, pieces: Sequence[Piece], splitter: SentenceSplitter) -> dict[int, list[Span]]:
    wanted = sorted({piece.block for piece in pieces if piece.kind in {"sentence", "item", "heading"}})
    blocks = [document.blocks[index] for index in wanted]
    split = splitter.split([block.text for block in blocks], [block.language or document.language for block in blocks])
    return dict(zip(wanted, split, strict=True))


def _draft_piece(
    document: Document, piece: Piece, spans: dict[int, list[Span]], contexts: Contexts, section: int
) -> Iterator[Draft]:
    context = contexts.context(piece)
    text = document.blocks[piece.block].text
    if piece.kind == "row":
        yield from _draft_row(document, piece, context, contexts, section)
        return
    is_code = piece.kind == "code"
    name, parts = ((), listing_spans(text)) if is_code else _lines_of(document.blocks[piece.block], spans[piece.block])
    for start, end in parts:
        yield Draft(text[start:end], (*context, *name), piece.kind, piece.block, start, end, section)
        if piece.begun_in is not None:  # only the first sentence goes on with the paragraph before
            context = contexts.context(replace(piece, leads=piece.leads[:-1], begun_in=None))


def _lines_of(block: Block, spans: Sequence[Span]) -> tuple[tuple[str, ...], list[Span]]:
    """Return the first line of a block if it is the name of the others, which are its context, and its statements."""
    first = block.text.find("\n")
    is_marked = any(span.start == 0 and first - 1 <= span.end <= first for span in block.spans)
    if first < 0 or not begins_with_name(block.text, is_marked=is_marked):
        return (), bound_lengths(block.text, spans)
    others = [(max(start, first + 1), end) for start, end in spans if end > first]
    return (block.text[:first],), bound_lengths(block.text, others)


def _draft_row(
    document: Document, piece: Piece, context: tuple[str, ...], contexts: Contexts, section: int
) -> Iterator[Draft]:
    """Yield the row as "Name: x | Type: y", in parts when it is wide; the first cell names the further parts.

    A row of two cells may be a name and its value, "Default: 8192", or a name and what it means, as in an index:
    "platform: Access to this machine's data.". An entry of an index that only leads to another page is a link.
    """
    kind: Kind = "link" if _leads_to_one_page(document, piece) else "row"
    if kind == "row" and _is_name_and_value(document, piece):
        name, value = (document.blocks[cell].text for _, cell in piece.cells)
        name = collapse_spaces(name)
        text = f"{name} {value}" if name.endswith(_COLONS) else f"{name}: {value}"
        cell = max(piece.cells[0][1], piece.block)  # not one that spans the row
        yield Draft(text, context, kind, cell, 0, len(document.blocks[cell].text), section)
        return
    parts: list[list[tuple[int, str]]] = [[]]
    for heads, cell in piece.cells:
        text = document.blocks[cell].text
        label = collapse_spaces(" ".join(map(contexts.label, heads))) or text
        named = f"{label}: {text}" if label != text else text
        if parts[-1] and word_count(CELLS.join(named for _, named in parts[-1])) + word_count(named) > MAX_WORDS:
            parts.append([])
        parts[-1].append((cell, named))
    name = parts[0][0][1]
    for number, part in enumerate(parts):
        cell = next((cell for cell, _ in part if cell >= piece.block), piece.block)  # not one that spans the row
        text = CELLS.join(named for _, named in part)
        yield Draft(
            text, (*context, name) if number else context, kind, cell, 0, len(document.blocks[cell].text), section
        )


def _is_name_and_value(document: Document, piece: Piece) -> bool:
    if len(piece.cells) != 2 or any(heads for heads, _ in piece.cells):
        return False
    name, value = (document.blocks[cell].text for _, cell in piece.cells)
    if word_count(name) > MAX_NAME_WORDS or word_count(name) + word_count(value) > MAX_WORDS:
        return False
    if name.endswith(_COLONS) or _is_heading_of_row(document, piece):
        return True
    is_described = is_closed(value) or _is_of_code(name)
    return is_described and not is_closed(name) and word_count(value) >= MIN_VALUE_WORDS and any(map(str.isalpha, name))


def _is_heading_of_row(document: Document, piece: Piece) -> bool:
    """Return whether the first cell of a row is a heading, and the second one is none."""
    tags = [document.containers[document.blocks[cell].parent].tag for _, cell in piece.cells]
    return tags == ["th", "td"]


def _leads_to_one_page(document: Document, piece: Piece) -> bool:
    """Return whether all cells of a row are links to one page: an entry of an index, with the section where it is.

    A colon may stand behind a link. Links to several pages may state a fact: "President | John F. Kennedy".
    """
    pages = set[str]()
    for heads, cell in piece.cells:
        block = document.blocks[cell]
        links = [span for span in block.spans if span.kind == "link"]
        if heads or len(links) != 1 or links[0].start or links[0].end < len(block.text.rstrip(":： ")):
            return False
        pages.add(links[0].target.partition("#")[0])
    return len(pages) == 1


def _is_of_code(name: str) -> bool:
    """Return whether a cell is a name such as `os.path` or `page_size`."""
    return not any(map(str.isspace, name)) and not _MARKS_OF_CODE.isdisjoint(name[1:-1])


def listing_spans(text: str) -> list[Span]:
    """Return a listing in parts of at most MAX_WORDS: cut at empty lines, then between lines, then anywhere."""
    spans: list[Span] = []
    for start, end in _split_spans(text, _PARAGRAPH):
        lines = [(start + a, start + b) for a, b in _split_spans(text[start:end], _LINE)]
        for line in lines:
            joined = (spans[-1][0], line[1]) if spans and spans[-1][0] >= start else None
            if joined and word_count(text[slice(*joined)]) <= MAX_WORDS:
                spans[-1] = joined
            else:
                spans.append(line)
    return bound_lengths(text, spans)


def _split_spans(text: str, separator: re.Pattern[str]) -> Iterator[Span]:
    """Yield the trimmed, non-empty spans between separators."""
    start = 0
    for end in [*(match.start() for match in separator.finditer(text)), len(text)]:
        piece = text[start:end]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        start = end
