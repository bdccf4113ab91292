"""Chooses a page's title, without the name of its site.

A declared title, such as `Middleware | Django documentation`, has parts. A heading of the content that is one of them
is the title. The name of the site is what stands there otherwise: the name that the metadata says, the host's name, and
the text of a link or heading that leads upwards, to the home page or the contents. Without any of these signs, a last
part that is short is the site's name.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from streams.crawl.urls import host_of
from streams.pages.formats.converted import title_of_url
from streams.pages.metadata.items import Item, texts
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.segments import Walk

_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\u0e00-\u0e7f"
"""Letters of scripts that put no spaces around a separator."""
_SEPARATOR = re.compile(rf"\s+[|\-–—:·•»«›‹/~_]+\s+|\s*[|｜]\s*|\s+::\s+|(?<=[{_UNSPACED}])_+|_+(?=[{_UNSPACED}])")
_CLOSE = re.compile(rf"[_｜|:：·–—－]|(?<=[{_UNSPACED}])-|-(?=[{_UNSPACED}])")
"""A separator between a title and a known site name, without a space."""
_ENDS = r"[\s|｜\-–—－:：·•»«›‹/~_]+"
_BEGINNING, _ENDING = re.compile(f"^{_ENDS}"), re.compile(f"{_ENDS}$")
_CLOSED = ("｜", "_")
"""Separators after which only site names follow, even long ones."""
_WORD = re.compile(r"\w+")
MAX_HEADING_CHARS = 250
MAX_HEADINGS = 40
"""Maximum number of a page's first headings that are compared with its declared titles."""
MAX_PARTS = 8
"""Maximum number of parts of a title."""
AGREEMENT = 0.25
"""Minimum similarity (Jaccard, of words) of a heading and a declared title, for the heading to be the title."""
AGREEMENT_OF_ONE = 0.5
"""The same for one of several headings, most of which are titles of parts of the page."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The texts that a page declares as its title and its site."""

    title: str
    card_title: str
    site_name: str
    written: Sequence[Item] = ()
    """The items of structured data that are the page's text."""

    def claims(self) -> list[str]:
        """Return the declared titles, the most trustworthy first."""
        headline = next((text for item in self.written for text in texts(item.get("headline"))), "")
        return [claim for claim in (self.card_title, self.title, headline) if claim]


def choose_title(declared: Declared, page: Walk, kept: Sequence[int], resolver: Resolver) -> str:
    """Choose a heading that is a part of a declared title or similar to it; else the declared title without the site.

    `kept` are the segments of the main content.
    """
    claims = declared.claims()
    parts = [part for claim in claims for part in _SEPARATOR.split(claim)[:MAX_PARTS]]
    names = _Names(declared.site_name, _names_above(page, {_plain(part) for part in parts}, resolver), resolver.url)
    headings = [heading for heading in _headings(page, kept) if not names.has(heading.text)]
    runs = {run for claim in claims for run in _runs(claim)}
    if named := [heading for heading in headings if heading.may_be_title and _plain(heading.text) in runs]:
        # The last, if several are: the name of the site comes before the title.
        return ([heading for heading in named if heading.is_kept] or named)[-1].text
    shorter = [rest for claim in claims if (rest := _without_brackets(names.removed_from(claim), headings))]
    main = _main(headings)
    best = max(main[:4], key=lambda text: _similarity(text, shorter), default="")
    if best and (not shorter or _similarity(best, shorter) >= (AGREEMENT if len(main) == 1 else AGREEMENT_OF_ONE)):
        return next((claim for claim in shorter if _is_glued(best, claim)), best)
    return next(iter(shorter), best) or title_of_url(resolver.url)


def _without_brackets(title: str, headings: "Sequence[_Heading]") -> str:
    """Return a title without brackets at its end that a heading lacks: `ArchUtils (Lang 3.12 API)`, `Class ArchUtils`.

    A manual writes its name there.
    """
    before, opened, within = title.partition(" (")
    own = _plain(before)
    if not opened or not within.endswith(")") or not own:
        return title
    texts = (f" {_plain(heading.text)} " for heading in headings if heading.may_be_title)
    return before if any(f" {own} " in text for text in texts) else title


def remove_site_name(title: str, site_name: str) -> str:
    """Remove the site's name: `Moon landing | The Daily` -> `Moon landing`, if it is known, or the last part short."""
    parts = _SEPARATOR.split(title)
    site = _words(site_name)
    if site and len(parts) > 1:
        for index in (-1, 0):
            own = _words(parts[index])
            if own and (own <= site or site <= own) and len(own) <= len(site) + 2:
                return _remove_part(title, parts, index)
    if site and (rest := _remove_unspaced_name(title.strip(), site_name.strip())):
        return rest
    if len(parts) < 2:
        return title.strip()
    last = parts[-1]
    others = len(title) - len(last)
    is_short = len(last) <= others * 1.5 if title[:others].endswith(_CLOSED) else len(last) * 1.5 < others
    if len(last.split()) <= 4 and is_short and not last[:1].islower():  # no name begins with a small letter
        return _remove_part(title, parts, -1)
    return title.strip()


def _remove_unspaced_name(title: str, site_name: str) -> str:
    """Remove a known name without a space before the separator: `The Daily: Moon landing` -> `Moon landing`."""
    if title.startswith(site_name) and _CLOSE.match(title, len(site_name)):
        return _BEGINNING.sub("", title[len(site_name) :])
    if title.endswith(site_name):
        before = title.removesuffix(site_name).rstrip()
        if before and _CLOSE.match(title, len(before) - 1):
            return _ENDING.sub("", before)
    return ""


def _remove_part(title: str, parts: list[str], index: int) -> str:
    """Remove the first or last part of a title. Other separators are kept."""
    if index == -1:
        rest = title[: title.rindex(parts[-1])]
        return _ENDING.sub("", rest)
    rest = title[len(parts[0]) :]
    return _BEGINNING.sub("", rest)


class _Names:
    """The names of a page's site and of what is above the page."""

    def __init__(self, site_name: str, above: frozenset[str], url: str) -> None:
        self._site_name = site_name
        self._above = above
        self._host = host_of(url).removeprefix("www.")
        self._is_home = urlsplit(url).path in ("", "/")

    def has(self, text: str) -> bool:
        """Return whether a text is such a name and nothing else. The name of a home page is its title."""
        return not self._is_home and (_plain(text) in self._above or self._is_site(text))

    def removed_from(self, title: str) -> str:
        """Return a title without the names at its ends; without any, without a short last part."""
        rest = title
        while not self._is_home and len(parts := _SEPARATOR.split(rest)) > 1:
            last = self.has(parts[-1])
            if not last and not self._is_site(parts[0]):
                break
            rest = _remove_part(rest, parts, -1 if last else 0)
        return remove_site_name(title, self._site_name) if rest == title else rest.strip()

    def _is_site(self, text: str) -> bool:
        """Return whether a text is the declared name or the host's: `Blue Collar Tools` of bluecollartools.com."""
        plain = _plain(text)
        joined = plain.replace(" ", "")
        is_of_host = len(joined) > 2 and (joined == self._host.replace(".", "") or joined in self._host.split("."))
        return is_of_host or (plain != "" and plain == _plain(self._site_name))


@dataclass(frozen=True, slots=True)
class _Heading:
    tag: str
    text: str
    is_kept: bool
    may_be_title: bool
    """True for an h1, for the first other heading of the content, and for an h2 before the content."""


def _headings(page: Walk, kept: Sequence[int]) -> list[_Heading]:
    """Return the first headings of the page, in its order."""
    tags, own = page.tags, frozenset(kept)
    found = (
        (index, segment)
        for index, segment in enumerate(page.segments)
        if tags[segment.element] in HEADINGS and len(segment.text) <= MAX_HEADING_CHARS
    )
    headings = []
    start = min(own, default=len(page.segments))
    is_above = True
    for index, segment in islice(found, MAX_HEADINGS):
        tag, is_kept = tags[segment.element], index in own
        may_be_title = tag == "h1" or (is_kept and is_above) or (tag == "h2" and index < start)
        headings.append(_Heading(tag, segment.text, is_kept, may_be_title))
        is_above = is_above and (not is_kept or tag == "h1")
    return headings


def _main(headings: Sequence[_Heading]) -> list[str]:
    """Return the texts of the h1, first the content's; without any, of the first h2 of the content."""
    found = [heading for heading in headings if heading.tag == "h1"]
    if not found:
        found = [heading for heading in headings if heading.tag == "h2" and heading.is_kept][:1]
    return [heading.text for heading in sorted(found, key=lambda heading: not heading.is_kept)]


def _runs(title: str) -> Iterator[str]:
    """Yield the words of each part of a title, and of parts beside each other."""
    parts = [plain for part in _SEPARATOR.split(title)[:MAX_PARTS] if (plain := _plain(part))]
    for first in range(len(parts)):
        for end in range(first + 1, len(parts) + 1):
            yield " ".join(parts[first:end])


def _names_above(page: Walk, parts: set[str], resolver: Resolver) -> frozenset[str]:
    """Return those parts of titles that are the text of a link upwards: to the home page, or a folder of the page."""
    host, here = urlsplit(resolver.url)[1:3]
    folder = here[: here.rfind("/") + 1]
    found = set()
    beginnings = {part.partition(" ")[0] for part in parts}
    for href, text, _, _, form in page.links:
        if not text or len(text) > MAX_HEADING_CHARS:
            continue
        if text.isascii() and not any(map(text.lower().__contains__, beginnings)):
            continue  # a quick test: most links have none of these words
        if (plain := _plain(text)) in parts and plain not in found:
            target = urlsplit(resolver.resolve_form(href, form))
            above = target.path[: target.path.rfind("/") + 1]
            is_index = target.path[len(above) :].partition(".")[0] in ("", "index")
            is_above = target.netloc == host and target.path != here and folder.startswith(above)
            if is_above and is_index:
                found.add(plain)
    return frozenset(found)


def _is_glued(heading: str, claim: str) -> bool:
    """Return whether a heading is a declared title without the marks between its words, which a style sheet draws."""
    words, own = _plain(claim).split(), _plain(heading).split()
    return len(own) < len(words) and "".join(own) == "".join(words)


def _similarity(heading: str, claims: list[str]) -> float:
    """Return the best Jaccard index of the heading's words and the words of a claim."""
    own = _words(heading)
    return max((len(own & other) / max(len(own | other), 1) for other in map(_words, claims)), default=0.0)


def _plain(text: str) -> str:
    """Return the words of a text in lower case, with single spaces."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def _words(text: str) -> frozenset[str]:
    return frozenset(_plain(text).split())
