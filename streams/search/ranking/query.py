"""The query's language: text, quoted phrases and operators.

    "quoted phrase"     only pages with exactly these words in a row
    -word  -"a phrase"  only pages without it
    site:example.org    only this site with its subdomains (and path)      -site:example.org    not this site
    lang:de             only this language                                 filetype:pdf         the URL's extension
    after:2024-05       published then or later        before:2025         published before it
    intitle:word        the title has the word or phrase                   inurl:text         the URL has it

An operator that is not known, or whose value can't be read, is text. So is a minus before one letter, a digit or a
second minus: `git commit -m`, `-1`, `--amend`. In prose, quotation marks and minus signs are text, too. Prose is a
paragraph, or more than one sentence.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import ada_url

from streams.pages.text.language import language_tag

_TOKEN = re.compile(
    r"(?P<minus>-?)(?:(?P<name>[A-Za-z]{2,10}):)?"
    r'(?:"(?P<quoted>[^"]*+)"(?=[.,;!?)\]}]?(?:\s|$))|(?P<plain>(?<![-:])[(\[{,;](?=")|\S++))'
)
"""A quoted phrase may stand in brackets, and punctuation may follow it. In `{"a":"b"}` there is none."""
_TYPOGRAPHIC_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_NO_HOST = re.compile(r"[\s/\\?#@%\[\]<>^|]")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*+(?::\d{{1,5}})?")
"""A host name has up to 253 characters (RFC 1035 section 2.3.4)."""
_USUAL_PORT = re.compile(r":(?:80|443)$")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")
_EXCLUDED_WORD = re.compile(r"[^\W\d_][\w.+#'’-]+")
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)
PARAGRAPH_WORDS = 25
"""A query of more words is a paragraph."""
SENTENCES_WORDS = 12
"""A query of more words is prose if a sentence ends within it."""
_QUOTED = re.compile(r'"[^"]*+"')
_SENTENCE_END = re.compile(r"\w\w[.?!]\s++[A-Z]")
MAX_OPERATORS = 32
"""Maximum operators of a query. Further ones are text."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a query's operators, which each result must meet."""

    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Words and phrases that a result must not have."""
    sites: tuple[str, ...] = ()
    """Hosts, each with an optional path. A result is of one of them."""
    excluded_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    before: str = ""
    """An ISO date, or the beginning of one: 2025, 2025-03, 2025-03-01."""
    after: str = ""
    in_title: tuple[str, ...] = ()
    in_url: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query: the text that is searched for, by meaning and by words, and the conditions."""

    text: str
    conditions: Conditions = Conditions()


@dataclass(slots=True)
class _Parts:
    is_prose: bool = False
    text: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    """Values of the operators: they are searched for where there is no other text."""
    conditions: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, value: str, shown: str) -> None:
        self.conditions.setdefault(name, []).append(value)
        self.values.append(shown)


def parse_query(query: str) -> ParsedQuery:
    """Divide a query into text and conditions. A query of operators alone is searched by their values."""
    straight = query.translate(_TYPOGRAPHIC_QUOTES)
    parts = _Parts(is_prose=_is_prose(straight))
    query = query if parts.is_prose else straight
    for match in _TOKEN.finditer(query):
        if len(parts.values) >= MAX_OPERATORS or not _is_operator(match, parts):
            parts.text.append(match.group())
    found = {name: tuple(dict.fromkeys(values)) for name, values in parts.conditions.items()}
    dates: dict[str, str] = {name: found.pop(name)[-1] for name in ("before", "after") if name in found}
    named: dict[str, Any] = dict(found) | dict(dates)
    return ParsedQuery(" ".join(parts.text or filter(None, parts.values)) or query, Conditions(**named))


def _is_prose(query: str) -> bool:
    """True for a paragraph, or for several sentences.

    A quoted phrase may be a long message: in a paragraph it counts as one word, and no sentence ends within it.
    """
    unquoted = _QUOTED.sub(" x ", query)
    return len(unquoted.split()) > PARAGRAPH_WORDS or (
        len(query.split()) > SENTENCES_WORDS and _SENTENCE_END.search(unquoted) is not None
    )


def _is_operator(match: re.Match[str], parts: _Parts) -> bool:
    """Note the token's condition; False if it is text."""
    minus, name = bool(match["minus"]), (match["name"] or "").lower()
    value = match["quoted"] if match["quoted"] is not None else match["plain"]
    if name:
        opens_a_quote = match["quoted"] is None and value.startswith('"')
        return not opens_a_quote and _named(name, value, minus, parts)
    if parts.is_prose:
        return False
    if match["quoted"] is not None:
        return _quoted(value, minus, parts)
    if minus and _EXCLUDED_WORD.fullmatch(value):
        parts.conditions.setdefault("excluded", []).append(value)
        return True
    return False


def _quoted(value: str, minus: bool, parts: _Parts) -> bool:
    phrase = " ".join(value.split())
    if not any(char.isalnum() for char in phrase):
        return False
    if minus:
        parts.conditions.setdefault("excluded", []).append(phrase)
    else:
        parts.conditions.setdefault("phrases", []).append(phrase)
        parts.text.append(phrase)
    return True


def _named(name: str, value: str, minus: bool, parts: _Parts) -> bool:
    read = _READERS.get(name)
    checked = read(value) if read else ""
    if not checked or (minus and name != "site"):
        return False
    field_name = "excluded_sites" if minus else _FIELDS[name]
    parts.add(field_name, checked, "" if minus else value)
    return True


def _site(value: str) -> str:
    """A host with an optional path, as pages have them; empty if it is none."""
    address = _SCHEME.sub("", value).partition("#")[0].partition("?")[0].rstrip(",;!")
    host, slash, path = address.partition("/")
    host = ascii_host(host.removeprefix("*."))
    return f"{host}{slash}{path}".rstrip("/") if host else ""


def ascii_host(text: str) -> str:
    """The host as pages have it: lower case, in its ASCII form, with an unusual port; empty if it is none."""
    host = _USUAL_PORT.sub("", text.lower()).rstrip(".")
    if not host.isascii() and not _NO_HOST.search(host):
        try:
            host = ada_url.URL(f"https://{host}/").host
        except ValueError:
            return ""
    return host if _HOST.fullmatch(host) else ""


def _language(value: str) -> str:
    return "und" if value.lower() == "und" else language_tag(value)


def _date(value: str) -> str:
    found = _DATE.fullmatch(value)
    if not found:
        return ""
    _, month, day = found.groups()
    return value if 1 <= int(month or 1) <= 12 and 1 <= int(day or 1) <= 31 else ""


def _extension(value: str) -> str:
    lowered = value.lower().removeprefix(".")
    return lowered if _EXTENSION.fullmatch(lowered) else ""


def _plain(value: str) -> str:
    return " ".join(value.split())


_READERS = {
    "site": _site,
    "lang": _language,
    "language": _language,
    "filetype": _extension,
    "ext": _extension,
    "before": _date,
    "after": _date,
    "intitle": _plain,
    "inurl": _plain,
}
_FIELDS = {
    "site": "sites",
    "lang": "languages",
    "language": "languages",
    "filetype": "extensions",
    "ext": "extensions",
    "before": "before",
    "after": "after",
    "intitle": "in_title",
    "inurl": "in_url",
}
