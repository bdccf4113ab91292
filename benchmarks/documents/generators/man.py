"""Reads manual pages in roff with the macros of man(7)."""

import re

from benchmarks.documents.generators.source import Source

_ESCAPES = (
    (re.compile(r'\\".*'), ""),
    (re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\s[+-]?\d|\\[&,/|^%:)]|\\m\[\w*\]"), ""),
    (re.compile(r"\\\((?:aq|cq|oq|dq|lq|rq|bu|em|en|hy)|\\\*\(..|\\\*."), " "),
    (re.compile(r"\\\[u([0-9A-F]{4,5})\]"), lambda found: chr(int(found[1], 16))),
    (re.compile(r"\\[ ~0]"), " "),
    (re.compile(r"\\e|\\\(rs"), r"\\"),
    (re.compile(r"\\(.)"), r"\1"),
)
_FONTS = frozenset({"B", "I", "BR", "BI", "RB", "IB", "RI", "IR", "SM", "SB"})
_ARGUMENT = re.compile(r'"([^"]*)"|(\S+)')
_PARAGRAPHS = frozenset({"PP", "P", "LP", "HP", "RS", "RE", "br", "sp"})


def read_man(text: str) -> Source:
    """Return the items of a page: sections are names, tagged paragraphs are a name and a value."""
    source = Source()
    kind, held, is_code = "text", list[str](), False

    def flush() -> None:
        nonlocal held
        if joined := " ".join(held).strip():
            {"name": source.names, "value": source.values, "text": source.texts}[kind].append(joined)
        held = []

    for raw in text.splitlines():
        macro, arguments = _macro(raw)
        if is_code and macro not in {"fi", "EE"}:
            source.code[-1] += _line(macro, arguments, raw) + "\n"
        elif macro == "TH":
            source.title = arguments[0] if arguments else ""
        elif macro in {"SH", "SS"}:
            flush()
            kind, held = "name", [" ".join(arguments)]
            if arguments:
                flush()
                kind = "text"
        elif macro in {"TP", "TQ"}:
            flush()
            kind = "name"
        elif macro == "IP":
            flush()
            kind, held = "name", arguments[:1]
            flush()
            kind = "value"
        elif macro in {"nf", "EX", "fi", "EE"}:
            flush()
            kind, is_code = "text", macro in {"nf", "EX"}
            source.code += [""] if is_code else []
        elif macro in _PARAGRAPHS:
            flush()
            kind = "text" if macro not in {"br", "sp"} else kind
        elif not macro or macro in _FONTS:
            held.append(_line(macro, arguments, raw))
            if kind == "name" and held[-1].strip():
                flush()
                kind = "value"
    flush()
    return source


def _macro(line: str) -> tuple[str, list[str]]:
    if not line.startswith((".", "'")):
        return "", []
    name, _, rest = line[1:].strip().partition(" ")
    return (name or '\\"'), [plain(a or b) for a, b in _ARGUMENT.findall(rest)]


def _line(macro: str, arguments: list[str], raw: str) -> str:
    if not macro:
        return plain(raw)
    joint = "" if len(macro) == 2 and macro not in {"SM", "SB"} else " "
    return joint.join(arguments) if macro in _FONTS else ""


def plain(text: str) -> str:
    for pattern, replacement in _ESCAPES:
        text = pattern.sub(replacement, text)
    return text
