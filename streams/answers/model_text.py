"""The sentences of a model's text, with the numbers of the statements that they name. Pure.

A model's text is a stranger's text: markup, links and addresses are taken out, and nothing of it is ever an address.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from streams.answers.prompts import visible
from streams.language.marks import MARKS
from streams.plain_text import clean_line

MAX_LINE_CHARS = 2_000
"""Maximum characters of a line that are read. Other characters of the line are left out."""
NONE = re.compile(r"^\W{0,8}none\b", re.IGNORECASE)
"""The line of a model that names nothing."""
MAX_NAMED = 4
"""Maximum statements that a sentence may name."""

_CITED = re.compile(r"\[\s{0,2}(\d{1,2}(?:\s{0,2},\s{0,2}\d{1,2}){0,5})\s{0,2}\]")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\(([^()]{0,600})\)")
_TAG = re.compile(r"<[/!?A-Za-z][^<>]{0,300}>")
_ARGUMENT = re.compile(r"<[A-Za-z][\w, ]{0,60}>")
"""The part of a program's name in `List<String>`. It is no tag."""
_ADDRESS = re.compile(r"(?:(?:https?|ftp|file|ws|wss)://|www\.|mailto:|data:|javascript:)\S{0,600}+", re.IGNORECASE)
_MARKER = re.compile(r"^\s{0,8}(?:[-*•]|#{1,6}|>{1,6}(?=\s{1,4}[^\s\d])|\d{1,2}[.)])\s+")
_FENCE = re.compile(r"^\s{0,8}(?:```|~~~)\w{0,20}\s*$")
_CODE = re.compile(r"(?<![\w`])(`{1,2})([^`]{1,300})\1(?![\w`])")
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,400})(?<=\S)\1(?![\w*])"
    r"|(?<![\w~])(~~)(?=[^\s~])([^~]{1,400})(?<=\S)~~(?![\w~])"
    r"|(?<![\w_])(_{1,3})(?=[^\W_])([^_]{1,500})(?<=\S)\5(?![\w_])"
)
"""Pairs of marks around whole words. Other such characters belong to what is said: `*.log`, `~5`, `C#`, `_id`."""
_NESTED = 2
"""Emphasis inside of emphasis that is read."""
_SIGNED = re.compile(r"^(?:[\"“”' ,;:]|[-–—](?!\d)){0,40}")
"""Characters that may stand before a sentence, except the sign of a number."""
_BREAK = re.compile(rf"(?<=[{MARKS}]) (?=[A-Z\"“])")


@dataclass(frozen=True, slots=True)
class ModelSentence:
    """A sentence as the model wrote it, without markup."""

    text: str
    named: tuple[int, ...] = ()
    """The numbers of the statements that it names, from 1."""


class SentenceReader:
    """Collects the pieces of a stream, and yields its sentences as soon as their line has ended."""

    def __init__(self) -> None:
        self._rest = ""

    def read(self, piece: str) -> Iterator[ModelSentence]:
        """Yield the sentences of the lines that end in this piece."""
        *lines, rest = (self._rest + piece).split("\n")
        self._rest = rest[:MAX_LINE_CHARS]
        for line in lines:
            yield from sentences_of(line)

    def end(self, *, is_cut: bool = False) -> Iterator[ModelSentence]:
        """Yield the sentences of the last line.

        `is_cut`: the text has no end. A last sentence that names no statement behind it is left out: it may go on.
        """
        rest, self._rest = self._rest, ""
        sentences = list(sentences_of(rest))
        yield from sentences[:-1] if is_cut and sentences and not sentences[-1].named else sentences


def sentences_of(line: str) -> Iterator[ModelSentence]:
    """Yield the sentences of a line, each with the statements that are named behind it."""
    line = _without_marks(_LINK.sub(r"\1 ", visible(line[:MAX_LINE_CHARS])))
    place = 0
    for cited in _CITED.finditer(line):
        numbers = tuple(int(number) for number in cited[1].split(","))[:MAX_NAMED]
        between = line[place : cited.start()]
        yield from _with_last_named(between, numbers)
        place = cited.end()
    yield from _with_last_named(line[place:], ())


def _with_last_named(text: str, named: tuple[int, ...]) -> Iterator[ModelSentence]:
    parts = [plain for part in _BREAK.split(clean_line(text)) if (plain := _plain_sentence(part))]
    for number, part in enumerate(parts, start=1):
        yield ModelSentence(part, named if number == len(parts) else ())


def _without_marks(line: str) -> str:
    """Return a line without the marks of emphasis, code, headings and lists around its words."""
    if _FENCE.match(line):
        return ""
    parts: list[str] = []
    place = 0
    for code in _CODE.finditer(line):  # what stands in code is no emphasis
        parts += [_without_emphasis(line[place : code.start()]), code[2]]
        place = code.end()
    return _MARKER.sub("", "".join([*parts, _without_emphasis(line[place:])]))


def _without_emphasis(text: str) -> str:
    for _ in range(_NESTED):
        text = _EMPHASIS.sub(_of_emphasis, text)
    return text


def _of_emphasis(found: re.Match[str]) -> str:
    """Return the marked words. A single word between underscores is a name, as `_id_`."""
    words = found[2] or found[4] or found[6]
    return words if found[6] is None or any(char.isspace() for char in words) else found[0]


def _plain_sentence(text: str) -> str:
    """Return the text without tags and addresses; empty if nothing is left that says something."""
    text = _ADDRESS.sub(" ", _TAG.sub(_of_tag, text))
    text = _SIGNED.sub("", clean_line(text)).rstrip("\"“”' ,;:-–—")
    return text if any(char.isalpha() for char in text) else ""


def _of_tag(tag: re.Match[str]) -> str:
    before = tag.string[tag.start() - 1 : tag.start()]
    return tag[0] if before.isalnum() and _ARGUMENT.fullmatch(tag[0]) else " "
