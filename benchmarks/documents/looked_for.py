"""Names and values of a page, which people search for, and whether a text shows them.

A name is a heading, a term of a definition, a header cell, the first cell of a row, a caption, a signature. A value is
another cell, a definition, a list item. An item is shown if its words stand in a row at the beginning of a line or of a
cell: a word somewhere in a paragraph is no heading. Numbers before it (`1.2 Options`) are skipped. Only the first words
of an item are compared, so that a mark inside of a long definition decides nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from lxml import html as lxml_html

MAX_WORDS = {"names": 12, "values": 8, "code": 30}
"""Maximum words of an item of each kind that are compared."""
KINDS = tuple(MAX_WORDS)
SHARES = ("names_recall", "names_precision", "values_recall", "values_precision", "code_recall", "chrome",
          "language_accuracy")  # fmt: skip
"""The figures of an extractor. Chrome is the share of its words that stand in no pair of words of the source."""
MAX_LABEL = 3
"""Maximum words of a number before a name: `Chapter 1.2`."""
_WORD = re.compile(r"[^\W_]+")
_BREAKS = re.compile(r"[\n\r\t]")
_LINE = re.compile(r"[\n\r\t|]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_UNREAD_TAGS = ("script", "style", "noscript", "template", "head")
_INLINE_TAGS = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins",
    "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "var", "wbr",
})  # fmt: skip


def item_words(text: str) -> list[str]:
    """Return the words of a text, without invisible characters. An underscore divides words: some pages break there."""
    return _WORD.findall(_INVISIBLE.sub("", text).lower())


@dataclass(frozen=True, slots=True)
class Wanted:
    """The truth of a page beside its main text. Each list may have an item more than once."""

    names: Sequence[str] = ()
    values: Sequence[str] = ()
    code: Sequence[str] = ()
    other_names: Sequence[str] = ()
    """Names of the page's menus: links that no source has."""
    other_values: Sequence[str] = ()
    source: str = ""
    """All text of the source."""
    language: str = ""

    @classmethod
    def read(cls, truth: Mapping[str, Any]) -> "Wanted":
        lists = {name: tuple(truth.get(name) or ()) for name in (*KINDS, "other_names", "other_values")}
        return cls(**lists, source=str(truth.get("source") or ""), language=str(truth.get("language") or ""))


class Shown:
    """A text as it is shown: its words, and where its lines and cells begin."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self._starts: dict[str, list[int]] = {}
        for line in _LINE.split(text):
            first = len(self.words)
            self.words += item_words(line)
            for at in range(first, min(first + MAX_LABEL + 1, len(self.words))):
                if at == first or is_label(self.words[at - 1]):
                    self._starts.setdefault(self.words[at], []).append(at)

    def count(self, item: Sequence[str]) -> int:
        """Return how often an item begins a line or a cell."""
        return sum(self.words[at : at + len(item)] == item for at in self._starts.get(item[0], ()))

    def found(self, items: Iterable[str], kind: str) -> int:
        """Return how many of the items are shown. An item that the list has twice must be shown twice."""
        return sum(min(times, self.count(list(item))) for item, times in counted(items, kind).items())

    def contains(self, item: Sequence[str]) -> bool:
        """Return whether the words of an item stand in a row anywhere."""
        return f" {' '.join(item)} " in self._joined

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(self.words)} "

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        return set(pairwise(self.words))

    def strange(self, source: "Shown") -> int:
        """Return the number of words that stand in no pair of neighbours that a source has."""
        known = [pair in source.pairs for pair in pairwise(self.words)]
        return sum(not (left or right) for left, right in zip([False, *known], [*known, False], strict=True))


def is_label(word: str) -> bool:
    return len(word) == 1 or any(map(str.isdigit, word))


def counted(items: Iterable[str], kind: str) -> Counter[tuple[str, ...]]:
    """Return the compared words of each item, with how often the list has it. Items without words are left out."""
    return Counter(words for item in items if (words := tuple(item_words(item)[: MAX_WORDS[kind]])))


@dataclass(slots=True)
class LookedFor:
    """The running figures of one extractor, by type of page."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, kind: str, wanted: Wanted, text: str, language: str) -> None:
        shown = Shown(text)
        of_type = self.counts.setdefault(kind, Counter())
        for name in KINDS:
            items = getattr(wanted, name)
            of_type[f"{name} wanted"] += counted(items, name).total()
            of_type[f"{name} found"] += shown.found(items, name)
        of_type["names other"] += shown.found(wanted.other_names, "names")
        of_type["values other"] += shown.found(wanted.other_values, "values")
        of_type["words"] += len(shown.words)
        of_type["strange"] += shown.strange(Shown(wanted.source))
        if wanted.language and language:
            of_type["languages"] += 1
            of_type["languages right"] += language.partition("-")[0] == wanted.language.partition("-")[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the shares of all pages together, and of each type. Empty if no page has such a truth."""
        total: Counter[str] = sum(self.counts.values(), Counter())
        if not total["names wanted"]:
            return {}
        return {**_shares(total), "by_type": {kind: _shares(counts) for kind, counts in sorted(self.counts.items())}}


def _shares(counts: Counter[str]) -> dict[str, float | None]:
    parts = (counts["names found"], counts["names found"], counts["values found"], counts["values found"],
             counts["code found"], counts["strange"], counts["languages right"])  # fmt: skip
    wholes = (counts["names wanted"], counts["names found"] + counts["names other"], counts["values wanted"],
              counts["values found"] + counts["values other"], counts["code wanted"], counts["words"],
              counts["languages"])  # fmt: skip
    shares = zip(SHARES, parts, wholes, strict=True)
    return {name: round(part / whole, 4) if whole else None for name, part, whole in shares}


def parse_html(html: bytes | str) -> lxml_html.HtmlElement:
    """Parse a page, without scripts, styles and head."""
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    root = lxml_html.document_fromstring(html if isinstance(html, bytes) else html.encode(), parser=parser)
    unread: list[Any] = list(root.iter(*_UNREAD_TAGS))
    for element in unread:
        element.drop_tree()
    return root


def text_of(root: lxml_html.HtmlElement) -> str:
    """Return all text of an element, with a line for each block."""
    return "".join(_parts(root)).strip()


def _parts(element: lxml_html.HtmlElement) -> Iterator[str]:
    """Yield texts in the order of the page, with a break around each block."""
    stack: list[tuple[Any, bool]] = [(element, False)]
    while stack:
        one, is_end = stack.pop()
        if one.tag not in _INLINE_TAGS:
            yield "\n"
        if is_end:
            yield _inline(one.tail, one.getparent()) if one is not element else ""
        else:
            yield _inline(one.text, one)
            stack.append((one, True))
            stack.extend((child, False) for child in reversed(one))


def _inline(text: str | None, holder: Any) -> str:
    """Return a text with spaces for its line breaks, except in `pre`."""
    is_listing = "\n" in (text or "") and any(one.tag == "pre" for one in (holder, *holder.iterancestors("pre")))
    return (text or "") if is_listing else _BREAKS.sub(" ", text or "")
