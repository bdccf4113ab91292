"""Reads formulas as TeX, from MathML, KaTeX and MathJax 2 and 3.

Many pages have the TeX source of a formula beside its drawing. If there are only MathML's presentation elements, TeX is
written from them: fractions, roots, superscripts and the like as TeX commands, and all other signs unchanged.
"""

import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import outermost, remove_all, with_ancestors

_DRAWN = (
    ".katex-html, .MathJax_Preview, span.MathJax, span.MathJax_CHTML, span.MathJax_SVG, div.MathJax_Display, mjx-math"
)
_STYLE = "{\\displaystyle"
MAX_DEPTH = 60
"""Maximum number of nested elements in a formula. Only the text of a deeper formula is read."""
MAX_NODES = 5_000
"""Maximum number of nodes in a formula. Only the text of a larger formula is read."""

_SIGNS = str.maketrans({"\u2212": "-", "{": "\\{", "}": "\\}"} | dict.fromkeys("\u2061\u2062\u2063\u2064\u200b", ""))
"""The minus as it is typed, escaped braces, and invisible operators removed (application, product, separation, sum)."""
_ACCENTS_ABOVE = {
    "\u00af": "overline", "\u203e": "overline", "_": "overline", "\u0305": "overline", "^": "hat", "\u02c6": "hat",
    "\u0302": "hat", "~": "tilde", "\u02dc": "tilde", "\u0303": "tilde", "\u02d9": "dot", "\u0307": "dot",
    "\u00a8": "ddot", "\u0308": "ddot", "\u2192": "vec", "\u20d7": "vec", "\u02c7": "check", "\u02d8": "breve",
    "\u23de": "overbrace",
}  # fmt: skip
_ACCENTS_BELOW = {
    "_": "underline", "\u0332": "underline", "\u203e": "underline", "\u00af": "underline", "\u23df": "underbrace",
}  # fmt: skip
_UNIT = re.compile(r"(?:\w++|.|\([^()]*+\)|\\[a-z]++(?:\{[^{}]*+\})*+)", re.DOTALL)
"""A base that needs no braces before its superscript or subscript."""
_NO_BAR = re.compile(r"\s*+0[.0]*+\s*+(?:[a-z]{2}\s*+|%\s*+)?")
_WORD_BEFORE = re.compile(r"[^\W\d_]{2}\Z")
_WORD_BEHIND = re.compile(r"[^\W\d_]{2}")
_INVISIBLE = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maligngroup", "malignmark"})


def unify_formulas(tree: LexborHTMLParser) -> None:
    """Turn MathJax's script elements into `math`, and remove the drawings beside the sources of formulas.

    A drawing with a `math` element in it stays, and so do `html` and `body`, whatever class they have.
    """
    for node in list(outermost(tree.css('script[type^="math/tex"]'))):
        formula = tree.create_node("math")
        formula.insert_child(node.text())
        node.replace_with(formula, move=True)
    kept = with_ancestors(tree.css("math, body"))
    remove_all(node for node in tree.css(_DRAWN) if node.mem_id not in kept)


def source_of(node: LexborNode) -> str:
    """Return the TeX source of a `math` element, or TeX written from its MathML."""
    for note in node.css("annotation"):
        if "tex" in (note.attributes.get("encoding") or "").lower():
            return _remove_display_style(note.text())
    if alternative := node.attributes.get("alttext"):
        return _remove_display_style(alternative)
    if next(node.iter(), None) is None:
        return _remove_display_style(node.text())
    try:
        return _remove_display_style(_Reading().of(node))
    except _TooLargeError:
        return _remove_display_style(node.text())


def _remove_display_style(source: str) -> str:
    """Remove the `{\\displaystyle ...}` that MediaWiki puts around each formula."""
    source = " ".join(source.split())
    if source.startswith(_STYLE) and source.endswith("}"):
        source = source[len(_STYLE) : -1].strip()
    return source


class _TooLargeError(Exception):
    """A formula has more than MAX_NODES nodes or MAX_DEPTH levels."""


class _Reading:
    """Writes one formula as TeX, with limits on its size."""

    def __init__(self) -> None:
        self._nodes = 0
        self._depth = 0

    def of(self, node: LexborNode) -> str:
        self._nodes += 1
        self._depth += 1
        if self._nodes > MAX_NODES or self._depth > MAX_DEPTH:
            raise _TooLargeError
        tag = node.tag or ""
        write = _WRITERS.get(tag)
        if tag in _INVISIBLE:
            found = ""
        elif write is not None:
            found = write(self, node)
        else:
            found = self._row(node)
        self._depth -= 1
        return found

    def _row(self, node: LexborNode) -> str:
        return _concatenate([self.of(part) for part in node.iter(include_text=True)])

    def _parts(self, node: LexborNode, count: int) -> list[str]:
        """Return the TeX of each child element, and at least `count` texts: empty ones for missing elements."""
        found = [self.of(part) for part in node.iter()]
        return [*found, *[""] * count][: max(count, len(found))]

    def _token(self, node: LexborNode) -> str:
        self._nodes += sum(1 for _ in zip(node.traverse(), range(MAX_NODES), strict=False))
        return " ".join(node.text().split()).translate(_SIGNS)

    def _fraction(self, node: LexborNode) -> str:
        above, below = self._parts(node, 2)[:2]
        name = "binom" if _NO_BAR.fullmatch(node.attributes.get("linethickness") or "") else "frac"
        return f"\\{name}{{{above}}}{{{below}}}"

    def _square_root(self, node: LexborNode) -> str:
        return f"\\sqrt{{{self._row(node)}}}"

    def _root(self, node: LexborNode) -> str:
        base, index = self._parts(node, 2)[:2]
        return f"\\sqrt[{index}]{{{base}}}"

    def _sub(self, node: LexborNode) -> str:
        base, below = self._parts(node, 2)[:2]
        return _beside(base, below, "")

    def _sup(self, node: LexborNode) -> str:
        base, above = self._parts(node, 2)[:2]
        return _beside(base, "", above)

    def _sub_sup(self, node: LexborNode) -> str:
        base, below, above = self._parts(node, 3)[:3]
        return _beside(base, below, above)

    def _under(self, node: LexborNode) -> str:
        base, below = self._parts(node, 2)[:2]
        return f"\\{_ACCENTS_BELOW[below]}{{{base}}}" if below in _ACCENTS_BELOW else _beside(base, below, "")

    def _over(self, node: LexborNode) -> str:
        base, above = self._parts(node, 2)[:2]
        return f"\\{_ACCENTS_ABOVE[above]}{{{base}}}" if above in _ACCENTS_ABOVE else _beside(base, "", above)

    def _scripts(self, node: LexborNode) -> str:
        """Write a base with pairs of subscript and superscript behind it and before it."""
        tags = [part.tag for part in node.iter()]
        parts = self._parts(node, 1)
        end = tags.index("mprescripts") if "mprescripts" in tags else len(parts)
        before, behind = ["", *parts[end + 1 :]], parts[:end]
        return _concatenate([_pair_scripts(before), _pair_scripts(behind)])

    def _table(self, node: LexborNode) -> str:
        rows = " \\\\ ".join(self._parts(node, 0))
        return f"\\begin{{matrix}}{rows}\\end{{matrix}}"

    def _table_row(self, node: LexborNode) -> str:
        cells = self._parts(node, 0)
        return " & ".join(cells[1:] if node.tag == "mlabeledtr" else cells)

    def _fenced(self, node: LexborNode) -> str:
        marks = node.attributes
        between = "".join((marks.get("separators", ",") or "").split())
        parts = self._parts(node, 0)
        inner = "".join(
            part + (between[min(index, len(between) - 1)] if between and index < len(parts) - 1 else "")
            for index, part in enumerate(parts)
        )
        left, right = (marks.get(name, usual) or "" for name, usual in (("open", "("), ("close", ")")))
        return f"{left.translate(_SIGNS)}{inner}{right.translate(_SIGNS)}"

    def _first(self, node: LexborNode) -> str:
        """Write the first of several forms of the same formula."""
        return self._parts(node, 1)[0]


_WRITERS: dict[str, Callable[[_Reading, LexborNode], str]] = {
    **dict.fromkeys(("-text", "mi", "mn", "mo", "mtext", "ms"), _Reading._token),
    "mspace": lambda reading, node: " ",
    "mfrac": _Reading._fraction,
    "msqrt": _Reading._square_root,
    "mroot": _Reading._root,
    "msub": _Reading._sub,
    "msup": _Reading._sup,
    "msubsup": _Reading._sub_sup,
    "munder": _Reading._under,
    "mover": _Reading._over,
    "munderover": _Reading._sub_sup,
    "mmultiscripts": _Reading._scripts,
    "mtable": _Reading._table,
    "mtr": _Reading._table_row,
    "mlabeledtr": _Reading._table_row,
    "mfenced": _Reading._fenced,
    "maction": _Reading._first,
    "semantics": _Reading._first,
}


def _beside(base: str, below: str, above: str) -> str:
    """Return a base with its subscript and superscript."""
    base = base if not base or _UNIT.fullmatch(base) else f"{{{base}}}"
    return base + (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def _pair_scripts(parts: list[str]) -> str:
    found = parts[0]
    for index in range(1, len(parts), 2):
        below, above = [*parts[index : index + 2], ""][:2]
        found = _beside(found, below, above) if index == 1 else found + _beside("", below, above)
    return f"{{}}{found}" if found and not parts[0] else found


def _concatenate(parts: list[str]) -> str:
    """Concatenate parts, with a space between two words and between two numbers."""
    found: list[str] = []
    end = ""
    for part in parts:
        if not part:
            continue
        both = end[-1:].isdigit() and part[0].isdigit()
        words = _WORD_BEFORE.search(end) or _WORD_BEHIND.match(part)
        if both or (words and end[-1:].isalnum() and part[0].isalnum()):
            found.append(" ")
        found.append(part)
        end = part[-2:]
    return "".join(found)
