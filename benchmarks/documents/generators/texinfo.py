"""Reads Texinfo: one source for each chapter."""

import re

from benchmarks.documents.generators.source import Source

_COMMAND = re.compile(r"@[a-zA-Z]+\{([^{}]*)\}")
_HEADINGS = re.compile(r"@(?:top|chapter|section|subsection|subsubsection|appendix\w*|unnumbered\w*|heading\w*)\s+(.*)")
_CHAPTER = re.compile(r"^@node\s+([^,\n]+).*\n(?=@(?:chapter|appendix|unnumbered)\s)", re.MULTILINE)
_DEFINITION = re.compile(r"@def\w+x?\s+(?:\{[^}]*\}|\S+)\s+(.*)")
_LISTING = re.compile(r"@(example|smallexample|lisp|display|verbatim)\b")
_BREAK = re.compile(r"@(?:item|end|example|smallexample|lisp|display|verbatim|table|itemize|enumerate|def)")
_TABLES = re.compile(r"@(table|vtable|ftable|itemize|enumerate)\b")


def read_chapters(text: str) -> dict[str, Source]:
    """Return the items of each chapter by the name of its node."""
    parts = _CHAPTER.split(text)
    return {name.strip(): _read(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _read(body: str) -> Source:
    source, tables = Source(), list[str]()
    body = re.sub(r"^@menu\n.*?^@end menu$", "", body, flags=re.MULTILINE | re.DOTALL)
    body = re.sub(r"^@c(?:omment)?\b.*$", "", body, flags=re.MULTILINE)
    lines, at = body.splitlines(), 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if found := _HEADINGS.match(line) or _DEFINITION.match(line):
            source.names.append(plain(found[1]))
        elif found := _LISTING.match(line):
            end = next((i for i in range(at, len(lines)) if lines[i].startswith(f"@end {found[1]}")), len(lines))
            source.code.append("\n".join(map(plain, lines[at:end])))
            at = end + 1
        elif found := _TABLES.match(line):
            tables.append(found[1])
        elif tables and line.startswith(f"@end {tables[-1]}"):
            tables.pop()
        elif line.startswith("@item"):
            at = _read_item(source, lines, at, line, bool(tables) and tables[-1].endswith("table"))
        elif not line.startswith("@") or line.startswith(("@command", "@code", "@option", "@file", "@samp")):
            source.texts.append(plain(line))
    source.title = source.names.pop(0) if source.names else ""
    return source


def _read_item(source: Source, lines: list[str], at: int, line: str, is_term: bool) -> int:
    """Read an item: a term with the paragraph below it, or a paragraph."""
    first = line.partition(" ")[2]
    while is_term and at < len(lines) and lines[at].startswith(("@itemx", "@cindex", "@kindex", "@findex", "@opindex")):
        source.names += [plain(lines[at].partition(" ")[2])] if lines[at].startswith("@itemx") else []
        at += 1
    end = next((i for i in range(at, len(lines)) if not lines[i].strip() or _BREAK.match(lines[i])), len(lines))
    if is_term:
        source.names.append(plain(first))
        first = ""
    shown = [one for one in lines[at:end] if not re.match(r"@(?:[a-z]index|noindent)\b", one)]
    source.values.append(plain(" ".join([first, *shown])))
    return end


def plain(text: str) -> str:
    """Return a text without commands."""
    text = text.replace("@@", "\0").replace("@{", "{").replace("@}", "}").replace("@dots{}", "...")
    for _ in range(4):
        text = _COMMAND.sub(r"\1", text)
    return re.sub(r"@[:.*/ ]", "", text).replace("\0", "@")
