"""The parser of queries: it divides a query into text and operators. Pure.

`operators.py` has the table of the operators.

An operator that is not known, or has a value that can't be read, is text. So is a minus before one letter, a digit or a
second minus: `git commit -m`, `-1`, `--amend`. In prose, quotation marks and minus signs are text, too. Prose is a
paragraph, or more than one sentence.

The choices of a form become operators of the query, in place of operators of the same kind: so each choice is seen in
the query, and can be changed there.

A query may also be the address of a page: people type and paste `sqlite.org` or `https://sqlite.org/wal.html#intro`
into a search box. The words of an address are in few statements of its page, so the page is looked up by its id.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, timedelta

from streams.crawl.domains import has_public_suffix
from streams.crawl.urls import InvalidUrl, host_of, possible_urls
from streams.language.marks import MARKS
from streams.plain_text import read_date
from streams.search.query_language.matching import RECENT, read_extension, read_page_type, read_wish
from streams.search.query_language.operators import EXCLUDED, OPERATOR_OF, PHRASE, Conditions, Operator

_TOKEN = re.compile(
    r"(?P<minus>-?)(?:(?P<name>[A-Za-z]{2,10}):)?"
    r'(?:"(?P<quoted>[^"]*+)"(?=[.,;!?)\]}]?(?:\s|$))|(?P<plain>(?<![-:])[(\[{,;](?=")|\S++))'
)
"""A quoted phrase may stand in brackets, and punctuation may follow it. `{"a":"b"}` has no quoted phrase."""
_TYPOGRAPHIC_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_EXCLUDED_WORD = re.compile(r"[^\W\d_][\w.+#'’-]+")
PARAGRAPH_WORDS = 25
"""A query of more words is a paragraph."""
SENTENCES_WORDS = 12
"""A query of more words is prose if a sentence ends within it."""
_QUOTED = re.compile(r'"[^"]*+"')
_SENTENCE_END = re.compile(rf"\w\w[{MARKS}]\s++[A-Z]")
MAX_OPERATORS = 32
"""Maximum operators of a query. Further ones are text."""
MAX_ADDRESS_CHARS = 500
"""Maximum length of an address that is looked up (characters)."""
MAX_COUNTED_CHARS = 200
"""Maximum length of a query that is counted. Longer ones are rarely asked twice, and often say much of a person."""
WITHIN_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""The times of publication that can be chosen, with their days. A page of today is in all of them."""
ANY = "any"
_CHOSEN = ("after", "before", "pagetype", "filetype", "prefer")
"""The operators that the form's choices replace."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query: the text to search for, by meaning and by words, and the conditions."""

    text: str
    conditions: Conditions = field(default_factory=dict)
    has_text: bool = True
    """False if the query has only operators, so that `text` is their values."""


@dataclass(slots=True)
class _Parts:
    is_prose: bool = False
    text: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    """Values of the operators: the text of a query that has no other text."""
    conditions: dict[str, list[str]] = field(default_factory=dict)

    def require(self, operator: Operator, value: str) -> None:
        self.conditions.setdefault(operator.name, []).append(value)


def parse_query(query: str) -> ParsedQuery:
    """Divide a query into text and conditions. A query of operators only is searched by their values."""
    straight = query.translate(_TYPOGRAPHIC_QUOTES)
    parts = _Parts(is_prose=_is_prose(straight))
    query = query if parts.is_prose else straight
    for match in _TOKEN.finditer(query):
        if len(parts.values) >= MAX_OPERATORS or not _read_operator(match, parts):
            parts.text.append(match.group())
    conditions = {name: tuple(dict.fromkeys(values)) for name, values in parts.conditions.items()}
    text = " ".join(parts.text or filter(None, parts.values)) or query
    return ParsedQuery(text, conditions, has_text=bool(parts.text))


@dataclass(frozen=True, slots=True)
class WrittenOperator:
    """An operator as a person wrote it in a query."""

    operator: Operator
    text: str
    """The operator with its value, as it was written."""
    value: str
    query_without: str
    """The query without the operator. The words of a phrase stay, without their quotation marks."""


def find_operators(query: str) -> tuple[WrittenOperator, ...]:
    """Return the operators of a query, in their order."""
    straight = query.translate(_TYPOGRAPHIC_QUOTES)
    parts = _Parts(is_prose=_is_prose(straight))
    found = []
    for match in _TOKEN.finditer(query if parts.is_prose else straight):
        if len(parts.values) < MAX_OPERATORS and (operator := _read_operator(match, parts)):
            value = match["plain"] if match["quoted"] is None else match["quoted"]
            kept = value if operator is PHRASE else ""
            without = f"{query[: match.start()]}{kept}{query[match.end() :]}"
            text = query[match.start() : match.end()]
            found.append(WrittenOperator(operator, text, value, " ".join(without.split())))
    return tuple(found)


def _is_prose(query: str) -> bool:
    """Return True for a paragraph, or for several sentences.

    A quoted phrase may be a long message: in a paragraph it counts as one word, and no sentence ends within it.
    """
    unquoted = _QUOTED.sub(" x ", query)
    return len(unquoted.split()) > PARAGRAPH_WORDS or (
        len(query.split()) > SENTENCES_WORDS and _SENTENCE_END.search(unquoted) is not None
    )


def _read_operator(match: re.Match[str], parts: _Parts) -> Operator | None:
    """Note the token's condition, and return its operator. Return None if the token is text."""
    minus, name = match["minus"], (match["name"] or "").lower()
    value = match["quoted"] if match["quoted"] is not None else match["plain"]
    if name:
        opens_a_quote = match["quoted"] is None and value.startswith('"')
        return None if opens_a_quote else _read_named(f"{minus}{name}", value, parts)
    if parts.is_prose:
        return None
    if match["quoted"] is not None:
        return _read_phrase(value, bool(minus), parts)
    if minus and _EXCLUDED_WORD.fullmatch(value):
        parts.require(EXCLUDED, value)
        return EXCLUDED
    return None


def _read_phrase(value: str, minus: bool, parts: _Parts) -> Operator | None:
    operator = EXCLUDED if minus else PHRASE
    phrase = operator.read(value)
    if not any(char.isalnum() for char in phrase):
        return None
    parts.require(operator, phrase)
    if not minus:
        parts.text.append(phrase)
    return operator


def _read_named(name: str, value: str, parts: _Parts) -> Operator | None:
    operator = OPERATOR_OF.get(name)
    checked = operator.read(value) if operator else ""
    if not operator or not checked:
        return None
    parts.require(operator, checked)
    parts.values.append("" if name.startswith("-") else value)
    return operator


def find_addresses(query: str) -> tuple[str, ...]:
    """Return the canonical URLs that the query may be, with and without `www.`; none if it is no address.

    Without a scheme, it must begin with a host whose end is a known public suffix: `node.js` and `3.11.4` are none.
    """
    if len(query) > MAX_ADDRESS_CHARS or "." not in query or any(char.isspace() for char in query):
        return ()
    try:
        found = possible_urls(query)
        if "://" not in query and not has_public_suffix(host_of(found[0]).partition(":")[0]):
            return ()
    except InvalidUrl:
        return ()
    return tuple(dict.fromkeys(each for url in found for each in (url, _with_or_without_www(url))))


def _with_or_without_www(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.removeprefix('www.')}" if rest.startswith("www.") else f"{scheme}://www.{rest}"


def normalize_query(text: str) -> str:
    """Return the query in lower case with single spaces (NFKC); empty if it is too long to be counted."""
    found = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return found if len(found) <= MAX_COUNTED_CHARS and found.isprintable() else ""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a form, as they were sent: not checked."""

    published: str = ""
    """`day`, `week`, `month` or `year`; anything else: the dates count."""
    after: str = ""
    before: str = ""
    filetype: str = ""
    pagetype: str = ""
    recent: int = 0
    """The steps of the wish for recent pages, from 0 to 3."""


def apply_choices(query: str, choices: Choices, today: date) -> str:
    """Return the query with the choices as operators. A value that can't be read is left out."""
    after, before = read_date(choices.after), read_date(choices.before)
    if days := WITHIN_DAYS.get(choices.published):
        after, before = (today - timedelta(days)).isoformat(), ""
    extension = "" if choices.filetype == ANY else read_extension(choices.filetype)
    page_type = "" if choices.pagetype == ANY else read_page_type(choices.pagetype)
    chosen = {"after": after, "before": before, "pagetype": page_type, "filetype": extension}
    added = [f"{name}:{value}" for name, value in chosen.items() if value]
    if choices.recent and read_wish(wish := f"{RECENT}{choices.recent}"):
        added.append(f"prefer:{wish}")
    return " ".join([remove_operators(query, _CHOSEN), *added]).strip()


def remove_operators(query: str, names: Collection[str]) -> str:
    while found := next((each for each in find_operators(query) if each.operator.name in names), None):
        query = found.query_without
    return query
