"""Markdown -> HTML by markdown-it-py: CommonMark with tables, notes, tasks and the fields of a front matter. Pure.

HTML in the Markdown is parsed as the HTML of a web page is, so what it hides is left out. The notes and the boxes of
tasks and hints are written as GitHub reads them.
"""

import re
from collections.abc import Mapping
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from streams.charset import decode
from streams.pages.formats.converted import Converted, clean, iso_date, title_of_url
from streams.pages.text.undeclared_encodings import choose_encoding

MAX_MARKDOWN_CHARS = 1_000_000
"""Maximum length of a file (characters). A second of parsing."""
MAX_NESTING = 20
"""Maximum depth of lists and quotations."""
MAX_FRONT_LINES = 200
"""Maximum lines of a front matter."""
MAX_VALUE_CHARS = 500
_OPENING, _CLOSING = ("---", "+++"), ("---", "+++", "...")
"""Lines around a front matter: YAML's and TOML's."""
_TAG = re.compile(r"<[^<>]{0,300}>")
_HEADING = re.compile(r"<(h1|h2)(?:\s[^<>]{0,300})?>")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NOTE = re.compile(r" {0,3}\[\^([^\]\s]{1,100})\]:[ \t]*")
_NOTE_MARK = re.compile(r"\[\^([^\[\]\s]{1,100})\]")
_TASK = re.compile(r"\[([ xX])\] ")
_HINT = re.compile(r"\[!\w{1,20}\]\s*")
MAX_NOTES = 500
"""Maximum number of notes of a file."""


def convert_markdown(body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    whole = decode(body, headers.get("content-type", ""), choose_encoding)
    text = clean(whole[:MAX_MARKDOWN_CHARS].replace("\r\n", "\n"))
    fields, text = _split_front(text)
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    parser.core.ruler.push("riffle", _rewrite_marks)
    text, notes = _split_notes(text)
    html = parser.render(text, {"notes": {name: number for number, name in enumerate(notes, 1)}})
    html += "".join(_note_block(number, parser.renderInline(note)) for number, note in enumerate(notes.values(), 1))
    return Converted(
        html,
        title=fields.get("title") or _first_heading(html) or title_of_url(url),
        author=fields.get("author", ""),
        published=iso_date(fields.get("date", "")),
        language=fields.get("lang", "") or fields.get("language", ""),
        description=fields.get("description", ""),
        unread_chars=max(len(whole) - MAX_MARKDOWN_CHARS, 0),
    )


def _split_front(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of the front matter, and the text behind it."""
    lines = text.split("\n", MAX_FRONT_LINES + 1)[: MAX_FRONT_LINES + 1]
    if lines[0].rstrip() not in _OPENING:
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in _CLOSING), 0)
    if not end:
        return {}, text
    rest = text.split("\n", end + 1)[end + 1 :]
    return dict(filter(None, map(_field, lines[1:end]))), "".join(rest)


def _field(line: str) -> tuple[str, str] | None:
    """Return name and value of a line such as `title: The log`, or None."""
    separator = min((mark for mark in ":=" if mark in line), key=line.index, default="")
    name, _, value = line.partition(separator) if separator else ("", "", "")
    name, value = name.strip().lower(), value.strip()[:MAX_VALUE_CHARS].strip("\"'")
    return (name, value) if name.replace("_", "").isalpha() and name.isascii() and value else None


def _split_notes(text: str) -> tuple[str, dict[str, str]]:
    """Return the text without the definitions of notes (`[^1]: The note.`), and the notes by name. Code is kept."""
    notes: dict[str, str] = {}
    kept: list[str] = []
    fence, name = "", ""
    for line in text.split("\n"):
        if opening := _FENCE.match(line):
            if not fence:
                fence = opening[1][0]
            elif not line.strip().strip(fence):  # a line of only the mark that began the code
                fence = ""
        found = None if fence else _NOTE.match(line)
        if found and len(notes) < MAX_NOTES:
            name = found[1]
            notes.setdefault(name, line[found.end() :])
        elif name and not fence and line.startswith(("    ", "\t")):
            notes[name] += f"\n{line.strip()}"
        else:
            name = ""
            kept.append(line)
    return "\n".join(kept), notes


def _note_block(number: int, html: str) -> str:
    return f'<div role="doc-footnote" id="fn{number}">{html}</div>'


def _rewrite_marks(state: StateCore) -> None:
    """Give the marks of notes, tasks and hints their meaning. `state.env` has the numbers of the notes."""
    numbers: Mapping[str, int] = state.env.get("notes", {})
    for place, token in enumerate(state.tokens):
        if token.type != "inline" or not token.children:
            continue
        first = token.children[0]
        around = state.tokens[max(place - 2, 0)].type
        if first.type == "text" and around == "list_item_open" and (task := _TASK.match(first.content)):
            first.content = f"{'☐' if task[1] == ' ' else '☑'} {first.content[task.end() :]}"
        elif first.type == "text" and around == "blockquote_open" and (hint := _HINT.match(first.content)):
            first.content = first.content[hint.end() :]
        token.children = [part for child in token.children for part in _with_notes(child, numbers)]


def _with_notes(token: Token, numbers: Mapping[str, int]) -> list[Token]:
    """Return a token of text with links at the marks of its notes."""
    if token.type != "text" or "[^" not in token.content:
        return [token]
    parts, at = [], 0
    for mark in _NOTE_MARK.finditer(token.content):
        if number := numbers.get(mark[1]):
            parts.append(Token("text", "", 0, content=token.content[at : mark.start()]))
            link = f'<a href="#fn{number}" role="doc-noteref"><sup>{number}</sup></a>'
            parts.append(Token("html_inline", "", 0, content=link))
            at = mark.end()
    return [*parts, Token("text", "", 0, content=token.content[at:])]


def _first_heading(html: str) -> str:
    """Return the text of the first heading of the first level, else of a heading at the top, or nothing."""
    first = next((found for found in _HEADING.finditer(html) if found[1] == "h1" or not found.start()), None)
    if first is None:
        return ""
    heading, closing, _ = html[first.end() :].partition(f"</{first[1]}>")
    return " ".join(unescape(_TAG.sub("", heading[:MAX_VALUE_CHARS])).split()) if closing else ""
