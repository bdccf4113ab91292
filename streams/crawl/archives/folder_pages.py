"""The pages of a folder: which files are pages, and the addresses at which people read them. Pure.

Programs that copy a site (wget, HTTrack, browsers) name files after addresses, each in its own way:

    wget                   page.php?id=3           /page.php?id=3
    wget -E                page.php?id=3.html      /page.php?id=3      the suffix is added to what is no `.html`
    for Windows' names     page.php@id=3           /page.php?id=3
    all                    index.html, index.html?page=2      /, /?page=2
    HTTrack                page4f2a.html           as its comment in the page says
    wget -E                article.html            /article, if the canonical link says so

A comment is believed only for the host that the folder says: the author of a page may write any comment. What a file
is, its first bytes say, since a page may have any suffix (`.php`, `.aspx`, none).
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from streams.crawl.file_kinds import EXTENSIONS, Kind, kind_of
from streams.crawl.urls import INDEX_FILES
from streams.media_types import BINARY, sniff, sniff_mark

HEAD_BYTES = 4_096
"""Number of first bytes of a file that are looked at."""
PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", *(f".{extension}" for extension in EXTENSIONS)})
"""Suffixes of files that are pages by their names."""
_PROGRAMS = frozenset({
    "php", "php3", "php5", "phtml", "asp", "aspx", "ashx", "jsp", "jspx", "cgi", "cfm", "do", "pl", "py",
    "shtml", "shtm",
})  # fmt: skip
"""Suffixes of pages that servers make: `wget -E` adds `.html` behind them."""
_DATA_SUFFIXES = frozenset({"css", "js", "mjs", "map", "json", "xml", "rss", "atom", "svg", "csv"})
_DATA = "style sheets, scripts and data"
_TEXTS: frozenset[Kind] = frozenset({"html", "text", "markdown"})
"""Kinds of files that are text: whether one of them is a page, its name says, or its first character."""
LEFT_OUT = "are left out"
"""The end of each reason for which a file is no page."""
_NAMED = re.compile(
    r"<!--\s{0,9}(?:Mirrored from |saved from url=\([0-9]{4}\)|Page saved with SingleFile\s{1,9}url: |Saved from )"
    r"([^\s<>]{1,2000})",
    re.IGNORECASE,
)
"""Comments of programs that save pages: HTTrack's, the mark of the web of browsers, SingleFile's and monolith's."""
_LINK = re.compile(rb"<link\s([^<>]{1,3000})", re.IGNORECASE)
CANONICAL_BYTES = 16_384
"""Number of first bytes of a page in which its canonical link is searched."""
_QUERY = re.compile(r"[A-Za-z_][\w.~\[\]-]{0,80}=")
"""The beginning of a query in the name of a file. A question mark before other text is part of a title."""


def why_no_page(name: str, head: bytes) -> str:
    """Return why a file with these first bytes is no page; empty if it is one."""
    suffix = _suffix(name)
    if name == "robots.txt" or suffix == "orig":  # `wget -K` keeps each page that it changes as `PAGE.orig`
        return f"files that a program keeps beside the pages that it copies {LEFT_OUT}"
    if not head.strip() and len(head) < HEAD_BYTES:
        return f"empty files {LEFT_OUT}"
    found = kind_of(head, "", f"https://a.example/{name}")
    if found is None:
        is_text = sniff(head) != BINARY and not sniff_mark(head)
        return f"{_DATA if is_text else 'images, archives and other files without text'} {LEFT_OUT}"
    if found not in _TEXTS:
        return ""
    if f".{suffix}" in PAGE_SUFFIXES:
        is_named = EXTENSIONS.get(suffix, "html") in _TEXTS
        return "" if is_named else f"files that are not what their names say {LEFT_OUT}"
    if suffix in _DATA_SUFFIXES:
        return f"{_DATA} {LEFT_OUT}"
    return "" if found == "html" and _begins_with_markup(head) else f"text without a known suffix {LEFT_OUT}"


def _begins_with_markup(head: bytes) -> bool:
    """Return whether a text begins as a page does. Source code has something like elements further on."""
    return _text_of(head).lstrip("\ufeff \t\r\n\f").startswith("<")


def _text_of(head: bytes) -> str:
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return head.decode("utf-16" if wide else "utf-8", "replace")


def path_of(parts: Sequence[str]) -> str:
    """Return the path and the query of a file below the folder of its server, quoted as in a URL."""
    *folders, name = parts
    stem, query = _split(name)
    shown = [*map(_quoted, folders), "" if stem in INDEX_FILES else _quoted(stem)]
    return "/".join(shown) + (f"?{quote(query, safe=_QUERY_SAFE, errors='surrogateescape')}" if query else "")


_QUERY_SAFE = "=&;+,:@!$'()*~?%[]/"
"""Characters of a query that are kept: a `%` begins what wget has quoted."""


def _split(name: str) -> tuple[str, str]:
    """Return the name and the query of a file of a mirror."""
    for mark in ("?", "@", "%3F", "%3f"):
        stem, found, query = name.partition(mark)
        if found and _QUERY.match(query):
            return stem, query.removesuffix(".html")
    stem, dot, added = name.rpartition(".")
    return (stem if dot and added == "html" and _suffix(stem) in _PROGRAMS else name), ""


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def named_in(body: bytes, url: str) -> str:
    """Return the URL of a page as the page itself names it, if that is on the same server; else the URL of its file.

    A canonical link only says whether `.html` was added, because it may lead to another page.
    """
    found = _NAMED.search(_text_of(body[:HEAD_BYTES]))
    if found and (named := _on_server(found[1], url)):
        return named
    bare = url.removesuffix(".html")
    return bare if bare != url and _on_server(canonical_in(body), url) == bare else url


def canonical_in(body: bytes) -> str:
    """Return the canonical link of a page, as it is written; empty if its first bytes have none."""
    for found in _LINK.finditer(body, 0, CANONICAL_BYTES):
        attributes = dict(map(_attribute, found[1].decode("utf-8", "replace").split()))
        if attributes.get("rel", "").lower() == "canonical":
            return attributes.get("href", "")
    return ""


def _attribute(text: str) -> tuple[str, str]:
    """Return the name and the value of an attribute that has no spaces: other ones are no addresses."""
    name, _, value = text.partition("=")
    return name.lower(), value.removesuffix('"/').removesuffix("'/").strip("\"'")


def _on_server(named: str, url: str) -> str:
    """Return the path and query of a named address, on the server of a URL; empty if it is of another server."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    named_host, _, path = named.rpartition("://")[2].partition("/")
    return f"{scheme}://{host}/{path.partition('#')[0]}" if named_host.lower() == host.lower() else ""


def _quoted(name: str) -> str:
    """Quote the name of a file byte by byte, as web servers do: a name need not be UTF-8."""
    return _FORBIDDEN.sub(r"%\1", quote(name, errors="surrogateescape"))


_FORBIDDEN = re.compile("%25(5C|7C|3A|3F|22|2A|3C|3E)")
"""Characters that a name can't have on Windows: a program that copies sites quotes them itself."""
