"""Resolves links to absolute URLs, and finds the ways on from a page besides the links in its text. Pure.

`streams.crawl.urls` makes the URLs canonical later. The ways on are:

    refresh         `<meta http-equiv=refresh>` and the header `Refresh`: within a few seconds a redirect, else a link
    frames          `frame`; `iframe`, `object` and `embed` of the page's own host
    links           `area`, and `a` in an inline drawing (SVG)
    relations       `next`, `prev`, and `alternate` in another language: `<link>` and the header `Link`
    canonical       `<link>` in the head of the page, and the header `Link`
    alternates      the versions in other languages, with the attribute `hreflang`: likewise
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ada_url import URL
from selectolax.lexbor import LexborNode

from streams.crawl.refresh import MAX_REDIRECT_SECONDS, read_refresh
from streams.crawl.urls import InvalidUrl, canonicalize, host_of
from streams.pages.parse.link_header import HeaderLink, read_links
from streams.pages.parse.segments import NO_SEGMENT, RawLink
from streams.pages.text.language import language_tag

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_BLANKS = re.compile(r"[\t\n\r]")
_ABSOLUTE = re.compile(r"https?://[a-z0-9.-]++(?:/[A-Za-z0-9._~!$&()*+,;=:@%/?-]*+)?")
_ROOTED = re.compile(r"/(?!/)[A-Za-z0-9._~!$&()*+,;=:@%/?-]*+")
MAX_HREF_CHARS = 4_096
"""Maximum length of a link (characters). Longer links are dropped."""

OTHER, ROOTED, ABSOLUTE = range(3)
"""Forms of links. Nearly all are ROOTED (a path from the host's root) or ABSOLUTE (a URL) and need no cleaning."""


def form_of(href: str) -> int:
    plain = href.partition("#")[0]
    if len(href) > MAX_HREF_CHARS or "/." in plain:
        return OTHER
    return ROOTED if _ROOTED.fullmatch(plain) else ABSOLUTE if _ABSOLUTE.fullmatch(plain) else OTHER


class Resolver:
    """Resolves the links of one page. Many links repeat, so results are cached."""

    def __init__(self, url: str, base: str = "") -> None:
        self.url = url
        self.base = self._join(url, base) or url if base else url
        scheme, _, rest = self.base.partition("://")
        self._origin = f"{scheme}://{rest.partition('/')[0]}".lower()
        self._known: dict[str, str] = {}
        self._others: dict[str, str] = {}

    def absolute(self, href: str) -> str:
        """Return the absolute URL without its fragment; empty for a link to no page (mailto:, #top, invalid)."""
        known = self._known.get(href)
        if known is None:
            known = self._known[href] = self.resolve_form(href, form_of(href))
        return known

    def resolve_form(self, href: str, form: int) -> str:
        """Resolve a link with a known form: a ROOTED or ABSOLUTE link needs no URL parser."""
        if form:
            plain = href.partition("#")[0]
            target = plain if form == ABSOLUTE else self._origin + plain
            return target if len(target) <= MAX_HREF_CHARS else ""
        known = self._others.get(href)
        if known is None:
            known = self._others[href] = self._clean(href)
        return known

    def _clean(self, href: str) -> str:
        plain = _BLANKS.sub("", href.strip()).partition("#")[0]
        if not plain or len(plain) > MAX_HREF_CHARS:
            return ""
        if _SCHEME.match(plain) and not plain[:5].lower().startswith("http"):
            return ""
        return self._join(self.base, plain)

    @staticmethod
    def _join(base: str, href: str) -> str:
        try:
            found = URL(href, base)
        except ValueError:
            return ""
        if found.protocol not in ("http:", "https:"):
            return ""
        joined: str = found.href.partition("#")[0]
        return joined if len(joined) <= MAX_HREF_CHARS else ""


SELECTOR = "frame[src], iframe[src], object[data], embed[src], area[href], svg a"
"""The elements that lead on, outside of the head."""
_ADDRESSES = {"frame": "src", "iframe": "src", "object": "data", "embed": "src", "area": "href"}
_OF_OWN_HOST = frozenset({"iframe", "object", "embed"})
"""Elements that show a part of the page. From another host it is a video, a map or an advertisement."""
_RELATIONS = frozenset({"next", "prev", "previous"})
_NOT_OF_PAGE = frozenset({"media", "hreflang", "type", "lang"})
"""Attributes with which `rel=canonical` is about a form of the page, and names no address for the page itself."""
MAX_ALTERNATES = 64
"""Maximum versions of a page in other languages. A page that names more is taken to name none."""
ANY_LANGUAGE = "x-default"
"""The tag of the version for readers of all other languages."""
_MAX_PARENTS = 32
"""Maximum number of elements around a link in which a drawing is looked for."""


@dataclass(slots=True)
class Ways:
    """The ways on, as the page writes them."""

    elements: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Tag, address, rel and alternative text."""
    canonicals: list[str] = field(default_factory=list)
    refreshes: list[str] = field(default_factory=list)
    alternates: list[tuple[str, str]] = field(default_factory=list)
    """The language and the address of each version of the page in a language (`hreflang`)."""

    def add(self, node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> None:
        """Add an element that may lead on."""
        rel = (attributes.get("rel") or "").lower()
        if tag == "link":
            relations = rel.split()
            if "canonical" in relations and _is_in_head(node) and _NOT_OF_PAGE.isdisjoint(attributes):
                self.canonicals.append(attributes.get("href") or "")
            language = attributes.get("hreflang") if "alternate" in relations else None
            if language and _is_in_head(node) and len(self.alternates) <= MAX_ALTERNATES:
                self.alternates.append((language, attributes.get("href") or ""))
            if language or not _RELATIONS.isdisjoint(relations):
                self.elements.append((tag, attributes.get("href") or "", rel, ""))
        elif tag == "meta":
            if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
                self.refreshes.append(attributes.get("content") or "")
        elif tag == "a":
            if _is_drawn(node):
                self.elements.append((tag, attributes.get("href") or attributes.get("xlink:href") or "", rel, ""))
        elif address := attributes.get(_ADDRESSES.get(tag, "")):
            self.elements.append((tag, address, rel, attributes.get("alt") or ""))


@dataclass(frozen=True, slots=True)
class WaysOn:
    """The ways on from a page, as absolute URLs."""

    links: tuple[RawLink, ...] = ()
    redirect: str = ""
    """The page to which the page leads within a few seconds; empty if it stays."""
    canonical: str = ""
    """The canonical URL that the page declares; empty if it declares none, or two that differ."""
    alternates: Mapping[str, str] = field(default_factory=dict)
    """The versions of the page in other languages, as it names them, by their language tags; none of too many."""


def ways_on(ways: Ways, headers: Mapping[str, str], resolver: Resolver) -> WaysOn:
    """Resolve the ways on from a page. `headers` have lower-case names; their addresses know no `<base>`."""
    of_headers = Resolver(resolver.url)
    header = headers.get("link", "")
    named = [link for link in read_links(header) if "anchor" not in link.parameters] if header else []
    links = [*_of_elements(ways, resolver), *_of_header(named, of_headers)]
    redirect = ""
    stated = [(headers["refresh"], of_headers)] if "refresh" in headers else []
    for content, base in [*stated, *((content, resolver) for content in ways.refreshes)]:
        if refresh := read_refresh(content):
            seconds, address = refresh
            if (target := base.absolute(address)) and target != resolver.url.partition("#")[0]:
                redirect = target if seconds <= MAX_REDIRECT_SECONDS else ""
                links.append(_raw(target))
            break  # only the first one counts
    canonicals = {resolver.absolute(each) for each in ways.canonicals} | {
        of_headers.absolute(link.target)
        for link in named
        if "canonical" in link.relations and _NOT_OF_PAGE.isdisjoint(link.parameters)
    }
    return WaysOn(tuple(links), redirect, _only_one(canonicals), _alternates(ways, named, resolver, of_headers))


def _alternates(ways: Ways, named: Iterable[HeaderLink], resolver: Resolver, of_headers: Resolver) -> Mapping[str, str]:
    stated = [(language, resolver.absolute(address)) for language, address in ways.alternates]
    stated += [
        (link.parameters["hreflang"], of_headers.absolute(link.target))
        for link in named
        if "alternate" in link.relations and "hreflang" in link.parameters
    ]
    found = {language.strip().lower(): url for language, url in reversed(stated) if url and _is_tag(language)}
    return {} if len(stated) > MAX_ALTERNATES else found


def _is_tag(language: str) -> bool:
    return language.strip().lower() == ANY_LANGUAGE or bool(language_tag(language))


def _of_elements(ways: Ways, resolver: Resolver) -> Iterator[RawLink]:
    for tag, address, rel, text in ways.elements:
        target = resolver.absolute(address)
        if target and (tag not in _OF_OWN_HOST or host_of(target) == host_of(resolver.url)):
            yield _raw(target, " ".join(text.split()), rel)


def _of_header(named: Iterable[HeaderLink], resolver: Resolver) -> Iterator[RawLink]:
    for link in named:
        is_other_language = "alternate" in link.relations and "hreflang" in link.parameters
        if is_other_language or not _RELATIONS.isdisjoint(link.relations):
            yield _raw(resolver.absolute(link.target))


def _raw(target: str, text: str = "", rel: str = "") -> RawLink:
    return target, text, rel, NO_SEGMENT, ABSOLUTE


def _only_one(urls: set[str]) -> str:
    """Return the only URL; empty if there are several, since a page has one canonical URL or says nothing."""
    found = {_spelled(url): url for url in urls if url}
    return next(iter(found.values())) if len(found) == 1 else ""


def _spelled(url: str) -> str:
    """Return the URL as it is compared: http and https are one address."""
    try:
        return canonicalize(url)
    except InvalidUrl:  # an origin that only the operator may allow
        return url


def _is_in_head(node: LexborNode) -> bool:
    parent = node.parent
    if parent is not None and parent.tag == "noscript":
        parent = parent.parent
    return parent is not None and parent.tag == "head"


def _is_drawn(node: LexborNode) -> bool:
    for _ in range(_MAX_PARENTS):
        parent = node.parent
        if parent is None or parent.tag == "svg":
            return parent is not None
        node = parent
    return False
