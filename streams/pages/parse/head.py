"""The head elements of a page: its declarations about itself, wherever the elements are in the page.

Lines with a label (date or author) are found, too, by class, role or Microdata.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.document.model import CLEAN_GENERATOR, SignIn
from streams.pages.parse.link_resolver import SELECTOR as WAYS_ON
from streams.pages.parse.link_resolver import Ways
from streams.pages.parse.sign_in import SELECTOR as SIGN_IN_FIELDS
from streams.pages.parse.sign_in import is_sign_in_field, place_of_field
from streams.pages.text.normal_forms import remove_invisible

# One query for all, because the time of each query grows with the tree.
_SELECTOR = (
    'title, base, meta, link, script[type*="json" i], time[datetime], [itemprop], [typeof], '
    f'.katex-html, .MathJax_Preview, mjx-container, script[type^="math/tex" i], {WAYS_ON}, {SIGN_IN_FIELDS}'
)
_SPACES = re.compile(r"[ \t\n\f\r]++")
_DRAWN = frozenset({"katex-html", "MathJax_Preview"})
Label = Literal["dated", "named"]
LABELLED: dict[Label, str] = {
    "dated": '[class*="date"], [class*="published"], [class*="timestamp"], [class*="posted"], [class*="meta"]',
    "named": '[itemprop="author"], [rel="author" i], [class*="author"], [class*="byline"], [class*="username"]',
}
_JSON_TYPE = re.compile(r'"@type"\s*+:\s*+(?:\[\s*+)?"([A-Za-z]++)"')
_MICRODATA_TYPE = re.compile(r"""itemtype\s*+=\s*+["']?https?://schema\.org/([A-Za-z]++)""")
_ITEM_TYPE = "itemtype"
FIRST_DAY = "2024-01-01"
"""The earliest credible date of a response. A server with an earlier date has a wrong clock."""
MAX_META_CHARS = 5_000
"""Maximum length of a title or meta element's content that is read (characters)."""


@dataclass(slots=True)
class HeadElements:
    """The head elements in the page's order, as written."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    """The element's name and three values:

    - title: "", text, ""; only the first with more than spaces
    - base: href, "", ""
    - meta: the first of name, property and itemprop; content; http-equiv
    - link: rel, href, type
    - script with JSON: type, text, ""
    - time: datetime, "", ""
    """
    ways: Ways = field(default_factory=Ways)
    has_microdata: bool = False
    has_rdfa: bool = False
    has_drawn_math: bool = False
    """True if KaTeX or MathJax drew a formula anywhere in the page."""
    sign_in: SignIn = ""
    """The place of a field to sign in with: `form` if one is in the page's content."""


def head_elements(tree: LexborHTMLParser) -> HeadElements:
    """Find all head elements of a page in one query."""
    found, has_title = HeadElements(), False
    for node in _each(tree, _SELECTOR):
        tag, attributes = node.tag or "", node.attributes
        found.has_microdata = found.has_microdata or "itemprop" in attributes
        found.has_rdfa = found.has_rdfa or "typeof" in attributes
        found.has_drawn_math = found.has_drawn_math or _is_drawn_math(tag, attributes)
        found.ways.add(node, tag, attributes)
        if tag == "input" and found.sign_in != "form" and is_sign_in_field(attributes):
            found.sign_in = place_of_field(node)
        if tag == "title" and has_title:
            continue
        if row := _row(tag, attributes, node):
            has_title = has_title or tag == "title"
            found.rows.append((tag, *row))
    return found


def _each(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return each element once. The parser returns it once for each part of the selector that matches."""
    return list({node.mem_id: node for node in tree.css(selector)}.values())


def _is_drawn_math(tag: str, attributes: dict[str, str | None]) -> bool:
    if tag == "mjx-container" or (tag == "script" and (attributes.get("type") or "").lower().startswith("math/tex")):
        return True
    classes = attributes.get("class") or ""
    return any(map(classes.__contains__, _DRAWN)) and not _DRAWN.isdisjoint(_SPACES.split(classes))


def _row(tag: str, attributes: dict[str, str | None], node: LexborNode) -> tuple[str, str, str] | None:
    def value(*names: str) -> str:
        return next((found for name in names if (found := attributes.get(name))), "")

    match tag:
        case "title":
            drawn = node.parent is not None and node.parent.tag == "svg"
            return ("", text, "") if not drawn and (text := node.text()).strip() else None
        case "base":
            return value("href"), "", ""
        case "meta":
            return value("name", "property", "itemprop"), value("content"), value("http-equiv")
        case "link":
            return value("rel"), value("href"), value("type")
        case "script":
            return (value("type"), node.text(), "") if "json" in value("type").lower() else None
        case "time":
            return (value("datetime"), "", "") if "datetime" in attributes else None
    return None


_INLINE = frozenset({"a", "span", "b", "i", "em", "strong", "cite", "small", "abbr", "acronym", "-text"})
"""Elements within a line, and text."""
_MAX_DEPTH, _MAX_SIBLINGS = 4, 32
"""Maximum inline elements around a labelled one, and before each of them, whose text is looked at."""


def labelled_lines(
    tree: LexborHTMLParser,
    label: Label,
    count: int,
    max_chars: int,
    is_other: Callable[[LexborNode], bool] | None = None,
) -> list[tuple[str, str]]:
    """Return the text of the first `count` elements with a label, and before it the text that begins their line.

    Elements with a text longer than `max_chars` are left out, and those for which `is_other` is true.
    """
    found = (node for node in _each(tree, LABELLED[label])[:count] if not (is_other and is_other(node)))
    lines = ((node, " ".join(node.text(separator=" ").split())) for node in found)
    return [(_text_before(node), line) for node, line in lines if len(line) <= max_chars]


def _text_before(node: LexborNode) -> str:
    """Return the text before an element in its line, or its end if that is long. A block begins a line itself."""
    parts: list[str] = []
    for _ in range(_MAX_DEPTH):
        before = node.prev if node.tag in _INLINE else None
        while before is not None and before.tag in _INLINE and len(parts) < _MAX_SIBLINGS:
            parts.append(before.text(separator=" "))
            before = before.prev
        if before is not None or node.tag not in _INLINE or node.parent is None:
            break
        node = node.parent
    return " ".join(reversed(parts))


def is_json_ld(kind: str) -> bool:
    """Return whether a script's type is JSON-LD. The type is in lower case and may have parameters."""
    return kind.startswith("application/ld+json")


@dataclass(slots=True)
class Head:
    """The head elements of a page, as written."""

    title: str = ""
    base: str = ""
    language: str = ""
    metas: list[tuple[str, str]] = field(default_factory=list)
    """Pairs (name, property or itemprop in lower case; content), in order."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """Tuples (rel in lower case, href, type)."""
    scripts: list[tuple[str, str]] = field(default_factory=list)
    """Pairs (type in lower case, text) of scripts with data."""
    breadcrumbs: list[str] = field(default_factory=list)
    """The texts of the links in the page's breadcrumb menu."""
    ways: Ways = field(default_factory=Ways)
    """The ways on from the page, besides the links in its text."""
    kinds: tuple[str, ...] = ()
    """Types of the page in structured data and OpenGraph, as written."""
    until: str = ""
    """The last possible day of the page's publication (ISO 8601); empty if it is not known."""
    times: list[str] = field(default_factory=list)
    """The datetime attributes of all time elements."""
    has_microdata: bool = False
    has_rdfa: bool = False
    has_drawn_math: bool = False
    """True if KaTeX or MathJax drew a formula anywhere in the page."""
    clean: bool = False
    """True if `document.to_html` wrote the page."""
    sign_in: SignIn = ""
    """The place of a field to sign in with."""

    @property
    def has_json_ld(self) -> bool:
        return any(is_json_ld(kind) for kind, _ in self.scripts)

    def meta(self, *names: str) -> str:
        """Return the first content that is not empty, in the order of `names`."""
        for name in names:
            for found, content in self.metas:
                if found == name and content:
                    return content
        return ""


def read_head(tree: LexborHTMLParser) -> Head:
    """Read the head elements of a page."""
    found = head_elements(tree)
    head = Head(
        ways=found.ways,
        has_microdata=found.has_microdata,
        has_rdfa=found.has_rdfa,
        has_drawn_math=found.has_drawn_math,
        sign_in=found.sign_in,
    )
    root = tree.root
    if root is not None:
        head.language = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "").strip()
    for tag, *values in found.rows:
        _add(head, tag, *values)
    head.clean = head.meta("generator") == CLEAN_GENERATOR
    return head


def _add(head: Head, tag: str, one: str, two: str, three: str) -> None:
    """Add one element. The meaning of its three values is in `HeadElements`."""
    if tag == "meta":
        if one and two:
            head.metas.append((one.strip().lower()[:100], " ".join(remove_invisible(two[:MAX_META_CHARS]).split())))
        elif two and three.lower() == "content-language":
            head.language = head.language or two.strip()
    elif tag == "link":
        if two:
            head.links.append((one.lower(), two, three))
    elif tag == "script":
        head.scripts.append((one.strip().lower(), two))
    elif tag == "time":
        head.times.append(one)
    elif tag == "base":
        head.base = head.base or one.strip()
    elif not head.title:
        head.title = " ".join(remove_invisible(two[:MAX_META_CHARS]).split())


def read_kinds(head: Head, html: str) -> tuple[str, ...]:
    """Find the page's types in JSON-LD, Microdata and OpenGraph, without parsing them."""
    found = [head.meta("og:type")]
    for kind, text in head.scripts:
        if kind == "application/ld+json":
            found += _JSON_TYPE.findall(text)
    if head.has_microdata:
        found += _microdata_types(html)
    return tuple(dict.fromkeys(kind for kind in found if kind))


def _microdata_types(html: str) -> Iterator[str]:
    """Find types of Microdata. `str.find` looks for the attribute first, which is ten times as fast as the pattern."""
    at = html.find(_ITEM_TYPE)
    while at >= 0:
        found = _MICRODATA_TYPE.match(html, at)
        if found:
            yield found[1]
        at = html.find(_ITEM_TYPE, found.end() if found else at + len(_ITEM_TYPE))


def last_day(headers: Mapping[str, str]) -> str:
    """Return the day after the fetch, by the date of the response: in some time zone it is that day already.

    The clock of this machine is not used, so that a replay gives the same document.
    """
    try:
        day = (parsedate_to_datetime(headers.get("date", "")) + timedelta(days=1)).date().isoformat()
    except (ValueError, OverflowError):
        return ""
    return day if day >= FIRST_DAY else ""
