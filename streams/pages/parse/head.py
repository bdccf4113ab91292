"""What stands in a page's head, or should: read in one pass, before anything is walked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime

from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.head_elements import markers

_JSON_TYPE = re.compile(r'"@type"\s*+:\s*+(?:\[\s*+)?"([A-Za-z]+)"')
_MICRODATA_TYPE = re.compile(r"""itemtype\s*=\s*["']?https?://schema\.org/([A-Za-z]+)""")
_ITEM_TYPE = "itemtype"
CLEAN_GENERATOR = "Riffle document 2"
DATA_TYPE = "application/vnd.riffle.document+json"
"""Of the script in which a document that was written out keeps what its text does not hold."""
FIRST_DAY = "2024-01-01"
"""A server whose clock is before it is wrong: nothing was fetched so long ago."""
MAX_META_CHARS = 5_000


def is_json_ld(kind: str) -> bool:
    """Of a script's type, in lower case, which may have parameters."""
    return kind.startswith("application/ld+json")


@dataclass(slots=True)
class Head:
    """The raw findings in a page's head."""

    title: str = ""
    base: str = ""
    language: str = ""
    metas: list[tuple[str, str]] = field(default_factory=list)
    """(name, property or itemprop in lower case, content), in order."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(rel in lower case, href, type)."""
    scripts: list[tuple[str, str]] = field(default_factory=list)
    """(type in lower case, text) of scripts that hold data."""
    breadcrumbs: list[str] = field(default_factory=list)
    """As the page shows them."""
    kinds: tuple[str, ...] = ()
    """Types that structured data and OpenGraph name, as written."""
    until: str = ""
    """The last day on which the page can have been published (ISO 8601); empty where that is not known."""
    times: list[str] = field(default_factory=list)
    """The datetime attributes of all time elements."""
    has_microdata: bool = False
    has_rdfa: bool = False
    has_drawn_math: bool = False
    """Somewhere KaTeX or MathJax drew a formula."""
    clean: bool = False
    """The page is a document of ours, written out by `streams.pages.document.to_html`."""

    @property
    def has_json_ld(self) -> bool:
        return any(is_json_ld(kind) for kind, _ in self.scripts)

    def meta(self, *names: str) -> str:
        """The first that is not empty, in the order of `names`."""
        for name in names:
            for found, content in self.metas:
                if found == name and content:
                    return content
        return ""


def read_head(tree: LexborHTMLParser) -> Head:
    """Title, base, language, meta and link elements, wherever they stand."""
    found = markers(tree)
    head = Head(has_microdata=found.has_microdata, has_rdfa=found.has_rdfa, has_drawn_math=found.has_drawn_math)
    root = tree.root
    if root is not None:
        head.language = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "").strip()
    for tag, *values in found.rows:
        _note(head, tag, *values)
    head.clean = head.meta("generator") == CLEAN_GENERATOR
    return head


def _note(head: Head, tag: str, one: str, two: str, three: str) -> None:
    """One marker; what the three values are is said in `streams.pages.parse.head_elements`."""
    if tag == "meta":
        if one and two:
            head.metas.append((one.strip().lower()[:100], " ".join(two[:MAX_META_CHARS].split())))
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
        head.title = " ".join(two[:MAX_META_CHARS].split())


def read_kinds(head: Head, html: str) -> tuple[str, ...]:
    """The types that JSON-LD, microdata and OpenGraph give the page, read without parsing them."""
    found = [head.meta("og:type")]
    for kind, text in head.scripts:
        if kind == "application/ld+json":
            found += _JSON_TYPE.findall(text)
    if head.has_microdata:
        found += _microdata_types(html)
    return tuple(dict.fromkeys(kind for kind in found if kind))


def _microdata_types(html: str) -> Iterator[str]:
    """What the pattern finds. A page is searched for its first word by str.find: ten times as fast."""
    at = html.find(_ITEM_TYPE)
    while at >= 0:
        found = _MICRODATA_TYPE.match(html, at)
        if found:
            yield found[1]
        at = html.find(_ITEM_TYPE, found.end() if found else at + len(_ITEM_TYPE))


def last_day(headers: Mapping[str, str]) -> str:
    """The day behind that of the fetch, as the server said: somewhere it is that day already. Not by our clock: what
    becomes of a page must not depend on when it is read again."""
    try:
        day = (parsedate_to_datetime(headers.get("date", "")) + timedelta(days=1)).date().isoformat()
    except (ValueError, OverflowError):
        return ""
    return day if day >= FIRST_DAY else ""
