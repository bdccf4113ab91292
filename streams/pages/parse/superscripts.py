"""Superscripts and subscripts as Unicode characters: `10<sup>6</sup>` is 10⁶, not 106, and `H<sub>2</sub>O` is H₂O.

A document's text has no smaller text above or below its line, and numbers would be wrong without it. Unicode has such
digits and signs (and n and i), which covers formulas in running text. A superscript that these characters cannot write
completely (`1<sup>st</sup>`, `x<sub>max</sub>`) stays plain text.

A superscript needs text before it in the same run (inside a link: in the link) or directly behind it. At the start of a
text with a space behind it, it is the mark of a note, and also if it is all of a link's text. An element with a link,
an image or a block in it is no superscript.

The tokenizer reads these characters as plain digits and letters again (NFKC, in `tokens`).
"""

from selectolax.lexbor import LexborNode

from streams.pages.parse.elements import COMMENT, INLINE, KINDS, SPAN, SUPERSCRIPT, TEXT

MAX_CHARS = 12
"""Maximum length of a superscript or subscript (characters, without spaces). A longer text is small running text."""
_PLAIN = "0123456789+-()=ni\u2212\u2010\u2011\u2013"
"""The characters with small forms. The last four are the minus sign, two hyphens, and a dash that many type for it."""
_SUPERSCRIPTS = dict(zip(_PLAIN, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾⁼ⁿⁱ⁻⁻⁻⁻", strict=True))
_SUBSCRIPTS = dict(zip(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₍₎₌ₙᵢ₋₋₋₋", strict=True))
_ALLOWED = frozenset({TEXT, INLINE, SPAN, COMMENT})


def unicode_form(node: LexborNode, kind: int) -> str:
    """Return the text of a SUPERSCRIPT or SUBSCRIPT in Unicode's small characters; empty if they cannot write it.

    Spaces are removed, except for one at the end.
    """
    text = _text_of(node)
    plain = "".join(text.split())
    characters = _SUPERSCRIPTS if kind == SUPERSCRIPT else _SUBSCRIPTS
    if not plain or len(plain) > MAX_CHARS or any(char not in characters for char in plain):
        return ""
    return "".join(characters[char] for char in plain) + " " * text[-1].isspace()


def _text_of(node: LexborNode) -> str:
    """Return the text of an element; empty if it has a link, an image, a block or the like in it."""
    texts = []
    for inner in node.traverse(include_text=True):
        if inner.mem_id == node.mem_id:
            continue
        kind = KINDS.get(inner.tag_id, INLINE)
        if kind not in _ALLOWED:
            return ""
        if kind == TEXT:
            texts.append(inner.text_content or "")
    return "".join(texts)


def is_directly_followed(node: LexborNode) -> bool:
    """Return whether text is directly behind an element, without a space."""
    behind = node.next
    return behind is not None and KINDS.get(behind.tag_id) == TEXT and not (behind.text_content or " ")[0].isspace()
