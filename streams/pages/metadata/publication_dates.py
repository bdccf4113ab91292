"""Finds the dates of a page (published, modified): in structured data, then in meta elements, then in visible text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.language.marks import is_closed
from streams.language.months import is_day_first
from streams.pages.metadata.items import Item, kinds, texts
from streams.pages.metadata.structured_data import OTHER_DATES
from streams.pages.parse.head import Head, labelled_lines
from streams.pages.parse.segments import Walk
from streams.pages.text.dates import is_ambiguous, iso_date, order_in
from streams.pages.text.language import language_tag

MAX_TIMES = 20
MAX_SEGMENTS = 5_000
"""Maximum texts of a page whose dates are compared."""
MAX_LINE_CHARS = 110
"""Maximum length (characters) of a visible line with a date."""

_PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "date", "dc.date", "dc.date.issued",
    "dcterms.created", "dcterms.date", "pubdate", "publishdate", "publish-date", "parsely-pub-date", "sailthru.date",
    "article.published", "citation_publication_date", "citation_date", "rnews:datepublished",
)  # fmt: skip
_MODIFIED = ("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified")


@dataclass(frozen=True)
class DateReader:
    """Reads the dates of one page. Day and month have the order of its other dates, or of its language."""

    page: Walk
    language: str
    """BCP 47, as declared; empty if it is not known."""
    until: str
    """The last possible day of the page's publication; empty if it is not known."""

    def read(self, text: str) -> str:
        """Return the first date in a short text as ISO date; empty if there is none."""
        return iso_date(text, day_first=is_ambiguous(text) and self._day_first)

    def first(self, values: Iterable[str]) -> str:
        """Return the first date that is not after `until`. A later date is the date of a future event."""
        until = self.until
        return next((date for value in values if (date := self.read(value)) and not (until and date[:10] > until)), "")

    @cached_property
    def _day_first(self) -> bool:
        found = order_in(segment.text for segment in self.page.segments[:MAX_SEGMENTS])
        return is_day_first(self.language) if found is None else found


def find_dates(
    tree: LexborHTMLParser,
    url: str,
    head: Head,
    page: Walk,
    kept: list[int],
    items: list[Item],
    page_type: str,
    others: set[str],
) -> tuple[str, str]:
    """Return the dates when the page was published and modified. `others`: dates (as written) of reviews and events."""
    itself = [item for item in items if page_type in kinds(item)]
    reader = DateReader(page, language_tag(head.language), head.until)
    published = (
        reader.first(_all_texts(items, "datePublished"))
        or reader.first(_metas(head, _PUBLISHED, others))
        or reader.first(_all_texts(itself, "dateCreated", "uploadDate"))
    )
    modified = reader.first(_all_texts(items, "dateModified"))
    modified = modified or reader.first(_metas(head, _MODIFIED, others))
    if not published:
        published, seen = _visible_dates(tree, head, url, page, kept, others, reader)
        modified = modified or seen
    elif not modified:
        modified = _lines_near(page, kept, others, reader)[1]
    return published, modified


def _all_texts(items: list[Item], *names: str) -> Iterator[str]:
    return (text for name in names for item in items if name in item for text in texts(item[name]))


def _metas(head: Head, names: tuple[str, ...], others: set[str]) -> list[str]:
    """Return the contents of these meta elements in the order of `names`, without the dates in `others`."""
    doubted = others if head.has_microdata else ()  # where a meta element may be a property of a review
    found = [
        (names.index(name), content)
        for name, content in head.metas
        if name in names and not (content in doubted and ":" not in name)
    ]
    return [content for _, content in sorted(found, key=lambda entry: entry[0])]


_NOT_BYLINE = re.compile(r"copyright|©|expire|deadline|event|upcoming", re.IGNORECASE)
_LABEL = re.compile(
    r"(?P<modified>\b(?:updated?|modified|revised|(?:last|medically|fact)[- ](?:reviewed|edited|checked|changed)|"
    r"aktualisiert|geändert|mis à jour|modifié|actualizad[oa]|modificad[oa]|aggiornat[oa]|atualizad[oa]|bijgewerkt|"
    r"gewijzigd|zaktualizowano|обновлено)\b|更新|修改)|"
    r"(?P<published>\b(?:published|posted|created|written|veröffentlicht|erschienen|publié|publicad[oa]|"
    r"pubblicat[oa]|gepubliceerd|geplaatst|opublikowano|опубликовано)\b|发布|發布|公開|投稿)",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"\b(?:since|joined|seit|beigetreten|depuis|inscrite? le|desde|se unió|iscritt[oa]|sinds|на сайте с)\b|注册于",
    re.IGNORECASE,
)
"""A label of the day from which something holds: that somebody is a member, that a house is open."""
_DIGIT = re.compile(r"\d")
"""A quick test, since each date has a digit."""
_MODIFIED_CLASS = re.compile(r"updated|modified", re.IGNORECASE)
_OTHER_PLACE = re.compile(r"comment|related|upcoming|event|review|recent", re.IGNORECASE)
_EVENT = re.compile(r"event|upcoming", re.IGNORECASE)
_OTHER_TAGS = frozenset({"nav", "footer"})
_IN_LINE = frozenset({"-text", "span", "b", "strong", "em", "i", "small", "label", "dt", "abbr"})
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?:/|-|$)")
NEAR_BEFORE = 8
NEAR_AFTER = 20
MAX_WORDS_BEFORE = 12
"""Maximum words before a date in a byline. Behind more it is the date of a reference."""
MAX_BYLINE_WORDS = 6
"""Maximum words of a line that ends as a sentence does and has the page's date without a label."""
MAX_LABEL_WORDS = 4
"""Maximum words of a label in a block of its own."""
MAX_BESIDE = 3
"""Maximum number of times or lines from the date of the publication to the date of an update."""
MAX_LEVELS_OF_LINE = 2
"""Maximum number of examined elements around a line with a date."""
MAX_LEVELS = 12
"""Maximum number of examined elements around a time element."""


def _visible_dates(
    tree: LexborHTMLParser, head: Head, url: str, page: Walk, kept: list[int], others: set[str], reader: DateReader
) -> tuple[str, str]:
    """Return the first visible dates near the top of the text: in a time element, a short line, the URL, by class."""
    published, modified = _times(tree, others, reader) if head.times else ("", "")
    if not published:
        published, seen = _lines_near(page, kept, others, reader)
        modified = modified or seen
    if not published and (dated := _URL_DATE.search(url)):
        published = reader.first(["-".join(dated.groups())])
    if not published and not modified:
        for before, text in labelled_lines(tree, "dated", MAX_TIMES, MAX_LINE_CHARS, _is_announced):
            if len(text) < 6 or _NOT_BYLINE.search(text) or len(before.split()) > MAX_WORDS_BEFORE:
                continue
            published, modified = _dates_in(text, reader)
            if published[:10] in others or text in others:  # the first of several reviews
                return "", ""
            if published or modified:
                break
    return published, modified


def _times(tree: LexborHTMLParser, others: set[str], reader: DateReader) -> tuple[str, str]:
    """Read the first time elements about the page itself. Menus have left the tree before."""
    published = modified = ""
    for number, node in enumerate(tree.css("time[datetime]")[:MAX_TIMES]):
        written = node.attributes.get("datetime") or ""
        date = reader.first([written])
        if not date or written in others or date[:10] in others or _is_of_other_subject(node):
            continue
        if any(_SINCE.search(text) for text in _texts_before(node)):
            continue
        if _is_modification(node):
            modified = modified or date
        elif not published:
            published = date
        if published and (modified or number + 1 >= MAX_BESIDE):
            break
    return published, modified


def _is_of_other_subject(node: LexborNode) -> bool:
    """Return whether a time is the time of an event, or is in a list, a comment or the like."""
    return (node.attributes.get("itemprop") or "") in OTHER_DATES or _is_in_place(node.parent, _OTHER_PLACE, MAX_LEVELS)


def _is_announced(node: LexborNode) -> bool:
    return _is_in_place(node, _EVENT, MAX_LEVELS_OF_LINE)


def _is_in_place(above: LexborNode | None, names: re.Pattern[str], levels: int) -> bool:
    """Return whether an element or one around it has such a name, or is a menu or footer."""
    for _ in range(levels):
        if above is None or above.tag in ("body", "main", "html"):
            return False
        if above.tag in _OTHER_TAGS or names.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _is_modification(node: LexborNode) -> bool:
    """Return whether a time is the time of a modification, by its class or the words before it on its line."""
    attributes = node.attributes
    named = f"{attributes.get('class') or ''} {attributes.get('itemprop') or ''}"
    if _MODIFIED_CLASS.search(named):
        return "publish" not in named
    for text in _texts_before(node):
        if labels := list(_LABEL.finditer(text)):
            return labels[-1].lastgroup == "modified"
    return False


def _texts_before(node: LexborNode) -> Iterator[str]:
    """Yield the ends of the texts before an element on its line, the nearest one first."""
    for start in (node, node.parent):
        before = start.prev if start is not None else None
        while before is not None and before.tag in _IN_LINE:
            yield before.text()[-MAX_LINE_CHARS:]
            before = before.prev


def _lines_near(page: Walk, kept: list[int], others: set[str], reader: DateReader) -> tuple[str, str]:
    """Return the dates in the first short lines with a date near the heading, but for code, data and sentences."""
    published = modified = doubtful = ""
    since = 0
    if not kept:
        return published, modified
    elements = page.elements()
    start = next((index for index in kept if page.tags[elements[index]] == "h1"), kept[0])
    first_line = max(start - NEAR_BEFORE, 0)
    for index, segment in enumerate(page.segments[first_line : start + NEAR_AFTER], first_line):
        text = segment.text
        is_short = 6 <= len(text) <= MAX_LINE_CHARS
        if is_short and _DIGIT.search(text) and text not in others and not _NOT_BYLINE.search(text):
            if not _may_hold_byline(page, segment.element, text):
                continue
            first, second = _dates_in(text, reader, _label_before(page, index))
            if first[:10] not in others:
                is_named = _LABEL.search(text) is not None
                if first and not is_named and (doubtful or _has_label(text)):
                    # Received, joined, held on, perhaps: a date that is named as the page's is better.
                    doubtful, first = doubtful or first, ""
                published, modified = published or first, modified or second
        since += bool(published)
        if since and (modified or since > MAX_BESIDE):
            break
    return published or doubtful, modified


def _has_label(line: str) -> bool:
    """Return whether a line begins with a label."""
    label, colon, rest = line.partition(":")
    return bool(colon) and rest[:1].isspace() and not _DIGIT.search(label)


def _may_hold_byline(page: Walk, element: int, text: str) -> bool:
    """Return whether a text with a date may be about the page: no code, no event, and no sentence without a label."""
    if page.tags[element] == "pre":
        return False
    above = element
    for _ in range(MAX_LEVELS_OF_LINE):
        if above <= 0 or page.tags[above] == "main":
            break
        if page.tags[above] in _OTHER_TAGS or _EVENT.search(page.attribute(above, "class")):
            return False
        above = page.parents[above]
    return not is_closed(text) or len(text.split()) <= MAX_BYLINE_WORDS or _LABEL.search(text) is not None


def _label_before(page: Walk, index: int) -> str:
    """Return the kind of date that the text before says, if it is only a label, such as `Last updated:`."""
    text = page.segments[index - 1].text if index else ""
    if len(text.split()) > MAX_LABEL_WORDS or _DIGIT.search(text):
        return "published"
    found = _LABEL.search(text)
    return str(found.lastgroup) if found else "since" if _SINCE.search(text) else "published"


def _dates_in(line: str, reader: DateReader, kind: str = "published") -> tuple[str, str]:
    """Return both dates of a line such as `Published March 1, 2024, updated May 2, 2024`.

    A date without a word in the line is of this `kind`. A date since which something holds is neither.
    """
    line = _SINCE.split(line, maxsplit=1)[0]
    if kind == "since" or not reader.read(line):
        return "", ""
    found = {"published": "", "modified": ""}
    start = 0
    for label in _LABEL.finditer(line):
        found[kind] = found[kind] or reader.first([line[start : label.start()]])
        kind, start = str(label.lastgroup), label.end()
    found[kind] = found[kind] or reader.first([line[start:]])
    return found["published"], found["modified"]
