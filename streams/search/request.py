"""A search request: the query and its parameters, checked and normalised before anything else reads them. Pure.

Every input becomes a SearchRequest, or an InvalidQuery that says the change to make. Only the form is checked: whether
the query is text, and whether the parameters are within their limits.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from streams.errors import InvalidQuery, invalid_parameter
from streams.pages.text.language import language_tag, read_accepted
from streams.search.cursor import Cursor, decode, digest_search
from streams.search.options import SearchOptions
from streams.search.query_language.matching import ascii_host
from streams.search.ranking.rules import NO_RULES, PersonalRules
from streams.stores.protocols import Visible

MAX_PER_PAGE = 50
MAX_DEPTH = 500
"""Maximum results that can be paged through: a deeper page costs the index as much as all pages before it together."""

ALL_LANGUAGES = "*"
"""The language range of RFC 4647, section 2.1, that includes all languages."""
Sort = Literal["relevance", "date"]
"""The orders of results: the best first, or the best results with the newest first."""
MAX_DOMAINS = 32
"""Maximum domains that a request may name in `include`, and in `exclude`."""
MAX_QUERY_CHARS = 2_000
"""Maximum length of a query (characters): a longer one is refused. A question of a person has fewer."""
_DEFAULTS = SearchOptions()
_JOINERS = "\u200c\u200d"
"""Format characters that change the meaning of words (Persian, Indic scripts), so they stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of a search beside its text, as they were given: not checked yet."""

    page: int = 1
    per_page: int = 10
    cursor: str = ""
    host: str = ""
    language: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sort: str = "relevance"
    explain: bool = False
    personal: PersonalRules = NO_RULES
    accepted: str = ""
    """`Accept-Language` of the request."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search that can be carried out."""

    text: str
    """Normalised (NFC, one space between words)."""
    visible: Visible
    """The pages that the client may see. There is no default: who asks says for whom."""
    page: int = 1
    per_page: int = 10
    host: str = ""
    language: str = ""
    """The parameter: a tag, `*`, or empty."""
    languages: tuple[str, ...] = ()
    """The languages that are searched; empty: all."""
    include: tuple[str, ...] = ()
    """The domains that are searched, with their subdomains; empty: all."""
    exclude: tuple[str, ...] = ()
    """The domains that are not searched, nor their subdomains."""
    sort: Sort = "relevance"
    explain: bool = False
    personal: PersonalRules = NO_RULES
    accepted: tuple[str, ...] = ()
    """The languages that the reader accepts (primary subtags), the preferred one first."""
    cursor: Cursor | None = None
    """The state of the search before this page; None for the first page, and for a page that is asked for by number."""

    @property
    def first(self) -> int:
        """The number of results before this page."""
        return self.cursor.results if self.cursor else (self.page - 1) * self.per_page

    @property
    def end(self) -> int:
        """The number of results up to the end of this page."""
        return self.first + self.per_page

    @property
    def looked_for(self) -> int:
        """The number of pages among which this page of results is: those shown before, their copies, and its own."""
        return (len(self.cursor.shown) if self.cursor else self.first) + self.per_page

    @property
    def digest(self) -> bytes:
        """The digest of all that makes this another search, and not another page of a search."""
        seen = self.visible
        visible = (seen.audiences, seen.hidden, seen.only, seen.is_all)
        conditions = (self.host, self.languages, self.accepted, self.include, self.exclude, visible)
        return digest_search(self.text, self.per_page, self.sort, *conditions, *self.personal.digest_parts())


FIRST_PAGE = Parameters()


def parse(
    text: str, given: Parameters = FIRST_PAGE, options: SearchOptions = _DEFAULTS, *, visible: Visible
) -> SearchRequest:
    """Return the checked request. If `language` is empty, the options' languages are searched. Raises InvalidQuery.

    A cursor says which page it is for: then `page` is not read. The age of the cursor is not checked.
    """
    _check_paging(1 if given.cursor else given.page, given.per_page)
    wanted = normalize_language(given.language)
    request = SearchRequest(
        text=normalize_text(text, max_chars=MAX_QUERY_CHARS),
        page=1 if given.cursor else given.page,
        per_page=given.per_page,
        host=normalize_host(given.host),
        language=wanted,
        languages=() if wanted == ALL_LANGUAGES else (wanted,) if wanted else options.languages,
        include=normalize_domains("include", given.include),
        exclude=normalize_domains("exclude", given.exclude),
        visible=visible,
        sort=_read_sort(given.sort),
        explain=given.explain,
        personal=given.personal,
        accepted=read_accepted(given.accepted),
    )
    if not given.cursor:
        return request
    cursor = decode(given.cursor, request.digest, MAX_DEPTH - request.per_page)
    return replace(request, page=cursor.page, cursor=cursor)


def normalize_text(text: str, *, max_chars: int) -> str:
    """Return the query as it is searched for. Raises InvalidQuery when it is empty, too long or not text."""
    if len(text) > max_chars:
        raise _too_long(len(text), max_chars)
    fault = _not_text(text)
    if fault:
        raise InvalidQuery("query-not-text", "The query is not text", fault, _PLAIN)
    kept = (char for char in text if char in _JOINERS or unicodedata.category(char) != "Cf")
    normal = " ".join(unicodedata.normalize("NFC", "".join(kept)).split())
    if not any(char.isalnum() or unicodedata.category(char)[0] == "S" for char in normal):
        raise empty_query(normal)
    if len(normal) > max_chars:  # NFC can lengthen: some composed characters are excluded from composition
        raise _too_long(len(normal), max_chars)
    return normal


def normalize_host(host: str) -> str:
    """Return the host as the index has it: lower case, in its ASCII form; empty stays empty. Raises InvalidQuery."""
    host = host.strip()
    if not host:
        return ""
    if known := ascii_host(host):
        return known
    raise invalid_parameter("host", "host is not the name of a host.", "Give one like `sqlite.org`.")


def normalize_language(language: str) -> str:
    """Return the tag as documents have it (`zh-Hant-TW`); empty and `*` stay as they are. Raises InvalidQuery."""
    language = language.strip()
    if not language or language == ALL_LANGUAGES:
        return language
    if tag := language_tag(language):
        return tag
    detail = "language is not a language tag."
    raise invalid_parameter("language", detail, "Give a BCP 47 tag like `en` or `pt-br`, or * for all.")


def normalize_domains(name: str, domains: Sequence[str]) -> tuple[str, ...]:
    """Return the domains of a parameter as the index has them, each once. Raises InvalidQuery."""
    if len(domains) > MAX_DOMAINS:
        detail = f"{name} has {len(domains)} domains; at most {MAX_DOMAINS} are searched for."
        raise invalid_parameter(name, detail, "Name fewer of them, or a domain above several.")
    found = tuple(dict.fromkeys(ascii_host(domain.strip().removeprefix("*.")) for domain in domains))
    if "" in found:
        raise invalid_parameter(name, f"{name} has a value that is not a domain.", "Give one like `sqlite.org`.")
    return found


def _read_sort(sort: str) -> Sort:
    if sort == "date":
        return "date"
    if sort in ("", "relevance"):
        return "relevance"
    raise invalid_parameter("sort", "sort is not an order of results.", "Give `relevance` or `date`.")


_PLAIN = "Type the words that you are looking for."


def _check_paging(page: int, per_page: int) -> None:
    if page < 1 or not 1 <= per_page <= MAX_PER_PAGE:
        name = "page" if page < 1 else "per_page"
        limits = "1 or more" if page < 1 else f"between 1 and {MAX_PER_PAGE}"
        raise invalid_parameter(name, f"{name} must be {limits}.")
    if page * per_page > MAX_DEPTH:
        detail = f"Results end at the first {MAX_DEPTH}; this page would be beyond them."
        raise invalid_parameter("page", detail, "Make the query more exact instead.")


def _not_text(text: str) -> str:
    """Return a sentence about the first character that is not text; empty when there is none."""
    for position, char in enumerate(text):
        if char.isspace():
            continue
        category = unicodedata.category(char)
        if char == "\ufffd" or category == "Cs":
            return f"At position {position} there are bytes that are not valid UTF-8."
        if category == "Cc" or (ord(char) & 0xFFFE) == 0xFFFE:
            return f"At position {position} there is a control character (U+{ord(char):04X})."
    return ""


def _too_long(chars: int, max_chars: int) -> InvalidQuery:
    detail = f"The query has {chars:,} characters; at most {max_chars:,} are searched for."
    return InvalidQuery("query-too-long", "The query is too long", detail, "Shorten it to what matters most.")


def empty_query(text: str = "") -> InvalidQuery:
    """Return the fault of a query without a letter, digit or symbol."""
    detail = "It has no letters, digits or symbols." if text else "No query was given."
    return InvalidQuery("query-empty", "There is nothing to search for", detail, _PLAIN)
