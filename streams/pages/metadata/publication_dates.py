"""Finds the dates of a page (published, modified): in structured data, then in meta elements, then in visible text."""

import re
from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.metadata.items import Item, kinds, texts
from streams.pages.metadata.structured_data import OTHER_DATES
from streams.pages.parse.head import Head, labelled_lines
from streams.pages.parse.segments import Walk
from streams.pages.text.dates import iso_date

MAX_TIMES = 20
MAX_LINE_CHARS = 110
"""Maximum length (characters) of a visible line with a date."""

_PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "date", "dc.date", "dc.date.issued",
    "dcterms.created", "dcterms.date", "pubdate", "publishdate", "publish-date", "parsely-pub-date", "sailthru.date",
    "article.published", "citation_publication_date", "citation_date", "rnews:datepublished",
)  # fmt: skip
_MODIFIED = ("article:modified_time", "datemodified", "og:updated_time", "last-modified", "dcterms.modified")


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
    published = (
        _first_date(_all_texts(items, "datePublished"), head.until)
        or _first_date(_metas(head, _PUBLISHED, others), head.until)
        or _first_date(_all_texts(itself, "dateCreated", "uploadDate"), head.until)
    )
    modified = _first_date(_all_texts(items, "dateModified"), head.until)
    modified = modified or _first_date(_metas(head, _MODIFIED, others), head.until)
    if not published:
        published, seen = _visible_dates(tree, head, url, page, kept, others)
        modified = modified or seen
    elif not modified:
        modified = _lines_near(page, kept, others, head.until)[1]
    return published, modified


def _first_date(values: Iterable[str], until: str) -> str:
    """Return the first date that is not after `until` (if known). A later date is the date of a future event."""
    return next((date for value in values if (date := iso_date(value)) and not (until and date[:10] > until)), "")


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
_DIGIT = re.compile(r"\d")
"""A quick test, since each date has a digit."""
_MODIFIED_CLASS = re.compile(r"updated|modified", re.IGNORECASE)
_OTHER_PLACE = re.compile(r"comment|related|upcoming|event|review|recent", re.IGNORECASE)
_OTHER_TAGS = frozenset({"nav", "footer"})
_IN_LINE = frozenset({"-text", "span", "b", "strong", "em", "i", "small", "label", "dt", "abbr"})
_URL_DATE = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?:/|-|$)")
NEAR_BEFORE = 8
NEAR_AFTER = 20
MAX_WORDS_BEFORE = 12
"""Maximum words before a date in a byline. Behind more it is the date of a reference."""
MAX_BESIDE = 3
"""Maximum number of times or lines from the date of the publication to the date of an update."""
MAX_LEVELS = 12
"""Maximum number of examined elements around a time element."""


def _visible_dates(
    tree: LexborHTMLParser, head: Head, url: str, page: Walk, kept: list[int], others: set[str]
) -> tuple[str, str]:
    """Return the first visible dates near the top of the text: in a time element, a short line, the URL, by class."""
    published, modified = _times(tree, others, head.until) if head.times else ("", "")
    if not published:
        published, seen = _lines_near(page, kept, others, head.until)
        modified = modified or seen
    if not published and (dated := _URL_DATE.search(url)):
        published = _first_date(["-".join(dated.groups())], head.until)
    if not published and not modified:
        for before, text in labelled_lines(tree, "dated", MAX_TIMES, MAX_LINE_CHARS):
            if len(text) < 6 or _NOT_BYLINE.search(text) or len(before.split()) > MAX_WORDS_BEFORE:
                continue
            published, modified = _dates_in(text, head.until)
            if published[:10] in others or text in others:  # the first of several reviews
                return "", ""
            if published or modified:
                break
    return published, modified


def _times(tree: LexborHTMLParser, others: set[str], until: str) -> tuple[str, str]:
    """Read the first time elements about the page itself. Menus have left the tree before."""
    published = modified = ""
    for number, node in enumerate(tree.css("time[datetime]")[:MAX_TIMES]):
        written = node.attributes.get("datetime") or ""
        date = _first_date([written], until)
        if not date or written in others or date[:10] in others or _is_of_other_subject(node):
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
    if (node.attributes.get("itemprop") or "") in OTHER_DATES:
        return True
    above = node.parent
    for _ in range(MAX_LEVELS):
        if above is None or above.tag in ("body", "main", "html"):
            return False
        if above.tag in _OTHER_TAGS or _OTHER_PLACE.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _is_modification(node: LexborNode) -> bool:
    """Return whether a time is the time of a modification, by its class or the words before it on its line."""
    attributes = node.attributes
    named = f"{attributes.get('class') or ''} {attributes.get('itemprop') or ''}"
    if _MODIFIED_CLASS.search(named):
        return "publish" not in named
    for start in (node, node.parent):
        before = start.prev if start is not None else None
        while before is not None and before.tag in _IN_LINE:
            if labels := list(_LABEL.finditer(before.text()[-MAX_LINE_CHARS:])):
                return labels[-1].lastgroup == "modified"
            before = before.prev
    return False


def _lines_near(page: Walk, kept: list[int], others: set[str], until: str) -> tuple[str, str]:
    """Return the dates in the first short lines with a date near the heading."""
    published = modified = ""
    since = 0
    if not kept:
        return published, modified
    elements = page.elements()
    start = next((index for index in kept if page.tags[elements[index]] == "h1"), kept[0])
    for segment in page.segments[max(start - NEAR_BEFORE, 0) : start + NEAR_AFTER]:
        text = segment.text
        is_short = 6 <= len(text) <= MAX_LINE_CHARS
        if is_short and _DIGIT.search(text) and text not in others and not _NOT_BYLINE.search(text):
            first, second = _dates_in(text, until)
            if first[:10] not in others:
                published, modified = published or first, modified or second
        since += bool(published)
        if since and (modified or since > MAX_BESIDE):
            break
    return published, modified


def _dates_in(line: str, until: str) -> tuple[str, str]:
    """Return both dates of a line such as `Published March 1, 2024, updated May 2, 2024`.

    A date without a word is the date of the publication.
    """
    if not iso_date(line):
        return "", ""
    found = {"published": "", "modified": ""}
    kind, start = "published", 0
    for label in _LABEL.finditer(line):
        found[kind] = found[kind] or _first_date([line[start : label.start()]], until)
        kind, start = str(label.lastgroup), label.end()
    found[kind] = found[kind] or _first_date([line[start:]], until)
    return found["published"], found["modified"]
