"""Names of kept texts: a heading stays if anything below it stays, and so does a name whose description stays. Pure.

The model judges each text by itself, and a name of two words is doubtful beside a hundred links of two words. What it
names is not. Only the page's title, and headings that repeat it, are left to the model: all statements of the page have
it as context. The text that a heading names is below it, up to the next heading of its rank, in the part of the page
that the heading opens: a heading in a frame of its own says nothing about the text behind the frame.

A table of contents says these names a second time: a list, or a `nav`, of links to places on the page, most of which
are the text of a heading that is kept outside of such lists. The others stay, since nothing else says them, and so does
a list that describes its entries.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.lexicon import FLAGS
from streams.pages.content.segment_stats import SegmentStats
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.pairs import pairs_of
from streams.pages.parse.segments import Part, Walk

Indices = NDArray[np.int64]
Ranges = tuple[Sequence[int], Sequence[int]]
"""The first segment of each element, with all elements in it, and the end of its segments."""
MIN_FIRST_PROBABILITY = 0.1
"""Minimum probability of a heading before all kept text. The first heading of many pages is the name of the site."""
MAX_TITLES = 8
"""Maximum headings in the page's title that others are compared with."""
MIN_CONTENTS = 3
"""Minimum number of links of a table of contents."""
MIN_LINKS_INSIDE = 0.8
"""Minimum share of links to places on the page in the links of a table of contents."""
MIN_LINK_CHARS = 0.6
"""Minimum share of the characters in links of a table of contents: a list of notes with links back has less."""
MIN_HEADINGS_SHARE = 0.5
"""Minimum share of the texts of a table of contents that kept headings say."""
_LISTS = frozenset({"ul", "ol", "nav"})
_ROLES_OF_LISTS = frozenset({"doc-toc", "navigation"})
_NAMING = frozenset({*HEADINGS, "dt", "summary"})
_NUMBER = re.compile(r"[\W\d_]+")
"""The characters before the words of a heading: a number, a mark."""
_IS_TITLE = FLAGS["title"]
_LEVELS = {tag: level for level, tag in enumerate(HEADINGS, 1)}


def find_names(page: Walk, stats: SegmentStats, scores: NDArray[np.float32], kept: Indices) -> Indices:
    """Return the headings above kept texts, and the names of kept descriptions."""
    if not len(kept):
        return kept
    is_kept = np.zeros(len(page.segments) + 1, np.bool_)
    is_kept[kept] = True
    kept_before = np.concatenate([[0], np.cumsum(is_kept)]).tolist()
    ranges = page.ranges()
    first = int(kept[0])
    headings = list(_headings(page, ranges))
    titles = [page.segments[index].text for index, *_ in headings if stats.flags[index] & _IS_TITLE][:MAX_TITLES]
    found = [
        index
        for index, behind, end in headings
        if not is_kept[index]
        and kept_before[end] > kept_before[behind]
        and (index > first or scores[index] >= MIN_FIRST_PROBABILITY)
        and not any(title in page.segments[index].text for title in titles)
    ]
    found += _names_of_parts(pairs_of(page), ranges, kept_before)
    return np.array(sorted(found), np.int64)


def _headings(page: Walk, ranges: Ranges) -> Iterator[tuple[int, int, int]]:
    """Yield each heading with the texts that it names: the first one, and the end."""
    (first, end), tags, parents = ranges, page.tags, page.parents
    levels = [_LEVELS.get(tags[segment.element], 0) for segment in page.segments]
    texts = np.cumsum([0, *(not level for level in levels)]).tolist()
    open_headings: list[int] = []
    ends = [len(levels)] * len(levels)
    for index, level in enumerate(levels):
        while level and open_headings and levels[open_headings[-1]] >= level:
            ends[open_headings.pop()] = index
        if level:
            open_headings.append(index)
    holders: dict[int, int] = {0: 0}
    for index, level in enumerate(levels):
        if level:
            path, holder = list[int](), page.segments[index].element
            while holder not in holders and texts[end[holder]] == texts[first[holder]]:
                path.append(holder)
                holder = parents[holder]
            holder = holders.setdefault(holder, holder)
            holders.update(dict.fromkeys(path, holder))
            yield index, index + 1, min(ends[index], end[holder])


def _names_of_parts(parts: Mapping[int, Part], ranges: Ranges, kept_before: Sequence[int]) -> Iterator[int]:
    """Yield the names whose description is kept: it is the next part of their group."""
    firsts, ends = ranges
    elements = sorted(parts)
    name = -1
    for element in sorted(elements, key=lambda element: (firsts[element], parts[element].tag == "dd")):
        first, end = firsts[element], ends[element]
        if parts[element].tag == "dt":
            name = first
        elif name >= 0:
            is_left = kept_before[name + 1] == kept_before[name]
            if is_left and kept_before[end] > kept_before[max(first, name + 1)]:
                yield name
            name = -1


def find_tables_of_contents(page: Walk, stats: SegmentStats, kept: Indices) -> Indices:
    """Return the texts of the page's tables of contents that kept headings say, with the name of a whole table.

    A heading inside such a list is no other place that says the text: the list may be the page's content.
    """
    none = len(page.segments)
    inside = Counter(index for href, _, _, index, _ in page.links if 0 <= index < none and href in page.places)
    if inside.total() < MIN_CONTENTS:
        return kept[:0]
    tables = list(_lists_of_places(page, inside))
    in_tables = {index for texts in tables for index in texts}
    naming = {
        _bare(page.segments[index].text)
        for index in kept.tolist()
        if index not in in_tables and page.tags[page.segments[index].element] in _NAMING
    }
    found = {index for texts in tables for index in _repeated_texts(page, texts, naming)}
    levels = (index for index, segment in enumerate(page.segments) if page.tags[segment.element] in HEADINGS)
    found.discard(next(levels, -1))
    return np.array([at for at in kept.tolist() if at in found and not stats.flags[at] & _IS_TITLE], np.int64)


def _lists_of_places(page: Walk, inside: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield the texts of each list that has little but links to places on the page, which are counted by text."""
    lists, segments = _outermost_lists(page), page.segments
    groups: dict[int, list[int]] = {}
    for index, segment in enumerate(segments):
        if lists[segment.element] >= 0:
            groups.setdefault(lists[segment.element], []).append(index)
    for texts in groups.values():
        links, chars = sum(segments[index].links for index in texts), sum(len(segments[index].text) for index in texts)
        if (
            links >= MIN_CONTENTS
            and sum(inside.get(index, 0) for index in texts) >= MIN_LINKS_INSIDE * links
            and sum(segments[index].link_chars for index in texts) >= MIN_LINK_CHARS * chars
        ):
            yield texts


def _repeated_texts(page: Walk, texts: Sequence[int], naming: Collection[str]) -> list[int]:
    """Return the texts of a list that these headings say, and its title if that is all of it.

    A text without a link behind the first one describes an entry, which then stays as its name: so does the list.
    """
    segments = page.segments
    first = next(at for at, index in enumerate(texts) if segments[index].links)
    repeated = [index for index in texts if _bare(segments[index].text) in naming]
    own = {*texts}.difference(repeated)
    if len(own) > (1 - MIN_HEADINGS_SHARE) * len(texts) or any(
        index in own and not segments[index].links for index in texts[first:]
    ):
        return []
    if any(segments[index].links for index in own):
        return repeated
    return [*texts, texts[0] - 1] if _names_only(page, texts) else [*texts]


def _names_only(page: Walk, texts: Sequence[int]) -> bool:
    """Return whether the heading before these texts names nothing else: a heading of its rank or above is behind."""
    before, behind = (
        _LEVELS.get(page.tags[page.segments[at].element], 0) if 0 <= at < len(page.segments) else 0
        for at in (texts[0] - 1, texts[-1] + 1)
    )
    return 0 < behind <= before


def _outermost_lists(page: Walk) -> list[int]:
    """Return the outermost list around each element, or -1."""
    roles = {element for element, role in page.named("role").items() if role in _ROLES_OF_LISTS}
    found = [-1] * len(page.tags)
    for element in range(1, len(found)):
        above = found[page.parents[element]]
        found[element] = above if above >= 0 else element if page.tags[element] in _LISTS or element in roles else -1
    return found


def _bare(text: str) -> str:
    """Return a heading in lower case, without its number. One that is all number stays as it is."""
    number = _NUMBER.match(text)
    return (text[number.end() if number else 0 :] or text).lower()
