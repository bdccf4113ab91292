"""Superscripts and subscripts as characters: `10<sup>6</sup>` is 10⁶, not 106, and `H<sub>2</sub>O` is H₂O.

A document's text has no place for smaller text above or below its line, and without it numbers are wrong. Unicode has
such digits and signs (and n and i), which is what formulas in running text need. What cannot be written with them whole
(`1<sup>st</sup>`, `x<sub>max</sub>`) stays as plain text: half of it raised would be worse than nothing.

Only what stands on something is raised: text before it in the same run (in a link: in the link), or right behind it.
What begins a text and has a space behind it is the mark of a note, and so is what a link shows alone. What holds a
link, an image or a block is no exponent. In code and preformatted text the same holds: 232 is no better there than 2³².

What reads words folds these characters back (NFKC, in `tokens`).
"""

from selectolax.lexbor import LexborNode

from streams.pages.parse.elements import COMMENT, INLINE, KINDS, RAISED, SPAN, TEXT

MAX_CHARS = 12
"""Of an exponent or index, without spaces: more is running text that is shown small."""
_PLAIN = "0123456789+-()=ni\u2212\u2010\u2011\u2013"
"""The last four are the minus sign, hyphens, and the dash that many type in its place."""
_ABOVE = dict(zip(_PLAIN, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾⁼ⁿⁱ⁻⁻⁻⁻", strict=True))
_BELOW = dict(zip(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₍₎₌ₙᵢ₋₋₋₋", strict=True))
_INSIDE = frozenset({TEXT, INLINE, SPAN, COMMENT})


def raised(node: LexborNode, kind: int) -> str:
    """The text of a superscript (RAISED) or subscript in such characters, without spaces but for one at its end; empty
    where it cannot be written so."""
    text = ""
    for inner in node.traverse(include_text=True):
        if inner.mem_id == node.mem_id:
            continue
        inside = KINDS.get(inner.tag_id, INLINE)
        if inside not in _INSIDE:
            return ""
        if inside == TEXT:
            text += inner.text_content or ""
    signs = _ABOVE if kind == RAISED else _BELOW
    plain = "".join(text.split())
    if not plain or len(plain) > MAX_CHARS or any(sign not in signs for sign in plain):
        return ""
    return "".join(signs[sign] for sign in plain) + " " * text[-1].isspace()


def is_joined(node: LexborNode) -> bool:
    """Whether text stands right behind an element."""
    behind = node.next
    return behind is not None and KINDS.get(behind.tag_id) == TEXT and not (behind.text_content or " ")[0].isspace()
