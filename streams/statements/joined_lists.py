"""Short items of one list become one statement: by itself "a storm, or" says nothing. Pure.

Items are joined if they follow each other in one list, are no sentences, are short, and are the parts of an enumeration
("a storm, or"), or mostly names, as in a table of contents: such an item says nothing without the others. A short item
that is a fact of its own ("free tea, even in a storm") stays a statement: a question may ask for just this one. So does
an item with a list below it, with several paragraphs, or with a term that it describes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from streams.language.function_words import CONJUNCTIONS
from streams.pages.document.model import Document
from streams.statements.outline import Piece
from streams.statements.sentences.lengths import MAX_JOINED_WORDS, word_count
from streams.statements.sentences.reading_alone import is_list_of_names, is_sentence

MAX_ITEM_WORDS = 12
"""Maximum words of an item that is joined."""
SEPARATOR = "; "
_ENDS = (",", ";", ":", ".", "，", "；", "、", "。")
"""The ends of an item behind which no separator is needed."""


class Drafted(Protocol):
    """The fields of a draft that joining reads."""

    @property
    def text(self) -> str: ...


_D = TypeVar("_D", bound=Drafted)


_Place = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The list that an item is in, with all that its context is made of: headings, leads and labels."""


def join_short_items(document: Document, pieces: Sequence[Piece], by_piece: Sequence[list[_D]]) -> None:
    """Move the drafts of items that belong together into the first item's list of drafts, as one draft."""
    for run in list(_runs(document, pieces, by_piece)):
        if len(run) < 2:
            continue
        first, texts = by_piece[run[0]][0], [by_piece[index][0].text for index in run]
        text = _join(texts)
        if not _is_enumeration(texts) and not is_list_of_names(text):
            continue
        by_piece[run[0]][:] = [replace(first, text=text, kind="list")]  # type: ignore[type-var]  # a draft is a dataclass
        for index in run[1:]:
            by_piece[index].clear()


def _runs(document: Document, pieces: Sequence[Piece], by_piece: Sequence[Sequence[_D]]) -> Iterator[list[int]]:
    """Yield the places of items that become one statement, in parts where they have too many words."""
    inside = Counter(document.blocks[piece.block].parent for piece in pieces)
    run: list[int] = []
    place: _Place | None = None
    words = 0
    for index, (piece, drafts) in enumerate(zip(pieces, by_piece, strict=True)):
        own = _place_of(document, piece) if inside[document.blocks[piece.block].parent] == 1 else None
        fits = own is not None and len(drafts) == 1 and _is_short(drafts[0].text)
        count = word_count(drafts[0].text) if fits else 0
        if run and (not fits or own != place or words + count > MAX_JOINED_WORDS):
            yield run
            run = []
        if fits:
            place, words, run = own, count + (words if run else 0), [*run, index]
    if run:
        yield run


def _place_of(document: Document, piece: Piece) -> _Place | None:
    """Return the place of a simple item: a text that is the whole item of a list, or a term without a description.

    Terms are the lines of a table of contents in some manuals. The lines of a chapter are below the chapter's own line.
    """
    parent = document.blocks[piece.block].parent
    if piece.kind != "item" or piece.is_name:
        return None
    tag = document.containers[parent].tag
    if tag == "dt" or (tag == "li" and not piece.labels):
        return document.containers[parent].parent, piece.headings, piece.leads, piece.labels
    return None


def _is_short(text: str) -> bool:
    return word_count(text) <= MAX_ITEM_WORDS and not is_sentence(text)


def _is_enumeration(texts: Sequence[str]) -> bool:
    """Return whether each item but the last goes on with the next one."""
    return all(text.endswith((",", ";", "，", "；", "、")) or _ends_with_conjunction(text) for text in texts[:-1])


def _ends_with_conjunction(text: str) -> bool:
    return text.rpartition(" ")[2] in CONJUNCTIONS


def _join(texts: Sequence[str]) -> str:
    *first, last = texts
    return "".join(f"{text}{_separator(text)}" for text in first) + last


def _separator(text: str) -> str:
    return " " if text.endswith(_ENDS) or _ends_with_conjunction(text) else SEPARATOR
