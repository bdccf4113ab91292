"""The rule that judges a shown snippet: whether a reader understands it without the page. Pure.

The rule is stricter than the search's own choice of shown statements (`reading_alone`) and shares no code with it, so
that the choice is not measured by itself. It knows what a search doesn't: which lines a site repeats on many pages, and
which words are verbs. It is a rule: its share is no person's share, see `snippet_labels`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from streams.statements.statement import PageStatements

FAILURES = {
    "repeated": "the same line is on many pages of the site",
    "notice": "a copyright or `last modified` line",
    "navigation": "a row of links",
    "contents": "a heading, or a line of a table of contents that no lead-in introduces",
    "fragment": "fewer than two words",
    "item": "items of a list without their lead-in, and no sentence",
    "row": "a row without the names of its columns, and no sentence",
    "no_start": "the beginning of the sentence is missing",
    "no_end": "the end of the sentence is missing",
    "no_verb": "no verb: a name or a part of a sentence",
    "code_lines": "a listing of several lines on one line",
}
"""The classes of failure. A snippet has the first class that fits."""
MIN_REPEATED_PAGES = 4
MIN_REPEATED_SHARE = 0.05
"""Minimum pages of a site, as a number and as a share, that make a line a repeated line."""
MIN_LINKS = 3
MIN_DEFINITION_WORDS = 3
"""Minimum words of a definition below its term: "platform.uname()", "Fairly portable uname interface."."""
_NOTICE = re.compile(
    r"\b(?:last (?:modified|updated|changed)|all rights reserved|copyright \d{4}|new in version)\b|©", re.IGNORECASE
)
_MAX_NOTICE_WORDS = 25
_SEPARATOR = re.compile(r"\s[|»›·•→←]\s")
_NUMBERED = re.compile(
    r"(?:(?:Table|Figure|Example|Chapter|Section|Part|Appendix) (?:[A-Z]|\d{1,3})|[A-Z](?=\.)|\d{1,3})"
    r"(?:\.\d{1,3}){0,5}+[.:]?\s"
)
_END = re.compile(r"[.!?…。！？][\"'’”»)\]]{0,3}\Z")
_LEAD = re.compile(r"[.!?…。！？:：][\"'’”»)\]]{0,3}\Z")
_CUT_START = re.compile(r"(?:and|or|but|nor)\s|[,;:)\]…]")
_CUT_END = re.compile(r"(?:[,;:：]|[\s,;](?:and|or|but|nor|the|a|an|of|to|with))\Z")
_OF_CODE = re.compile(r"[_()/\d=-]")
"""A character of a name of code, such as `git-stash` or `sqlite3_open()`: it has no capital in any place."""
_NAMED_CELL = re.compile(r"[^|:]{1,80}:\s")
_DIGITS = re.compile(r"\d+")
_ITEMS = frozenset({"item", "link", "list"})
_COLONS = (":", "：")

HasVerb = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A statement as a reader of results sees it."""

    query: str
    url: str
    text: str
    kind: str
    context: tuple[str, ...]
    """The context that is shown: without the page's title."""
    stored: str
    """The text in the index."""
    title: str = ""
    """The title of the page, which a reader sees above the snippet."""


Repeated = Mapping[str, frozenset[str]]
"""The repeated lines of each site, folded, by host."""


def fold_line(text: str) -> str:
    """Return the line in a form that is the same for lines which differ only in case, spaces and numbers."""
    return _DIGITS.sub("0", " ".join(text.split()).casefold())


def repeated_lines(pages: Iterable[PageStatements]) -> Repeated:
    """Return the lines that many pages of a site have."""
    sizes: Counter[str] = Counter()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for page in pages:
        host = urlsplit(page.url).netloc
        sizes[host] += 1
        counts[host].update({fold_line(statement.text) for statement in page.statements if statement.kind != "code"})
    return {
        host: frozenset(
            line for line, count in lines.items() if count >= max(MIN_REPEATED_PAGES, MIN_REPEATED_SHARE * sizes[host])
        )
        for host, lines in counts.items()
    }


def find_failure(snippet: Snippet, repeated: Repeated, has_verb: HasVerb) -> str:
    """Return the class of failure of a snippet; empty if the snippet reads alone."""
    text = snippet.text.strip()
    if snippet.kind == "code":
        return _failure_of_code(snippet)
    if fold_line(snippet.stored) in repeated.get(urlsplit(snippet.url).netloc, frozenset()):
        return "repeated"
    return _failure_of_line(text, snippet, has_verb) or _failure_of_prose(text, snippet, has_verb)


def _failure_of_code(snippet: Snippet) -> str:
    if "\n" in snippet.stored.strip() and "\n" not in snippet.text:
        return "code_lines"
    return "" if _count_words(snippet.text) > 1 else "fragment"


def _failure_of_line(text: str, snippet: Snippet, has_verb: HasVerb) -> str:
    """Return the class of a line that is part of the site's frame."""
    kind = snippet.kind
    if len(text.split()) <= _MAX_NOTICE_WORDS and _NOTICE.search(text):
        return "notice"
    if kind != "row" and len(_SEPARATOR.split(text)) >= MIN_LINKS and not _END.search(text):
        return "navigation"
    is_introduced = kind in _ITEMS and bool(snippet.context) and snippet.context[-1].endswith(_COLONS)
    is_numbered = _NUMBERED.match(text) and not _END.search(text) and not has_verb(text)
    # "This page lists:" says what the numbers are.
    if kind == "heading" or (is_numbered and not is_introduced):
        return "contents"
    return "" if _count_words(text) > 1 else "fragment"


def _failure_of_prose(text: str, snippet: Snippet, has_verb: HasVerb) -> str:
    # The lead-in of a list completes its items: "the ferry does not leave after:", "a storm, or".
    if snippet.context and _LEAD.search(snippet.context[-1].strip()) and snippet.kind in _ITEMS | {"row"}:
        return ""
    if snippet.kind == "row":
        cells = text.split(" | ")
        # Of two cells, the first may be the name of the second: "Default: 8192".
        return "" if has_verb(text) or all(map(_NAMED_CELL.match, cells)) else "row"
    # A description is shown below its term: "-n string", "true if the length is not zero."
    if (
        snippet.kind in {"item", "link"}
        and snippet.context
        and _END.search(text)
        and _count_words(text) >= MIN_DEFINITION_WORDS
    ):
        return ""
    if _starts_inside(text):
        return "no_start"
    if _CUT_END.search(text) or (snippet.kind not in _ITEMS and not _END.search(text)):
        return "no_end"
    if not has_verb(text) and not _lacks_a_subject(text, has_verb):
        return "item" if snippet.kind in _ITEMS else "no_verb"
    return ""


def _lacks_a_subject(text: str, has_verb: HasVerb) -> bool:
    """Return whether a sentence of a manual begins with its verb: "Returns a random number.", "Choose a colour."

    A tagger takes such a verb for a noun.
    """
    return _END.search(text) is not None and has_verb(f"It {text[0].lower()}{text[1:]}")


def _starts_inside(text: str) -> bool:
    first = text.lstrip("\"'“‘«([{*–—- ")
    if _CUT_START.match(text):
        return True
    return first[:1].islower() and not _OF_CODE.search(first.split(maxsplit=1)[0])


def _count_words(text: str) -> int:
    return sum(any(map(str.isalpha, word)) for word in text.split())
