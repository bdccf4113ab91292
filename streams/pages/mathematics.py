"""Formulas as their source, whatever drew them: MathML, KaTeX, MathJax 2 and 3."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

_DRAWN = (
    ".katex-html, .MathJax_Preview, span.MathJax, span.MathJax_CHTML, span.MathJax_SVG, div.MathJax_Display, mjx-math"
)
_STYLE = "{\\displaystyle"


def unify(tree: LexborHTMLParser) -> None:
    """Remove what only draws a formula a second time, and turn MathJax's script elements into `math`."""
    for node in tree.css('script[type^="math/tex"]'):
        formula = tree.create_node("math")
        formula.insert_child(node.text())
        node.replace_with(formula, move=True)
    for node in tree.css(_DRAWN):
        if not node.css_first("math"):
            node.decompose()


def source_of(node: LexborNode) -> str:
    """The TeX that a `math` element was written in, or its letters."""
    for note in node.css("annotation"):
        if "tex" in (note.attributes.get("encoding") or "").lower():
            return _plain(note.text())
    return _plain(node.attributes.get("alttext") or node.text())


def _plain(source: str) -> str:
    """Without the `{\\displaystyle ...}` that MediaWiki puts around everything."""
    source = " ".join(source.split())
    if source.startswith(_STYLE) and source.endswith("}"):
        source = source[len(_STYLE) : -1].strip()
    return source
