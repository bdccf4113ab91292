"""The lines of a site's frame among the statements found: links, rows of addresses, and repeated lines. Pure.

Nobody asks for "Prev | Up | Next", for an entry of an index, nor for the sentence below each page of a manual. Such a
statement weighs little, and is shown only where a page has nothing else. A repeated line is known without a store:
where a query matches it, it matches on all its pages, so that the lists have it several times. A host only weakens its
own pages by this.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from streams.statements.sentences.reading_alone import is_entry, is_line_of_contents, is_navigation, is_of_each_page
from streams.statements.sentences.references import has_only_addresses
from streams.stores.protocols import Candidates, Hit
from streams.stores.vector_collection import sort_hits

MIN_REPEATS = 4
"""Minimum pages of a host with the same line among the candidates that make it a line of the site's frame."""
MAX_CHARS = 400
"""Maximum length of a line that is compared (characters): the frame has short lines."""
FRAME_WEIGHT = 0.5
"""The share of its distance above the last score of its list that a line of the frame keeps. With 0, nDCG@10 of
keywords that name a page falls from .722 to .693: tables of contents are such pages."""
ENTRY_WEIGHT = 0.0
"""The same share of an entry of a page that holds little but entries. With it, the index of a manual has 7 of 300 shown
snippets, where it had 31, and the keywords find as much as before."""


def find_frame_lines(found: Candidates) -> frozenset[UUID]:
    """Return the ids of the statements that are lines of a site's frame. Code is no line of a frame."""
    # The number of an id is its key: a UUID computes its hash anew each time.
    hits = {hit.id.int: hit for hit in (*found.dense, *found.sparse) if hit.payload.kind != "code"}
    lines = [(hit, text) for hit in hits.values() if len(text := hit.payload.text) <= MAX_CHARS]
    frame = {hit.id for hit, text in lines if _is_of_the_frame(text, hit.payload.kind, hit.payload.context)}
    frame |= {hit.id for hit in (*found.dense, *found.sparse) if hit.payload.entry or hit.payload.doubtful}
    # Few texts come several times: only their hosts and pages are compared.
    counts = Counter(text for _, text in lines)
    repeated = [(hit, text) for hit, text in lines if counts[text] >= MIN_REPEATS]
    pages: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for hit, text in repeated:
        pages[hit.payload.host, text].add(hit.payload.page_key)
    frame |= {hit.id for hit, text in repeated if len(pages[hit.payload.host, text]) >= MIN_REPEATS}
    return frozenset(frame)


def _is_of_the_frame(text: str, kind: str, context: Sequence[str]) -> bool:
    is_line = is_navigation(text, kind) or is_of_each_page(text) or is_line_of_contents(text, kind)
    return is_line or is_entry(text, kind, context) or has_only_addresses(text)


def weaken(found: Candidates, frame: Collection[UUID], sparse_floor: float | None) -> Candidates:
    """Return the lists with lower scores of these statements, nearer to the floor of their list, in the new order."""
    if not frame:
        return found
    return replace(found, dense=_weaken(found.dense, frame, None), sparse=_weaken(found.sparse, frame, sparse_floor))


def _weaken(hits: Sequence[Hit], frame: Collection[UUID], floor: float | None) -> tuple[Hit, ...]:
    lowest = min((hit.score for hit in hits), default=0.0) if floor is None else floor
    return tuple(sort_hits(_weakened(hits, frame, lowest)))


def _weakened(hits: Iterable[Hit], frame: Collection[UUID], lowest: float) -> Iterable[Hit]:
    for hit in hits:
        if hit.id in frame:
            weight = ENTRY_WEIGHT if hit.payload.entry else FRAME_WEIGHT
            yield replace(hit, score=lowest + weight * (hit.score - lowest))
        else:
            yield hit
