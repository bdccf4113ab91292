"""The presentation of results: snippets, breadcrumbs, links that are safe to follow. Pure.

It is made for hostile input: a page's author wrote its title, URL and statements. It makes no HTML: the templates
escape every piece of text.
"""

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from babel import Locale, UnknownLocaleError

from streams import plain_text
from streams.crawl.domains import has_public_suffix, surely_one_owner
from streams.gateway.http.highlighting import highlights
from streams.language.function_words import is_function_word, shown_language
from streams.language.marks import is_closed
from streams.pages.text.tokens import is_spaceless
from streams.statements.readability import END_WORDS, WHOLE_WORDS
from streams.statements.sentences.open_texts import beginning_of
from streams.stores.page_record import Normalized
from streams.stores.statement_payload import NO_PLACE, Place, StatementPayload

MAX_SNIPPET_CHARS = 420
"""Maximum length of a statement, and of a sentence before it (characters)."""
MAX_LEAD_CHARS = 2_000
"""Maximum length of the statement that leads a result (characters): it is shown whole."""
MAX_BEFORE_CHARS = 240
"""Maximum length of the sentences before a statement on a page (characters): three lines, and six of a phone."""
MAX_CODE_LINES = 10
MAX_LISTING_LINES = 6
"""Maximum lines of a listing on a page."""
MAX_CODE_CHARS = 120
"""Maximum length of a line of code (characters)."""
MAX_TITLE_CHARS = 140
MAX_CRUMB_CHARS = 40
MAX_CRUMBS = 4
MAX_AUTHOR_CHARS = 60
MAX_VALUE_CHARS = 4_000
"""Maximum length of one field of a record."""

_PARTS = frozenset({"item", "link", "list", "row", "code"})
"""Kinds of statements that are parts of something larger."""
_LISTED = frozenset({"item", "list"})
"""Kinds of statements that a term or a heading right above belongs to: "--force: Overwrites the file."."""
_AROUND_WORDS = string.punctuation + "“”„«»‘’…¿¡"
_CLAUSE_MARK = re.compile("[、，；]")
_COLOURS = 8
"""Number of colours of tiles: the stylesheet has their hues."""
_WORD_BORDER = re.compile("(?<=[a-z])(?=[A-Z])")
_HOST_BORDER = re.compile(r"[^\w.-]")
_FRAGMENT_END_CHARS = 10
"""Minimum length of the start and of the end of a text without spaces in a link to it (characters)."""
_FRAGMENT_CHARS = 80
"""Minimum length of a text without spaces of which a link has only the start and the end (characters)."""
_MAX_KEPT = 8_192
"""Maximum number of hosts, and of languages, whose form is in memory: pages and people name any."""
_IN_FRAGMENTS = "!$&'()*+,;=:@/?"
"""Characters that an anchor has in an address as they are (RFC 3986, 3.5). All others are percent-encoded."""


def clean_line(text: str, max_chars: int = 0) -> str:
    """Return the text as one line, without controls and direction overrides, with single spaces, shortened."""
    line = plain_text.clean_line(text)
    return plain_text.shorten(line, max_chars) if max_chars else line


def quoted(query: str) -> str:
    """Return a query in quotation marks. One that has some itself stays as it is."""
    return query if '"' in query or "“" in query else f"“{query}”"


def words_beside(text: str, missing: Iterable[str]) -> str:
    """Return a query's words without those that no page has; empty if none is left that says something."""
    absent = {word.casefold() for word in missing}
    words = text.split()
    left = [word for word in words if word.casefold().strip(_AROUND_WORDS) not in absent]
    language = shown_language([word.casefold() for word in words], "en")
    says = any(not is_function_word(word.casefold().strip(_AROUND_WORDS), language) for word in left)
    return " ".join(left) if says and len(left) < len(words) else ""


def fold_text(text: str, max_chars: int) -> tuple[str, str]:
    """Return the text's start, and its rest, which a click shows. They are cut between words where possible."""
    if len(text) <= max_chars + max_chars // 3:  # nobody unfolds half a line
        return text, ""
    gap = text.rfind(" ", max_chars // 2, max_chars)
    cut = gap if gap > 0 else max_chars
    return text[:cut], text[cut:]


def snippet(text: str, words: Iterable[str], max_chars: int = MAX_SNIPPET_CHARS, *, language: str = "") -> str:
    """Return the statement; for a very long one the part around the query's first word."""
    line = clean_line(text)
    if len(line) <= max_chars:
        return line
    ranges = highlights(line, words, language)
    first = ranges[0][0] if ranges else 0
    start = max(0, first - max_chars // 3)
    if start:
        start = line.find(" ", start, first) + 1 or start
    return ("…" if start else "") + plain_text.shorten(line[start:], max_chars - 1)


def code_snippet(text: str, words: Iterable[str], *, language: str = "") -> str:
    """Return the lines of a listing; of a long one those around the query's first word."""
    lines = [
        plain_text.shorten(line.expandtabs(4).rstrip(), MAX_CODE_CHARS)
        for line in plain_text.clean_text(text).split("\n")
    ]
    lines = [line for line in lines if line or len(lines) <= MAX_CODE_LINES]
    if len(lines) <= MAX_CODE_LINES:
        return "\n".join(lines).strip("\n")
    whole = "\n".join(lines)
    ranges = highlights(whole, words, language)
    hit = whole.count("\n", 0, ranges[0][0]) if ranges else 0
    start = max(0, min(hit - MAX_CODE_LINES // 3, len(lines) - MAX_CODE_LINES))
    shown = lines[start : start + MAX_CODE_LINES]
    return "\n".join([*(["…"] if start else []), *shown, *(["…"] if start + MAX_CODE_LINES < len(lines) else [])])


class Shown(NamedTuple):
    """The lines of a listing that are shown, with the places of the query's words in them."""

    text: str
    highlights: list[tuple[int, int]]


def listing_of(statement: Any, max_lines: int = MAX_LISTING_LINES) -> Shown:
    """Return the lines of a code statement around the first word of the query, at most `max_lines` with marks of cuts.

    `statement` has `text` and `highlights`, as an answer to a search has them.
    """
    text, ranges = str(statement.text), list(statement.highlights)
    lines = text.split("\n")
    if len(lines) <= max_lines:
        return Shown(text, ranges)
    hit = text.count("\n", 0, ranges[0][0]) if ranges else 0
    has_marks = max_lines > 2
    kept = max_lines - 2 if has_marks else max_lines
    start = min(max(0, hit - kept // 3), len(lines) - kept)
    begin = sum(len(line) + 1 for line in lines[:start])
    shown = "\n".join(lines[start : start + kept])
    above = "…\n" if start and has_marks else ""
    below = "\n…" if start + kept < len(lines) and has_marks else ""
    moved = len(above) - begin
    end = begin + len(shown)
    return Shown(above + shown + below, [(a + moved, b + moved) for a, b in ranges if a >= begin and b <= end])


def sharing_words(results: Iterable[Any]) -> list[Any]:
    """Return the results of which a shown statement has a word of the query."""
    return [each for each in results if any(statement.highlights for statement in each.statements)]


class Tile(NamedTuple):
    """The tile of a site: a letter on a colour, so that results of one site are seen at a glance."""

    colour: int
    letter: str


@lru_cache(maxsize=_MAX_KEPT)
def tile_of(host: str) -> Tile:
    """Return the tile of a host. A name has the same colour on each page."""
    name = host.lower().removeprefix("www.")
    try:
        shown = name.encode("ascii").decode("idna")
    except UnicodeError:
        shown = name
    letter = next((each for each in shown if each.isalnum()), "?")
    return Tile(blake2b(name.encode("utf-8", "replace"), digest_size=1).digest()[0] % _COLOURS, letter.upper()[:1])


@lru_cache(maxsize=_MAX_KEPT)
def writes_right_to_left(tag: str) -> bool:
    """Return whether a language is written from right to left, such as Arabic and Hebrew."""
    try:
        return str(Locale.parse(tag, sep="-").text_direction) == "rtl"
    except (ValueError, UnknownLocaleError):
        return False


def breadcrumbs(url: str) -> tuple[str, ...]:
    """Return the host and the segments of the path, decoded. The middle segments of a long path are left out."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return (clean_line(url, MAX_CRUMB_CHARS),)
    steps = [clean_line(unquote(step, errors="replace"), MAX_CRUMB_CHARS) for step in parts.path.split("/")]
    crumbs = [host.removeprefix("www.") or clean_line(url, MAX_CRUMB_CHARS), *(step for step in steps if step)]
    if len(crumbs) > MAX_CRUMBS:
        crumbs = [crumbs[0], "…", *crumbs[2 - MAX_CRUMBS :]]
    return tuple(crumbs)


def safe_href(url: str) -> str:
    """Return the URL if it is http(s); empty for `javascript:` and all others."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.netloc and clean_line(url) == url else ""


def fragment_href(url: str, text: str, place: Place = NO_PLACE) -> str:
    """Return a link that opens the page at this text (a text fragment, WICG); empty if `safe_href` is empty.

    A browser opens the first place that has the text. So a text that stands earlier in the page, too, is looked for
    between its neighbours; without them, its section is opened. A file with pages is opened at its page (RFC 8118).
    A browser without text fragments, or that doesn't find the text, opens the page at the anchor, else at its top.
    """
    link = safe_href(url)
    if not link or not text.strip("…").split():
        return link
    if place.page:
        return f"{link.partition('#')[0]}#page={place.page}"
    if place.anchor:
        link = f"{link.partition('#')[0]}#{quote(place.anchor, safe=_IN_FRAGMENTS)}"
    before = place.before if not text.startswith("…") else ""
    after = place.after if not before and "…" not in text else ""
    if place.is_repeated and place.anchor and not before and not after:
        return link
    prefix, suffix = f"{_quoted(before.split())}-," if before else "", f",-{_quoted(after.split())}" if after else ""
    return f"{link}{'' if '#' in link else '#'}:~:text={prefix}{_own_directive(text)}{suffix}"


def _own_directive(text: str) -> str:
    """Return the text as a directive has it: whole, or the first and the last words of a long one."""
    if ends := _ends_without_spaces(text):
        return ",".join(_quoted([end]) for end in ends)
    words = text.strip("…").split()
    if "…" in text:
        return _quoted(words[:END_WORDS])
    return (
        _quoted(words) if len(words) <= WHOLE_WORDS else f"{_quoted(words[:END_WORDS])},{_quoted(words[-END_WORDS:])}"
    )


def _quoted(words: Sequence[str]) -> str:
    """Return words as a directive has them: its own marks (`-`, `,` and `&`) are percent-encoded in them."""
    return "%20".join(quote(word, safe="").replace("-", "%2D") for word in words)


def _ends_without_spaces(text: str) -> tuple[str, str] | None:
    """Return the start and the end of a long text without spaces, each of whole clauses, since a browser finds only
    whole words. They are long enough to stand in no other place of the page.
    """
    if len(text) < _FRAGMENT_CHARS or not is_spaceless(text[0]) or "…" in text:
        return None
    marks = [match.start() for match in _CLAUSE_MARK.finditer(text)]
    start = next((mark for mark in marks if mark >= _FRAGMENT_END_CHARS), None)
    end = next((mark + 1 for mark in reversed(marks) if len(text) - mark > _FRAGMENT_END_CHARS), None)
    if start is None or end is None or end <= start + 1:
        return None
    return text[:start], text[end:]


def title_of(payload: StatementPayload) -> str:
    """Return a page's title; without a title, the last segment of its URL."""
    title = clean_line(payload.title, MAX_TITLE_CHARS)
    return title or breadcrumbs(payload.url)[-1] or "Untitled"


def context_of(payload: StatementPayload) -> tuple[str, ...]:
    """Return the context of a statement, the widest first, without the page's title, which is shown above it.

    A sentence is needed as a whole, and a heading is not. The sentence before a short one is the last.
    """
    title = title_of(payload)
    cleaned = (
        clean_line(line, MAX_SNIPPET_CHARS if is_closed(line) else MAX_TITLE_CHARS)
        for line in (*payload.context, payload.before)
    )
    return tuple(dict.fromkeys(line for line in cleaned if line and line != title))


def site_name_of(record: Normalized | None, host: str) -> str:
    """Return the name that a site gives itself; empty if it is only the host once more, or has another's host.

    It stands where people look for the address.
    """
    name = clean_line((record.site_name if record else None) or "", MAX_CRUMB_CHARS)
    if name.casefold().removeprefix("www.") == host.removeprefix("www."):
        return ""
    words = (word.strip(".") for word in _HOST_BORDER.split(unicodedata.normalize("NFKC", name).lower()))
    foreign = any("." in word and has_public_suffix(word) and not surely_one_owner(word, host) for word in words)
    return "" if foreign else name


def page_type_name(name: str) -> str:
    """Return the name of a type of schema.org in words: `Discussion forum posting`."""
    return _WORD_BORDER.sub(" ", name).capitalize()


def date_of(payload: StatementPayload) -> str:
    """Return the date of publication that a page states: ISO 8601, a day, a month or a year; empty if not known."""
    return plain_text.read_date(payload.published[:10])


def split_context(context: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the headings of a context, and its sentences (the antecedents of the statement)."""
    lines = tuple(context)
    sentences = tuple(line for line in lines if is_closed(line))
    return tuple(line for line in lines if line not in sentences), sentences


def surround(text: str, kind: str, context: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the headings above a statement, and what stands before it: sentences, and the term that it describes."""
    headings, sentences = split_context(context)
    before = _nearest_sentences(sentences)
    if term := _term_of(text, kind, context):
        return headings[:-1], (*before, term)
    return headings, before


def _nearest_sentences(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the last sentences that have room before a statement, with an ellipsis for those that have none.

    The last one is shortened if it has none by itself: on a phone the statement would be below the screen.
    """
    room, kept = MAX_BEFORE_CHARS, list[str]()
    for sentence in reversed(sentences):
        room -= len(sentence)
        if kept and room < 0:
            return ("…", *reversed(kept))
        kept.append(plain_text.shorten(sentence, MAX_BEFORE_CHARS))
    return tuple(reversed(kept))


def lead_of(text: str, kind: str, context: Sequence[str]) -> str:
    """Return what a reader needs before a part of a list or table: its lead-in, or the term that it describes.

    For the end of a sentence that begins in another block, it is the beginning.
    """
    if kind == "sentence":
        return beginning_of(text, context)
    if kind not in _PARTS or not context:
        return ""
    if is_closed(context[-1]):
        return context[-1]
    return _term_of(text, kind, context)


def _term_of(text: str, kind: str, context: Sequence[str]) -> str:
    """Return the term or heading of a part of a list, with a colon; "" if it has none, or begins with it.

    A heading with the number of its chapter is no term.
    """
    if not context or is_closed(context[-1]) or text.startswith(context[-1]) or context[-1][0].isdigit():
        return ""
    is_named = kind in _LISTED or (kind in _PARTS and text[:1].islower())
    return f"{context[-1]}:" if is_named else ""


def leads_of(statements: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
    """Return the lead of each shown statement of a result: (text, kind, context). Empty if it stands right above."""
    leads, above = list[str](), tuple[str, ...]()
    for number, (text, kind, context) in enumerate(statements):
        lead = lead_of(text, kind, context)
        leads.append("" if lead in above else lead)
        above = (text, *((lead,) if number else surround(text, kind, context)[1]))
    return leads


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record as JSON: bytes, UUIDs and times as text, long text shortened."""
    return {str(name): _plain(value) for name, value in values.items()}


def one_line(value: Any) -> str:
    """Return a field's value, for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "\n".join(f"{name}: {one_line(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return "\n".join(one_line(each) for each in value) or "none"
    return clean_line(str(value)) if value not in (None, "") else "none"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return plain_values(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    text = str(value).encode("utf-8", "replace").decode()
    return plain_text.shorten(text, MAX_VALUE_CHARS)
