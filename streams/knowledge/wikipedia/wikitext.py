"""The beginning of an article as plain text, with its links; and the lists of a disambiguation page. Pure.

mwparserfromhell parses the wikitext. Only the part before the first heading is parsed, and at most MAX_LEAD_CHARS of
it: an article is summed up there, and parsing takes time in proportion. Of templates only those stay that show their
own argument (units, foreign words): all others would need the whole wiki to be shown. A sentence that lost a word with
one of the others is left out (`lost_values`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Node, Tag, Template, Wikilink
from mwparserfromhell.nodes import Text as Words

from streams.knowledge.wikipedia.lost_values import Marks, drop_marks, sentence_ends, without_mark_signs
from streams.language.months import date_words

MAX_LEAD_CHARS = 60_000
MAX_LIST_CHARS = 120_000
"""Maximum length of a disambiguation page that is parsed (characters)."""
MAX_NODES = 20_000
MAX_OPENINGS = 2_000
"""Maximum openings of links, templates and tags that are parsed. Unclosed ones take the parser 0.5 s; an ordinary
beginning has some hundred."""
_OPENING = re.compile(r"\{\{|\[\[|<")
MAX_LEVELS = 12
"""Maximum nesting of nodes that is followed."""
_HEADING = re.compile(r"^==", re.MULTILINE)
_SHOWN_FIRST = frozenset({
    "nowrap", "nobold", "small", "big", "em", "strong", "abbr", "math", "mvar", "ill", "interlanguage link", "nts",
    "number",
})  # fmt: skip
"""Templates that show their first argument."""
_CIRCA = frozenset({"circa", "c.", "ca.", "ca"})
_DATES = re.compile(r"(?:birth|death|start|end|film)[ -](?:date|year)(?: and (?:age|years ago))?|bda|dda|dob|dod")
"""Templates that show a year, a month and a day. An age is not shown."""
_BETWEEN = {
    "to": " to ", "-": "–", "–": "–", "and": " and ", "or": " or ", "x": " × ", "×": " × ", "by": " by ",
}  # fmt: skip
"""The words between two numbers of `convert`, and how they are shown."""
_AMOUNT = re.compile(r"[-+−]?[0-9][0-9.,/]{0,15}")
_FORMAT_NUMBER = "formatnum:"
_SHOWN_SECOND = frozenset({"lang", "langx", "transliteration", "transl"})
"""Templates that show their second argument. The first one is a language."""
_IS_LANGUAGE = re.compile(r"lang-[a-z-]{2,12}")
_HIDDEN_TAGS = frozenset(
    {"ref", "table", "gallery", "timeline", "imagemap", "math", "score", "references", "style", "div"}
)
_FORMULAS = frozenset({"math", "score", "chem", "ce"})
"""Tags that show something in a sentence which is no text."""
_SIGNS = {
    "nbsp": " ", "spaces": " ", "space": " ", "snd": " – ", "spnd": " – ", "spaced ndash": " – ", "ndash": "–",
    "mdash": "—", "dash": "–", "dot": " · ", "bull": " · ", "'": "'", "'s": "'s", "!": "|", "=": "=", "shy": "",
    "wbr": "", "zwj": "", "zwnj": "",
}  # fmt: skip
"""Templates that show a sign."""
_MEDIA = frozenset({"file", "image", "media", "category"})
_EMPTY_BRACKETS = re.compile(r"\((?: ?[;,:–—-]){0,8} ?\)")
_BRACKET_START = re.compile(r"\((?: ?[;,:]){1,8} ?")
_BRACKET_END = re.compile(r"(?: ?[;,:]){1,8} ?\)")
_SPACE_BEFORE = re.compile(r" ([,.;:!?)])")
"""Patterns with bounded repeats: a long row of commas takes linear time."""


@dataclass(slots=True)
class Lead:
    """The beginning of an article."""

    text: str = ""
    bold: list[str] = field(default_factory=list)
    """Names in bold type: those that the article is about."""
    links: list[str] = field(default_factory=list)
    """Titles of linked pages, in their order."""
    description: str = ""
    """The text of the template `short description`."""
    marks: Marks = field(default_factory=Marks)
    lost: set[str] = field(default_factory=set)
    """Names of the templates without which a sentence was left out, in lower case."""


def read_lead(wikitext: str) -> Lead:
    """Return the beginning of an article."""
    heading = _HEADING.search(wikitext, 0, MAX_LEAD_CHARS)
    source = without_mark_signs(cut_openings(wikitext[: heading.start() if heading else MAX_LEAD_CHARS]))
    lead, walker = Lead(), _Walker()
    # Apostrophes are tags: bold names are wanted.
    parsed = mwparserfromhell.parse(source)
    parts = list(walker.words(parsed.nodes, lead, 0))
    text, lead.lost = lead.marks.drop_holes("\n".join(" ".join(line.split()) for line in "".join(parts).split("\n")))
    lead.text = clean(text)
    return lead


def cut_openings(wikitext: str) -> str:
    """Return the text before the first opening beyond MAX_OPENINGS: the parser's time grows with their square."""
    for number, opening in enumerate(_OPENING.finditer(wikitext), start=1):
        if number > MAX_OPENINGS:
            return wikitext[: opening.start()]
    return wikitext


def clean(text: str) -> str:
    """Return a text without what removed templates leave behind: empty brackets, spaces before commas."""
    lines = []
    for words in text.splitlines():
        line = _EMPTY_BRACKETS.sub("", " ".join(words.split()))
        line = _BRACKET_END.sub(")", _BRACKET_START.sub("(", line))
        lines.append(_SPACE_BEFORE.sub(r"\1", " ".join(line.split())).replace("( ", "("))
    return "\n".join(line for line in lines if line)


def summarize(text: str, max_chars: int) -> str:
    """Return the first paragraph of prose, cut behind a sentence; with the next one if it is very short."""
    prose = [line for line in text.splitlines() if not line.startswith(("*", "#", ":", ";", "|", "{", "}"))]
    taken = ""
    for line in prose:
        if len(line) < 40 and not taken:
            continue
        taken = f"{taken} {line}".strip()
        if len(taken) >= 200:
            break
    return cut_sentences(taken, max_chars)


def cut_sentences(text: str, max_chars: int) -> str:
    """Return whole sentences of at most `max_chars` characters; if the first is longer, its beginning with `…`."""
    if len(text) <= max_chars:
        return text
    ends = [
        found.start() + (1 if text[found.start() : found.start() + 1] in '"”’)' else 0)
        for found in sentence_ends(text, max_chars)
    ]
    if ends and ends[-1] >= max_chars // 4:
        return text[: ends[-1]].rstrip()
    return f"{text[: max_chars - 1].rsplit(' ', 1)[0].rstrip(',;: ')}…"


class _Walker:
    """A walk over the nodes of an article, in bounded steps."""

    def __init__(self) -> None:
        self.steps = 0

    def words(self, nodes: list[Node], lead: Lead, level: int) -> Iterator[str]:
        """Yield the texts that a reader sees."""
        for node in nodes:
            self.steps += 1
            if self.steps > MAX_NODES or level > MAX_LEVELS:
                return
            if isinstance(node, Words):
                yield str(node)
            elif isinstance(node, HTMLEntity):
                yield _entity(node)
            elif isinstance(node, Wikilink):
                yield from self._link(node, lead, level)
            elif isinstance(node, Template):
                yield from self._template(node, lead, level)
            elif isinstance(node, Tag):
                yield from self._tag(node, lead, level)
            elif isinstance(node, ExternalLink) and node.title is not None:
                yield from self.words(node.title.nodes, lead, level + 1)

    def _link(self, node: Wikilink, lead: Lead, level: int) -> Iterator[str]:
        title = str(node.title).strip()
        namespace, mark, rest = title.lstrip(": ").partition(":")
        if mark and namespace.strip().lower() in _MEDIA:
            return
        if (
            not (mark and is_namespace(namespace, rest))
            and title
            and not title.startswith("#")
            and len(lead.links) < 200
        ):
            lead.links.append(title_of(title))
        shown = node.text
        if shown is not None:
            yield from self.words(shown.nodes, lead, level + 1)
        else:
            yield title.lstrip(":").split("#")[0] or title

    def _template(self, node: Template, lead: Lead, level: int) -> Iterator[str]:
        name = str(node.name).strip().lower().replace("_", " ")
        if name in ("short description", "shortdescription"):
            lead.description = clean(_first(node))[:250]
            return
        arguments = [one.value for one in node.params if not one.showkey]
        if name in _SIGNS:
            yield _SIGNS[name]
        elif name in ("convert", "cvt") and len(arguments) >= 2:
            yield _converted([str(one).strip() for one in arguments[:6]])
        elif name in _CIRCA:
            yield " ".join(["c.", *self.words(arguments[0].nodes, lead, level + 1)] if arguments else ["c."])
        elif name == "val" and arguments:
            units = (str(one.value).strip() for one in node.params if str(one.name).strip() in ("u", "ul"))
            yield " ".join([str(arguments[0]).strip(), *units])
        elif _DATES.fullmatch(name):
            yield _date([str(one).strip() for one in arguments[:3]])
        elif name.startswith(_FORMAT_NUMBER):
            yield name.removeprefix(_FORMAT_NUMBER)
        elif (name in _SHOWN_FIRST or _IS_LANGUAGE.fullmatch(name)) and arguments:
            yield from self.words(arguments[0].nodes, lead, level + 1)
        elif name in _SHOWN_SECOND and len(arguments) >= 2:
            yield from self.words(arguments[1].nodes, lead, level + 1)
        else:
            yield lead.marks.put(name)

    def _tag(self, node: Tag, lead: Lead, level: int) -> Iterator[str]:
        name = str(node.tag).strip().lower()
        if name == "br":
            yield " "
        if name in _FORMULAS:
            yield lead.marks.put(f"<{name}>")
        if name in _HIDDEN_TAGS or node.contents is None:
            return
        if node.wiki_markup in ("*", "#", ":", ";"):
            yield node.wiki_markup
            return
        parts = list(self.words(node.contents.nodes, lead, level + 1))
        if name == "b" and len(lead.bold) < 20 and (bold := clean(drop_marks("".join(parts)))):
            lead.bold.append(bold)
        yield from parts


def is_namespace(name: str, rest: str) -> bool:
    """Return whether a title begins with a namespace or another wiki's prefix: `Category:`, `de:`. A colon with a space
    behind it belongs to the title: `Avatar: The Last Airbender`."""
    return name.isascii() and name.replace("-", "").isalpha() and not rest.startswith(" ")


def _converted(arguments: list[str]) -> str:
    """Return the first amount of `convert`: `5 ft 6 in` of `5|ft|6|in|cm`, `5 to 10 km` of `5|to|10|km|mi`."""
    first, second, *rest = arguments
    if second.lower() in _BETWEEN and len(rest) >= 2:
        return f"{first}{_BETWEEN[second.lower()]}{rest[0]} {rest[1]}"
    if len(rest) >= 2 and _AMOUNT.fullmatch(rest[0]) and not _AMOUNT.fullmatch(rest[1]):
        return f"{first} {second} {rest[0]} {rest[1]}"
    return f"{first} {second}"


def _date(arguments: list[str]) -> str:
    """Return `2 January 1990` of `1990|1|2`, as far as it is given. Empty if it is no date."""
    numbers = [int(one) for one in arguments if one.isascii() and one.isdigit() and len(one) <= 4]
    if len(numbers) != len(arguments) or not numbers:
        return arguments[0] if arguments else ""
    year, *rest = numbers
    if not rest or not 1 <= rest[0] <= 12:
        return date_words(year)
    return date_words(year, rest[0], next((one for one in rest[1:] if 1 <= one <= 31), 0))


def _first(node: Template) -> str:
    return next((str(one.value) for one in node.params if not one.showkey), "")


def _entity(node: HTMLEntity) -> str:
    try:
        found: Any = node.normalize()
    except (ValueError, OverflowError):
        return ""
    return without_mark_signs(found) if isinstance(found, str) else ""


def title_of(link: str) -> str:
    """Return the title of the page that a link names, as the wiki spells it: without section, first letter upper."""
    title = " ".join(link.split("#", 1)[0].replace("_", " ").lstrip(":").split())
    return title[:1].upper() + title[1:]


@dataclass(frozen=True, slots=True)
class ListedMeaning:
    """An item of the list of a disambiguation page."""

    title: str
    """Title of the linked article."""
    words: str
    """The rest of the item."""


def read_meanings(wikitext: str) -> list[ListedMeaning]:
    """Return the meanings that a disambiguation page lists, in their order: the first link of each item."""
    found: list[ListedMeaning] = []
    for line in wikitext[:MAX_LIST_CHARS].splitlines():
        if not line.startswith("*") or len(line) > 2_000 or len(found) >= 60:
            continue
        lead = Lead()
        nodes = mwparserfromhell.parse(line.lstrip("*: ")).nodes
        words = clean(drop_marks("".join(_Walker().words(nodes, lead, 0))))
        if lead.links:
            found.append(ListedMeaning(lead.links[0], words[:250]))
    return found
