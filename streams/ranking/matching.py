"""Checks of one page of results: exact phrases, identifiers, and the conditions of a query's operators.

A page is checked by what the index returned of it: its title, its URL, and the statements that were found, each with
its context. Words are compared without case, and at the borders of words.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from streams.pages.text.normal_forms import nfkc
from streams.ranking.query import Conditions
from streams.stores.protocols import Hit, PageHits

_IDENTIFIER = re.compile(
    r"(?:_*+[A-Za-z0-9]++(?:_|::|->)[\w:>-]*+)|(?:0[xX][0-9a-fA-F]{2,}+)|(?:[vV]?\d++(?:\.\d++){2,}+[\w.-]*+)"
    r"|(?:[a-z]++(?:[A-Z][a-z]++){2,}+)|(?:[A-Za-z]{1,8}-?\d{3,}+[A-Za-z\d-]*+)"
)
"""`SQLITE_BUSY`, `std::vector`, `0x80070057`, `3.11.4`, `getElementById`, `CVE-2024-3094`, `E0277`."""
_HTML = ("", "html", "htm", "xhtml")
_EDGES = ".,;:!?()[]{}\"'`<>"


def identifiers(query: str) -> tuple[str, ...]:
    """The names, versions and codes of a query, which mean nothing but themselves."""
    tokens = (token.strip(_EDGES) for token in query.split())
    return tuple(dict.fromkeys(token for token in tokens if _IDENTIFIER.fullmatch(token)))


def has_all(page: PageHits, phrases: tuple[str, ...]) -> bool:
    """True if one statement of the page, with its context and title, has all of these."""
    return any(all(has_phrase(_text(hit), phrase) for phrase in phrases) for hit in page.hits)


def has_phrase(text: str, phrase: str) -> bool:
    """True if the folded text has the phrase, not as part of longer words."""
    wanted = fold(phrase)
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not _joined(text, start) and not _joined(text, end):
            return True
        start = text.find(wanted, start + 1)
    return False


def meets(page: PageHits, conditions: Conditions) -> bool:
    """True if the page meets the conditions. Languages and sites are checked by the index as well."""
    payload = page.hits[0].payload
    return (
        (not conditions.phrases or has_all(page, conditions.phrases))
        and not any(has_phrase(_text(hit), word) for hit in page.hits for word in conditions.excluded)
        and _meets_url(str(payload.get("url") or ""), conditions)
        and _meets_date(str(payload.get("published") or ""), conditions)
        and all(has_phrase(fold(str(payload.get("title") or "")), word) for word in conditions.in_title)
    )


def of_site(url: str, site: str) -> bool:
    """True if the URL belongs to the site: its host or a subdomain, below its path."""
    parts = _split(url)
    host, slash, path = site.partition("/")
    own = parts.netloc.lower()
    return (own == host or own.endswith(f".{host}")) and (not slash or f"{parts.path}/".startswith(f"/{path}/"))


def fold(text: str) -> str:
    """The text in the form that is compared: NFKC, lower case, single spaces."""
    return " ".join(nfkc(text).casefold().replace("’", "'").split())


def _meets_url(url: str, conditions: Conditions) -> bool:
    if conditions.sites and not any(of_site(url, site) for site in conditions.sites):
        return False
    if any(of_site(url, site) for site in conditions.excluded_sites):
        return False
    if conditions.extensions and not any(_has_extension(url, wanted) for wanted in conditions.extensions):
        return False
    shown = unquote(url).casefold()
    return all(part.casefold() in shown for part in conditions.in_url)


def _has_extension(url: str, wanted: str) -> bool:
    name = _split(url).path.rpartition("/")[2].lower()
    extension = name.rpartition(".")[2] if "." in name else ""
    return extension == wanted or (wanted in _HTML and extension in _HTML)


def _meets_date(published: str, conditions: Conditions) -> bool:
    """A page without a date meets no condition on it."""
    if not conditions.before and not conditions.after:
        return True
    if not published:
        return False
    after = conditions.after and published[: len(conditions.after)] < conditions.after
    before = conditions.before and published[: len(conditions.before)] >= conditions.before
    return not after and not before


def _text(hit: Hit) -> str:
    payload: Mapping[str, Any] = hit.payload
    context = payload.get("context") or ()
    lines = (context,) if isinstance(context, str) else context
    return fold(" \n ".join(map(str, (payload.get("title") or "", *lines, payload.get("text") or ""))))


def _joined(text: str, place: int) -> bool:
    """True if a word continues over this place."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _split(url: str) -> Any:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
