"""The values of operators: how they are read, and compared with a page of results: words, sites, dates. Pure.

A page is checked by the fields that the index returned: its title, its URL, and the statements that were found, each
with its context. Words are compared without case, and at the borders of words.

A reader returns the value of an operator as pages have it, or an empty string.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

import ada_url

from streams.pages.text.language import language_tag
from streams.pages.text.normal_forms import nfkc
from streams.pages.text.tokens import is_spaceless
from streams.stores.protocols import Hit, PageHits
from streams.stores.vector_collection import WORD

_IDENTIFIER = re.compile(
    r"(?:_*+[A-Za-z0-9]++(?:_|::|->)[\w:>-]*+)|(?:0[xX][0-9a-fA-F]{2,}+)|(?:[vV]?\d++(?:\.\d++){2,}+[\w.-]*+)"
    r"|(?:[a-z]++(?:[A-Z][a-z]++){2,}+)|(?:[A-Za-z]{1,8}-?\d{3,}+[A-Za-z\d-]*+)"
)
"""`SQLITE_BUSY`, `std::vector`, `0x80070057`, `3.11.4`, `getElementById`, `CVE-2024-3094`, `E0277`."""
_DIGITS_POINT = re.compile(r"\d[.,]\d")
_VARIATION_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
MAX_CHARS = 10_000
"""Maximum length of a statement with its title and context that is compared (characters)."""
MAX_PLACES = 100
"""Maximum places of a text where a phrase may begin that are looked at: in "the the the" it begins everywhere."""
_EDGES = ".,;:!?()[]{}\"'`<>"
_NO_HOST = re.compile(r"[\s/\\?#@%\[\]<>^|]")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*+(?::\d{{1,5}})?")
"""A host name has up to 253 characters (RFC 1035 section 2.3.4)."""
_USUAL_PORT = re.compile(r":(?:80|443)$")
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)
RECENT = "recent"
"""The wish that a query may have (`streams.search.ranking.priors`)."""
MAX_IDENTIFIERS = 16
"""Maximum identifiers of a query that are looked for: a stack trace has hundreds of names."""
MAX_STEPS = 3
_USUAL_STEPS = 2


def identifiers(query: str) -> tuple[str, ...]:
    """Return the first names, versions and codes of a query, which mean nothing but themselves."""
    tokens = (token.strip(_EDGES) for token in query.split())
    return tuple(dict.fromkeys(token for token in tokens if _IDENTIFIER.fullmatch(token)))[:MAX_IDENTIFIERS]


class CheckedPage:
    """A page of results in the forms that are compared. Each form is made once, when a comparison first needs it."""

    def __init__(self, page: PageHits) -> None:
        self.hits = page.hits
        """The statements that were found, as the index returned them."""
        self.url = page.hits[0].payload.url
        self.published = page.hits[0].payload.published
        """An ISO date; empty if the date is not known."""
        self.page_type = page.hits[0].payload.page_type
        self.file_type = page.hits[0].payload.extension
        """The type of the page's file; `html` for all forms of web pages."""

    @cached_property
    def title(self) -> str:
        """The folded title."""
        return fold(self.hits[0].payload.title)

    @cached_property
    def texts(self) -> list[str]:
        """Each statement with its context and the title, folded."""
        return [_text(hit) for hit in self.hits]


def has_all_in_one(texts: Iterable[str], phrases: Sequence[str]) -> bool:
    """Return True if one of the folded texts has all phrases."""
    return any(all(has_phrase(text, phrase) for phrase in phrases) for text in texts)


def has_phrase(text: str, phrase: str) -> bool:
    """Return True if the folded text has the phrase, not as part of longer words."""
    return has_folded(text, fold(phrase))


def has_folded(text: str, wanted: str) -> bool:
    """Return True if the folded text has the folded phrase, not as part of longer words."""
    start = text.find(wanted)
    for _ in range(MAX_PLACES):
        if start < 0:
            break
        end = start + len(wanted)
        if not _is_inside_word(text, start) and not _is_inside_word(text, end):
            return True
        start = text.find(wanted, start + 1)
    return False


def keep_searchable(phrases: Iterable[str]) -> tuple[str, ...]:
    """Return the phrases that the index can find (`streams.stores.vector_collection`).

    It can't find phrases in scripts without spaces, nor phrases that have another spelling with the same meaning (`ß`,
    `ﬁ`): such a phrase is only compared with the results.
    """
    return tuple(phrase for phrase in phrases if WORD.search(phrase) and (phrase.isascii() or _has_one_form(phrase)))


def _has_one_form(phrase: str) -> bool:
    return nfkc(phrase).casefold() == phrase.lower() and not any(map(is_spaceless, phrase))


def has_in_url(url: str, part: str) -> bool:
    """Return True if the URL, without percent-encoding, has the part in any case."""
    return part.casefold() in unquote(url).casefold()


def of_site(url: str, site: str) -> bool:
    """Return True if the URL belongs to the site: its host or a subdomain, below its path."""
    parts = _split(url)
    host, slash, path = site.partition("/")
    own = parts.netloc.lower()
    # A path may be written with and without percent-encoding.
    below = not slash or f"{unquote(parts.path)}/".startswith(f"/{unquote(path)}/")
    return below and (own == host or own.endswith(f".{host}"))


def fold(text: str) -> str:
    """Return the text in the form for comparisons: NFKC, lower case, single spaces."""
    return " ".join(nfkc(text).casefold().replace("’", "'").split())


def _text(hit: Hit) -> str:
    payload = hit.payload
    # In this order, a deep context takes no place from the statement.
    return fold(" \n ".join((payload.title, payload.text, *payload.context))[:MAX_CHARS])


def _is_inside_word(text: str, place: int) -> bool:
    """Return True if a word, a name (`SQLITE_BUSY`) or a number (`3.11.4`) continues over this place.

    Where words have no spaces between them, no place is inside a word.
    """
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if _is_mark(after):
        return True
    if _continues_word(before) and _continues_word(after):
        return not is_spaceless(before) and not is_spaceless(after)
    return _DIGITS_POINT.match(text, place - 1) is not None or _DIGITS_POINT.match(text, place - 2) is not None


def _continues_word(char: str) -> bool:
    return char.isalnum() or char == "_" or _is_mark(char)


def _is_mark(char: str) -> bool:
    """Return True for a combining mark. A variation selector, as behind an emoji, belongs to no word."""
    return not char.isascii() and unicodedata.category(char) in ("Mn", "Mc") and char not in _VARIATION_SELECTORS


def _split(url: str) -> Any:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def read_site(value: str) -> str:
    """Return a host with an optional path, as pages have them; empty if the value is no site."""
    address = _SCHEME.sub("", value).partition("#")[0].partition("?")[0].rstrip(",;!")
    host, slash, path = address.partition("/")
    host = ascii_host(host.removeprefix("*."))
    return f"{host}{slash}{path}".rstrip("/") if host else ""


def ascii_host(text: str) -> str:
    """Return the host as pages have it: lower case, in ASCII, with an unusual port; empty if the text is no host."""
    host = _USUAL_PORT.sub("", text.lower()).rstrip(".")
    if not host.isascii() and not _NO_HOST.search(host):
        try:
            host = ada_url.URL(f"https://{host}/").host
        except ValueError:
            return ""
    return host if _HOST.fullmatch(host) else ""


def read_language(value: str) -> str:
    """Return a language tag as documents have it, or `und`; empty if the value is no tag."""
    return "und" if value.lower() == "und" else language_tag(value)


def read_extension(value: str) -> str:
    """Return a file name's extension in lower case, without its dot; empty if the value is no extension."""
    lowered = value.lower().removeprefix(".")
    return lowered if _EXTENSION.fullmatch(lowered) else ""


def read_page_type(value: str) -> str:
    """Return the type of a page in lower case; empty if the value is no name."""
    return value.lower() if value.isascii() and value.isalpha() else ""


def read_wish(value: str) -> str:
    """Return the wish with its steps: `recent:2` for `recent`, `recent:3` for `recent3`; empty for others."""
    name = value.lower().rstrip("0123456789")
    steps = value[len(value.rstrip("0123456789")) :] or str(_USUAL_STEPS)
    is_known = name == RECENT and len(steps) == 1 and 1 <= int(steps) <= MAX_STEPS
    return f"{name}:{steps}" if is_known else ""


def steps_of_wish(wish: str) -> int:
    """Return the steps of a wish that was read."""
    return int(wish.partition(":")[2])


def read_words(value: str) -> str:
    """Return a word or phrase with single spaces between its words."""
    return " ".join(value.split())
