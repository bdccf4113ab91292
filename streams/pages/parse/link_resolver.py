"""Resolves links to absolute URLs. `streams.crawl.urls` makes them canonical later."""

import re

from ada_url import URL

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
