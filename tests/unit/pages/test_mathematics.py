# ruff: noqa: E501 - pages as they come
"""Formulas are read as TeX, from their source or from MathML."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from streams.pages.normalize import normalize
from streams.pages.parse.math_tex import MAX_DEPTH, MAX_NODES, source_of, unify_formulas
from tests.cpu_guard import cpu_guard


def source(formula: str) -> str:
    node = LexborHTMLParser(f"<p><math>{formula}</math>").css_first("math")
    assert node is not None
    return source_of(node)


X, Y, ONE, TWO = "<mi>x</mi>", "<mi>y</mi>", "<mn>1</mn>", "<mn>2</mn>"


@pytest.mark.parametrize(
    ("why", "formula", "expected"),
    [
        ("a fraction", f"<mfrac>{ONE}{TWO}</mfrac>", r"\frac{1}{2}"),
        ("without its bar", f"<mfrac linethickness=0>{ONE}{TWO}</mfrac>", r"\binom{1}{2}"),
        ("with a thick bar", f"<mfrac linethickness=2px>{ONE}{TWO}</mfrac>", r"\frac{1}{2}"),
        ("a power", f"<msup>{X}{TWO}</msup>", "x^{2}"),
        ("a power of many", f"<msup><mrow>{X}<mo>+</mo>{ONE}</mrow>{TWO}</msup>", "{x+1}^{2}"),
        ("a power of what has braces", f"<msup><mrow><mo>(</mo>{X}<mo>)</mo></mrow>{TWO}</msup>", "(x)^{2}"),
        ("an index", f"<msub>{X}<mi>i</mi></msub>", "x_{i}"),
        ("both", f"<msubsup>{X}<mi>i</mi>{TWO}</msubsup>", "x_{i}^{2}"),
        ("roots", f"<msqrt>{X}<mo>+</mo>{ONE}</msqrt><mroot>{X}<mn>3</mn></mroot>", r"\sqrt{x+1}\sqrt[3]{x}"),
        ("a sum", f"<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo>{ONE}</mrow><mi>n</mi></munderover>{X}", "∑_{i=1}^{n}x"),
        ("a limit", f"<munder><mi>lim</mi><mrow>{X}<mo>→</mo><mn>0</mn></mrow></munder>{Y}", "lim_{x→0}y"),
        ("an accent", f"<mover>{X}<mo>→</mo></mover><mover>{Y}<mo>^</mo></mover>", r"\vec{x}\hat{y}"),
        ("what stands above", "<mover><mo>=</mo><mtext>def</mtext></mover>", "=^{def}"),
        ("what is underlined", f"<munder>{X}<mo>_</mo></munder>", r"\underline{x}"),
        ("a matrix", f"<mtable><mtr><mtd>{X}</mtd><mtd>{Y}</mtd></mtr><mtr><mtd>{ONE}</mtd><mtd>{TWO}</mtd></mtr></mtable>",
         r"\begin{matrix}x & y \\ 1 & 2\end{matrix}"),
        ("an equation's number", f"<mtable><mlabeledtr><mtd>(1)</mtd><mtd>{X}</mtd></mlabeledtr></mtable>",
         r"\begin{matrix}x\end{matrix}"),
        ("fences", f"<mfenced open=[ separators=';,'>{X}{Y}{ONE}</mfenced><mfenced>{X}{Y}</mfenced>", "[x;y,1)(x,y)"),
        ("scripts on both sides", f"<mmultiscripts><mi>U</mi><none/>{TWO}<mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>",
         "{}_{92}^{238}U^{2}"),
        ("a function", f"<mi>sin</mi><mo>\u2061</mo>{X}", "sin x"),
        ("a product", f"{TWO}<mo>\u2062</mo>{X}{Y}", "2xy"),
        ("words", f"{X}<mtext> if </mtext>{Y}<mo>&gt;</mo><mn>0</mn>", "x if y>0"),
        ("a minus", f"{X}<mo>−</mo>{ONE}", "x-1"),
        ("a set", f"<mo>{{</mo>{X}<mo>}}</mo>", r"\{x\}"),
        ("what takes room", f"{X}<mspace width=1em></mspace>{Y}<mphantom>{Y}</mphantom>", "x y"),
        ("one form of many", f"<semantics><mrow>{X}</mrow><annotation-xml><ci>x</ci></annotation-xml></semantics>", "x"),
        ("nested", f"<mfrac><msup>{X}{TWO}</msup><msqrt>{Y}</msqrt></mfrac>", r"\frac{x^{2}}{\sqrt{y}}"),
        ("parts are missing", f"<mfrac>{ONE}</mfrac><msup></msup><mroot></mroot>", r"\frac{1}{}\sqrt[]{}"),
        ("its own source", "<semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1</annotation></semantics>", "x_1"),
        ("a source without elements", r"\frac{1}{2} < x", r"\frac{1}{2} < x"),
        ("nothing", "", ""),
    ],
)  # fmt: skip
def test_tex_is_written_from_mathml(why: str, formula: str, expected: str) -> None:
    assert source(formula) == expected, why


@pytest.mark.parametrize(
    ("why", "formula"),
    [
        ("deep", f"{'<msqrt>' * (MAX_DEPTH + 5)}<mi>x</mi><mi>y</mi>{'</msqrt>' * (MAX_DEPTH + 5)}"),
        ("wide", "<mi>x</mi><mi>y</mi>" * MAX_NODES),
        ("wide inside of a token", f"<mi>{'<b>x</b><b>y</b>' * MAX_NODES}</mi><mi>x</mi>"),
    ],
)
def test_only_the_text_of_a_too_large_formula_is_read(why: str, formula: str) -> None:
    letters = source(formula)
    assert set(letters) == {"x", "y"}, why


def test_a_formula_is_a_span_of_its_source() -> None:
    page = "<p>Half is <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>, not <math><msup><mi>x</mi><mn>2</mn></msup></math>."
    (block,) = normalize(page, url="https://site.example/").document.blocks
    assert block.text == r"Half is \frac{1}{2}, not x^{2}."
    assert [block.text[span.start : span.end] for span in block.spans] == [r"\frac{1}{2}", "x^{2}"]


@pytest.mark.parametrize(
    "html",
    [
        "<html class=katex-html><p>Text.",
        "<body class=MathJax_Preview><p>Text.",
        "<html class=katex-html><body class=katex-html><p>Text.",
        "<p>Text.<span class=katex-html><span class=katex-html>drawn</span></span>",
        "<p>Text.<svg><script type=math/tex>a<script type=math/tex>b</svg>",
    ],
)
def test_a_class_of_drawn_formulas_anywhere_leaves_the_page(html: str) -> None:
    assert normalize(html, url="https://site.example/").document.text.startswith("Text.")


def test_nested_drawings_take_linear_time() -> None:
    html = "<span class=katex-html>" * 4_900 + "<b>x</b>" * 100_000 + "<math>y</math>"
    tree = LexborHTMLParser(html)
    with cpu_guard(30):
        unify_formulas(tree)
    assert tree.body is not None
    assert tree.body.text().endswith("xy")
