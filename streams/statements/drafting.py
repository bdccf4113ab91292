"""Pieces -> drafts: statements with their structural context, before the chains between sentences are known.

Every character of the document that isn't white space is in a draft's text or context, unless the page has more
than MAX_STATEMENTS; then its beginning is kept.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams.pages.document.model import Document
from streams.statements.boundaries import Span
from streams.statements.lengths import MAX_WORDS, bounded, word_count
from streams.statements.outline import Kind, Piece, outline
from streams.statements.sentences import SentenceSplitter

MAX_STATEMENTS = 2_000
"""Of a page. A book on one page would hold up all others: it is searchable by its beginning."""
MAX_CONTEXT_WORDS = 64
"""More would drown the statement in its own context."""
MAX_LABEL_WORDS = 24
"""A longer heading, term or caption is cut where it is context, and is a statement of its own as well."""
MAX_LEAD_WORDS = 40
_PARAGRAPH = re.compile(r"\n[ \t]*(?=\n)")
_LINE = re.compile(r"\n")


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement but for its id and its antecedents."""

    text: str
    context: tuple[str, ...]
    kind: Kind
    block: int
    start: int
    end: int
    section: int
    """Chains stay within a section."""


def drafts(document: Document, splitter: SentenceSplitter) -> tuple[list[Draft], int]:
    """The drafts of a document, and how many were left out at its end."""
    pieces = outline(document)
    spans = _sentence_spans(document, pieces, splitter)
    by_piece = [
        [] if piece.is_name else list(_drafts(document, piece, spans, section))
        for section, piece in zip(_sections(document, pieces), pieces, strict=True)
    ]
    said = _said(document, pieces, by_piece)
    for index, piece in enumerate(pieces):
        if piece.is_name and _plain(document.blocks[piece.block].text) not in said:
            by_piece[index] = list(_drafts(document, piece, spans, -1 - index))
    found = [draft for group in by_piece for draft in group]
    return found[:MAX_STATEMENTS], max(0, len(found) - MAX_STATEMENTS)


def _said(document: Document, pieces: Sequence[Piece], by_piece: Sequence[Sequence[Draft]]) -> set[str]:
    """Which headings, terms and captions are said whole in the context (or row) of some statement."""
    said = {part for group in by_piece for draft in group for part in draft.context}
    heads = {head for piece in pieces for head, _ in piece.cells if head is not None}
    return said | {_plain(document.blocks[head].text) for head in heads if _fits(document, head)}


def _fits(document: Document, head: int) -> bool:
    return word_count(document.blocks[head].text) <= MAX_LABEL_WORDS


def _plain(text: str) -> str:
    return " ".join(text.split())


def _sections(document: Document, pieces: Sequence[Piece]) -> list[int]:
    """A number for each piece: the same for paragraphs that follow each other beneath the same heading."""
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


def _drafts(document: Document, piece: Piece, spans: dict[int, list[Span]], section: int) -> Iterator[Draft]:
    context = context_of(document, piece, spans)
    text = document.blocks[piece.block].text
    if piece.kind == "row":
        yield from _row(document, piece, context, section)
        return
    parts = listing_spans(text) if piece.kind == "code" else bounded(text, spans[piece.block])
    for start, end in parts:
        yield Draft(text[start:end], context, piece.kind, piece.block, start, end, section)


def context_of(document: Document, piece: Piece, spans: dict[int, list[Span]]) -> tuple[str, ...]:
    """Title, headings, leads and labels, without repetition, the widest dropped first when there is too much."""
    own = document.blocks[piece.block].text
    parts = [document.title]
    parts += [_cut(document.blocks[index].text, MAX_LABEL_WORDS) for index in piece.headings]
    parts += [_cut(_last_sentence(document, index, spans), MAX_LEAD_WORDS) for index in piece.leads]
    parts += [_cut(document.blocks[index].text, MAX_LABEL_WORDS) for index in piece.labels]
    parts = [_cut(part, MAX_LABEL_WORDS) if number == 0 else part for number, part in enumerate(parts)]
    # A title can't raise a digit as its heading does (CO2, CO₂): of two spellings the later stays, which the text has.
    spelled = {unicodedata.normalize("NFKC", part): part for part in map(_plain, parts)}
    distinct = [part for part in spelled.values() if part and part != own]
    while len(distinct) > 1 and sum(map(word_count, distinct)) > MAX_CONTEXT_WORDS:
        # The title says what the page is about, the last parts what the statement is about: those between can go.
        del distinct[1 if len(distinct) > 2 else 0]
    return tuple(distinct)


def _last_sentence(document: Document, index: int, spans: dict[int, list[Span]]) -> str:
    text = document.blocks[index].text
    found = spans.get(index)
    return text[slice(*found[-1])] if found else text


def _cut(text: str, words: int) -> str:
    if word_count(text) <= words:
        return text
    kept = " ".join(text.split()[:words])
    while word_count(kept) > words:
        kept = kept[: len(kept) // 2 + len(kept) // 4]
    return kept


def _row(document: Document, piece: Piece, context: tuple[str, ...], section: int) -> Iterator[Draft]:
    """The row as "Name: x; Type: y", in parts when it is wide; the first cell names the further parts."""
    parts: list[list[tuple[int, str]]] = [[]]
    for head, cell in piece.cells:
        text = document.blocks[cell].text
        said = f"{_cut(document.blocks[head].text, MAX_LABEL_WORDS)}: {text}" if head is not None else text
        if parts[-1] and word_count("; ".join(said for _, said in parts[-1])) + word_count(said) > MAX_WORDS:
            parts.append([])
        parts[-1].append((cell, said))
    name = parts[0][0][1]
    for number, part in enumerate(parts):
        cell = part[0][0]
        said = "; ".join(said for _, said in part)
        yield Draft(
            said, (*context, name) if number else context, "row", cell, 0, len(document.blocks[cell].text), section
        )


def listing_spans(text: str) -> list[Span]:
    """A listing in parts of at most MAX_WORDS: cut at empty lines, then between lines, then anywhere."""
    spans: list[Span] = []
    for start, end in _between(text, _PARAGRAPH):
        lines = [(start + a, start + b) for a, b in _between(text[start:end], _LINE)]
        for line in lines:
            joined = (spans[-1][0], line[1]) if spans and spans[-1][0] >= start else None
            if joined and word_count(text[slice(*joined)]) <= MAX_WORDS:
                spans[-1] = joined
            else:
                spans.append(line)
    return bounded(text, spans)


def _between(text: str, separator: re.Pattern[str]) -> Iterator[Span]:
    """The trimmed, non-empty spans between separators."""
    start = 0
    for end in [*(match.start() for match in separator.finditer(text)), len(text)]:
        piece = text[start:end]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        start = end
