"""Reads reStructuredText: manuals of Sphinx. Page-wide tables of contents and unknown directives are left out."""

import re
from collections.abc import Iterator

from benchmarks.documents.generators.source import Source

_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\. +([\w:-]+)::\s*(.*)")
_BULLET = re.compile(r"\s*(?:[*+-]|#\.|\d+[.)]|\(\d+\))\s+(.*)")
_CELL = re.compile(r"\s*\* - (.*)")
_TARGETED = re.compile(r"(?::[\w:+-]+:)?`([^`<]*?)\s*<[^`>]*>`_{0,2}")
_MARKED = re.compile(r"(?::[\w:+-]+:)?`+([^`]*)`+_{0,2}|\*\*?([^*]+)\*\*?|\|([^|]+)\|_{0,2}|\[[#\w*-]*\]_")
_SIGNATURES = frozenset({
    "function", "class", "method", "attribute", "data", "exception", "module", "option", "envvar", "confval",
    "describe", "event", "directive", "role", "decorator", "property", "classmethod", "staticmethod",
})  # fmt: skip
_LISTINGS = frozenset({"code-block", "code", "sourcecode", "literalinclude", "doctest", "testcode", "parsed-literal"})
_UNSHOWN = frozenset({
    "image", "figure", "index", "only", "tabularcolumns", "raw", "include", "currentmodule", "contents",
    "highlight", "meta", "automodule", "autoclass", "autofunction",
})  # fmt: skip


def read_restructured(text: str) -> Source:
    """Return the items of a file. The first heading is its title."""
    source, lines = Source(), text.expandtabs().splitlines()
    at = 0
    while at < len(lines):
        at = _read_block(source, lines, at)
    source.title = source.names.pop(0) if source.names else ""
    return source


def _read_block(source: Source, lines: list[str], at: int) -> int:
    """Read what begins at a line. Returns the line behind it."""
    line = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if not line.strip() or _UNDERLINE.fullmatch(line):
        return at + 1
    if _UNDERLINE.fullmatch(following) and not line.startswith((" ", "..")):
        source.names.append(plain(line))
        return at + 2
    if found := _DIRECTIVE.match(line):
        return _read_directive(source, lines, at, found[1].rpartition(":")[2], found[2])
    if line.lstrip().startswith((".. ", ":")) or line.strip() == "..":
        return _end_of_block(lines, at) if line.lstrip().startswith(".") else at + 1
    end = _end_of_paragraph(lines, at)
    if found := _CELL.match(line):
        end = _end_of_item(lines, at)
        source.names.append(plain(found[1]))
    elif found := _BULLET.match(line):
        end = _end_of_item(lines, at)
        source.values.append(plain(" ".join([found[1], *lines[at + 1 : end]])))
    elif _indent(following) > _indent(line) and following.strip() and not _is_inside(lines, at):
        source.names.append(plain(line))
        end = _end_of_paragraph(lines, at + 1)
        source.values.append(plain(" ".join(lines[at + 1 : end])))
    else:
        source.texts.append(plain(" ".join(lines[at:end])))
    return _read_listing(source, lines, at, end) if lines[end - 1].rstrip().endswith("::") else end


def _read_directive(source: Source, lines: list[str], at: int, name: str, argument: str) -> int:
    end = _end_of_block(lines, at)
    if name in _LISTINGS:
        source.code.append("\n".join(_behind_options(lines[at + 1 : end])))
    elif name in _SIGNATURES:
        source.names += [plain(one.rstrip("\\")) for one in [argument, *_more_signatures(lines, at)] if one.strip()]
        return at + 1
    elif name == "toctree":
        source.is_index = source.is_index or not any(line.strip() == ":hidden:" for line in lines[at + 1 : end])
    elif name not in _UNSHOWN:
        source.texts.append(plain(argument))
        return at + 1
    return end


def _more_signatures(lines: list[str], at: int) -> Iterator[str]:
    """Yield the further signatures of a directive: the lines below it, up to an empty one or an option."""
    for line in lines[at + 1 :]:
        if not line.strip() or line.lstrip().startswith(":") or _indent(line) <= _indent(lines[at]):
            return
        yield line.strip()


def _read_listing(source: Source, lines: list[str], at: int, end: int) -> int:
    """Read the indented block below a paragraph that ends with two colons."""
    behind = _end_of_block(lines, end - 1, _indent(lines[at]))
    source.code.append("\n".join(lines[end:behind]))
    return behind


def _behind_options(lines: list[str]) -> list[str]:
    return [line for line in lines if not re.match(r"\s+:[\w-]+:", line)]


def _end_of_block(lines: list[str], at: int, indent: int | None = None) -> int:
    """Return the first line behind `at` that has text and is not indented more."""
    indent = _indent(lines[at]) if indent is None else indent
    return next((i for i in range(at + 1, len(lines)) if lines[i].strip() and _indent(lines[i]) <= indent), len(lines))


def _end_of_paragraph(lines: list[str], at: int) -> int:
    return next((i for i in range(at + 1, len(lines)) if not lines[i].strip()), len(lines))


def _end_of_item(lines: list[str], at: int) -> int:
    """Return the end of the first paragraph of a list's item."""
    end = _end_of_paragraph(lines, at)
    return next((i for i in range(at + 1, end) if _BULLET.match(lines[i])), end)


def _is_inside(lines: list[str], at: int) -> bool:
    """Return whether a line goes on with a paragraph."""
    return at > 0 and bool(lines[at - 1].strip()) and not _UNDERLINE.fullmatch(lines[at - 1])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def plain(text: str) -> str:
    """Return a text without roles, targets and emphasis."""
    text = _TARGETED.sub(r"\1", text)
    return _MARKED.sub(lambda found: found[1] or found[2] or found[3] or "", text).replace("\\ ", "").replace("~", "")
