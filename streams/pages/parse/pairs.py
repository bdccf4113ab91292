"""Names with descriptions that are written side by side without a `dl`: grids of divs, rows of two parts, `details`.

They are known by their structure, whatever their classes are. Elements side by side repeat one shape: rows of two
parts each, or a name and a description in turn. A name is one short text, and most descriptions are longer, and no
links. `summary` names the rest of its `details` by itself. Headings name what is below them, and rows of tables and
items of lists are read by their own rules, so these are no names here. In the document such a group is a `dl`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from streams.language.marks import QUESTION_MARKS, is_closed
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.segments import Part, Walk

MIN_ROWS = 2
MAX_NAME_WORDS = 8
MAX_QUESTION_WORDS = 25
"""Maximum words of a name that is a question."""
MAX_WORDS = 60
"""Maximum words of a description. Longer ones are parts of a page, such as posts below the names of their authors."""
MAX_ANSWER_WORDS = 250
"""Maximum words of an answer to a question, and of what a `details` shows."""
MAX_LINK_SHARE = 0.5
"""Maximum share of links in the characters of the descriptions of a group."""
MIN_LONGER_SHARE = 0.5
"""Minimum share of the rows of a group whose description has more words than the name, or whose name has a colon. Where
the class of all names is another than the class of all descriptions, no row has to."""
_ROWS = frozenset({"div", "section", "p", "span", "button", "summary", "article"})
_WITH_OWN_RULES = frozenset({"table", "tr", "ul", "ol", "dl"})
_NONE: Sequence[int] = ()
_GOES_ON = (";", ",")


class _Texts:
    """The texts of each element, with the texts of the elements inside."""

    def __init__(self, page: Walk) -> None:
        self.first, self._end = page.ranges()
        """The first segment of each element, and the end of its segments."""
        self._behind = page.ends()
        segments, tags = page.segments, page.tags
        self._words = [0, *accumulate(segment.words for segment in segments)]
        self._chars = [0, *accumulate(len(segment.text) for segment in segments)]
        self._link_chars = [0, *accumulate(segment.link_chars for segment in segments)]
        self._headings = [0, *accumulate(tag in HEADINGS and end > 0 for tag, end in zip(tags, self._end, strict=True))]
        self.children: dict[int, list[int]] = {}
        """The children with texts, of each element that has any."""
        for element, above in enumerate(page.parents):
            if element and self._end[element]:
                self.children.setdefault(above, []).append(element)
        self.own: dict[int, list[int]] = {}
        """The element's own segments, if it has any."""
        for index, segment in enumerate(segments):
            self.own.setdefault(segment.element, []).append(index)

    def segments(self, element: int) -> int:
        return self._end[element] - self.first[element]

    def words(self, element: int) -> int:
        return self._words[self._end[element]] - self._words[self.first[element]]

    def chars(self, element: int) -> int:
        return self._chars[self._end[element]] - self._chars[self.first[element]]

    def link_chars(self, element: int) -> int:
        return self._link_chars[self._end[element]] - self._link_chars[self.first[element]]

    def headings(self, element: int) -> int:
        return self._headings[self._behind[element]] - self._headings[element]


@dataclass(frozen=True, slots=True)
class _Row:
    name: int
    described: int
    shape: tuple[object, ...]


def pairs_of(page: Walk) -> Mapping[int, Part]:
    """Return the names and descriptions of a page by their elements. They are found once."""
    if page.parts is None:
        page.parts = _find_pairs(page)
    return page.parts


def _find_pairs(page: Walk) -> dict[int, Part]:
    found: dict[int, Part] = {}
    texts, has_details = _Texts(page), "details" in page.tags
    for element in sorted(texts.children):
        children = texts.children[element]
        if page.tags[element] in _WITH_OWN_RULES:
            continue
        rows = _details_of(page, texts, children) if has_details else []
        if len(children) >= MIN_ROWS:
            rows += _rows_of(page, texts, children) or _turns_of(page, texts, element)
        for group in rows:
            for row in group:
                if row.name not in found and row.described not in found:
                    found[row.name] = Part("dt", group[0].name, element)
                    found[row.described] = Part("dd", group[0].name, element)
    return found


def _details_of(page: Walk, texts: _Texts, children: Sequence[int]) -> list[list[_Row]]:
    """Return the groups of `details` that follow each other, except for those with headings and long ones."""
    groups: list[list[_Row]] = []
    before = -1
    for place, element in enumerate(children):
        if page.tags[element] != "details":
            continue
        inside = texts.children.get(element, _NONE)
        if not inside or page.tags[inside[0]] != "summary":
            continue
        described = texts.words(element) - texts.words(inside[0])
        if texts.headings(element) or not 0 < described <= MAX_ANSWER_WORDS:
            continue
        row = _Row(inside[0], element, ())
        if groups and before == place - 1:
            groups[-1].append(row)
        else:
            groups.append([row])
        before = place
    return groups


def _rows_of(page: Walk, texts: _Texts, children: Sequence[int]) -> list[list[_Row]]:
    """Return the groups of rows, each a child with two parts."""
    rows = [_row_of(page, texts, child) for child in children]
    if len(rows) - rows.count(None) < MIN_ROWS:
        return []
    return [group for group in _runs(rows) if _is_group(page, texts, group)]


def _row_of(page: Walk, texts: _Texts, element: int) -> _Row | None:
    outer = page.tags[element]
    own, children = texts.own.get(element, _NONE), texts.children.get(element, _NONE)
    while not own and len(children) == 1:
        element = children[0]
        own, children = texts.own.get(element, _NONE), texts.children.get(element, _NONE)
    if page.tags[element] not in _ROWS or len(own) + len(children) != 2 or not children:
        return None
    if own:
        described = children[0]
        if own[0] > texts.first[described]:
            return None
        return _Row(element, described, (outer, page.tags[element], page.tags[described]))
    name, described = children
    return _Row(name, described, (outer, page.tags[element], page.tags[name], page.tags[described]))


def _turns_of(page: Walk, texts: _Texts, element: int) -> list[list[_Row]]:
    """Return the group of an element whose children are names and descriptions in turn."""
    children = texts.children[element]
    if len(children) < 2 * MIN_ROWS or len(children) % 2 or element in texts.own:
        return []
    kinds = [(page.tags[child], page.attribute(child, "class"), page.attribute(child, "role")) for child in children]
    if len({*kinds[::2]}) > 1 or len({*kinds[1::2]}) > 1 or kinds[0] == kinds[1]:
        return []
    rows = [_Row(*pair, ()) for pair in zip(children[::2], children[1::2], strict=True)]
    return [rows] if _is_group(page, texts, rows) else []


def _runs(rows: Sequence[_Row | None]) -> Iterator[list[_Row]]:
    run: list[_Row] = []
    for row in [*rows, None]:
        if run and (row is None or row.shape != run[0].shape):
            yield run
            run = []
        if row is not None:
            run.append(row)


def _is_group(page: Walk, texts: _Texts, rows: Sequence[_Row]) -> bool:
    if len(rows) < MIN_ROWS:
        return False
    names = [_name_of(page, texts, row) for row in rows]
    if not all(names) or 2 * len({*names}) < len(names):
        return False
    described = [texts.words(row.described) for row in rows]
    most = MAX_ANSWER_WORDS if all(name.endswith(QUESTION_MARKS) for name in names) else MAX_WORDS
    if any(texts.headings(row.described) for row in rows) or max(described) > most:
        return False
    pairs = zip(described, names, strict=True)
    longer = sum(words > len(name.split()) or name.endswith((":", "：")) for words, name in pairs)
    chars = sum(texts.chars(row.described) for row in rows)
    links = sum(texts.link_chars(row.described) for row in rows)
    are_different = _are_different(page, rows) or longer >= MIN_LONGER_SHARE * len(rows)
    return are_different and links <= MAX_LINK_SHARE * chars


def _are_different(page: Walk, rows: Sequence[_Row]) -> bool:
    """Return whether the page has one class for the names of a group, and another one for the descriptions."""
    names = {page.attribute(row.name, "class") for row in rows}
    described = {page.attribute(row.described, "class") for row in rows}
    return len(names) == len(described) == 1 and names != described and "" not in names | described


def _name_of(page: Walk, texts: _Texts, row: _Row) -> str:
    """Return the text of a name; empty if it is none."""
    is_around = page.parents[row.described] == row.name
    count = len(texts.own.get(row.name, _NONE)) if is_around else texts.segments(row.name)
    if count != 1 or texts.headings(row.name):
        return ""
    text = page.segments[texts.first[row.name]].text
    most = MAX_QUESTION_WORDS if text.endswith(QUESTION_MARKS) else MAX_NAME_WORDS
    is_sentence = is_closed(text) and not text.endswith((*QUESTION_MARKS, ":", "："))
    return "" if len(text.split()) > most or is_sentence or text.endswith(_GOES_ON) else text
