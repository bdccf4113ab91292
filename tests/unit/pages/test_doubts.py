"""Texts that readers may not see: each way in which a browser hides a text is left out, or marked as doubtful.

The ways are the properties of CSS that change whether, where, how large and in which colour a text is drawn, the ways
in which a rule gets to an element, and the elements and attributes of HTML with content that is not shown.
"""

import pytest

from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from tests.cpu_guard import cpu_guard
from tests.sizes import FULL

SPAM = "Buy cheap pills of the harbour here, without a doctor, for each of your friends today."
WORDS = "The harbour of the town has a wall of stone, and the ferry passes it each morning. " * 6
NONE = 'style="display:none"'
LEVELS = 4_900
"""Just below the depth that is refused."""
GUARD_SECONDS = 4


def page(html: str) -> str:
    shown = "".join(f"<p>{number} {WORDS}</p>" for number in range(3))
    return f"<title>Harbour</title><main><article><h1>Harbour</h1>{shown}{html}<p>4 {WORDS}</p></article></main>"


def state_of(html: str) -> str:
    """Return what happens to the spam: `left out`, `doubtful` or `sure`. No other block of the page may be doubtful."""
    document = normalize(page(html), url="https://a.example/harbour").document
    spam = {index for index, block in enumerate(document.blocks) if "cheap pills" in block.text}
    assert document.doubtful() <= spam, [document.blocks[index].text for index in document.doubtful()]
    return ("doubtful" if spam == document.doubtful() else "sure") if spam else "left out"


def styled(*styles: str) -> list[str]:
    return [f'<p style="{style}">{SPAM}</p>' for style in styles]


def ruled(*sheets: str) -> list[str]:
    return [f"<style>{sheet}</style><div class=box><p class=z data-z>{SPAM}</p></div>" for sheet in sheets]


WAYS: dict[str, list[str]] = {
    "not displayed, with a word of parts that open": [
        *(f'<p class="{name}" {NONE}>{SPAM}</p>' for name in ("fade", "tab-pane", "lazy", "an-accordion", "slide")),
        f'<div class="slider"><div {NONE}><p>{SPAM}</p></div></div>',
        f'<a href="#zz"></a><div id="zz" {NONE}><p>{SPAM}</p></div>',
        f'<div><label></label></div><div {NONE}><p>{SPAM}</p></div>',
        *(f"<div {role} {NONE}><p>{SPAM}</p></div>" for role in ("role=region", "aria-labelledby=x", 'id="S:1"')),
    ],
    "not displayed, by a value that another rule has": styled(
        "--d:none;display:var(--d)", "content-visibility:hidden", "visibility:var(--v)"
    ),
    "hardly covered": styled(
        "opacity:.01", "opacity:1%", "opacity:calc(0)", "opacity:.1", "filter:opacity(0)", "filter:brightness(50)",
        "filter:blur(2px) opacity(.02)", "mask-image:linear-gradient(transparent,transparent)", "mask:url(x.svg)",
        "-webkit-mask-image:url(x.svg)",
    ),
    "in a block of a heading, or in a listing": [
        *(f'<{name}><div style="opacity:.01">{SPAM}</div></{name}>' for name in ("h2", "pre")),
        f'<pre style="opacity:.01">{SPAM}\n\n{SPAM} {SPAM}</pre>',
    ],
    "hardly covered or placed away, with a size of letters inside": [
        *(f'<div style="{style}"><p style="font-size:16px">{SPAM}</p></div>' for style in (
            "opacity:.05;font-size:1em", "position:absolute;left:-9999px;font-size:1rem", "font-size:0;opacity:.1",
        )),
        f'<div style="font-size:1px"><p class=fade style="display:none;font-size:16px">{SPAM}</p></div>',
        f'<div style="font-size:1px"><div style="opacity:.1"><p style="font-size:16px">{SPAM}</p></div></div>',
        *(f'<div style="font-size:1px"><p style="font-size:{size}">{SPAM}</p></div>' for size in ("1em", "200%")),
        f'<div style="font-size:0"><p style="font-size:16px"><span style="opacity:.1">{SPAM}</span></p></div>',
    ],
    "small": styled(
        "font-size:1px", "font-size:.1em", "font:0/0 a", "font: italic 1px serif", "zoom:.0001", "scale:0 1",
        "transform:scale(0)", "transform:scaleX(.001)", "transform:matrix(.01,0,0,.01,0,0)", "letter-spacing:-1em",
        "width:0;overflow:hidden", "max-height:1px;overflow:clip", "block-size:0;overflow-y:hidden",
        "inline-size:1px;overflow:auto", "font-size:0.2em", "font-size:2.5px", "font:0.1cm a", "font-size:20%",
        "font-size:1mm", "font-size:1e-3px", "opacity:1e-3", "height:0;overflow:hidden;padding:0 0",
        "height:0;overflow:hidden;padding:0 1px",
    ),
    "on its edge, or with its back to the reader": styled(
        "transform:rotateX(90deg)", "transform:perspective(1px) rotateY(90deg)", "rotate:x 90deg",
        "backface-visibility:hidden;transform:rotateY(180deg)",
    ),
    "somewhere else": styled(
        "margin-left:-9999px", "margin:-200vh 0 0", "text-indent:-9999px", "transform:translateX(-9999px)",
        "translate:-9999px", "translate:0 200vh", "position:fixed;top:-100vh", "position:absolute;left:-200vw",
        "position:absolute;left:9999px", "position:absolute;inset:-9999px auto auto -9999px",
        "position:absolute;inset-inline-start:-9999px", "position:relative;left:-100vw", "float:left;margin-left:-200%",
        "position:absolute;z-index:-1", "offset-path:path('M9999 0h1')",
        "position:absolute;left:-30cm", "position:absolute;left:-9in", "position:absolute;left:9e9px",
        "position:absolute;left:calc(0px - 9999px)", "position:fixed;top:calc(-100px * 90)", "left:var(--far)",
        "margin-left:calc(0px - 9999px)", "transform:translateX(calc(0px - 9999px))", "position:absolute;top:var(--y)",
        "text-indent:9999px;overflow:hidden", "text-indent:100%;overflow:hidden", "left:30cm", "top:-9999px",
    ),
    "cut off": styled(
        "position:absolute;clip:rect(0 0 0 0)", "clip-path:circle(0)", "clip-path:inset(50%)",
        "clip-path:polygon(0 0,0 0,0 0)", "shape-inside:circle(0)",
    ),
    "in the colour of the paper": [
        *styled(
            "color:#f5f5f5;background:#fff", "color:white", "color:azure;background:white", "color:oklch(1 0 0)",
            "color:color(srgb 1 1 1)", "color:color-mix(in srgb,white,white)", "color:rgb(255 255 255/.9)",
            "color:hsl(0 0% 99%)", "color:rgba(0,0,0,.05)", "-webkit-text-fill-color:transparent",
            "-webkit-text-fill-color:lab(100 0 0)", "color:#222;background:#1f1f1f",
        ),
        f'<div style="color:#fff;background:#fff"><p style="color:inherit">{SPAM}</p></div>',
        f'<p><font color="snow">{SPAM}</font></p>',
        *ruled(
            *(f".z[data-z]{{{colour}}}" for colour in (
                "color:#f5f5f5;background:#fff", "color:white", "color:azure;background:white", "color:oklch(1 0 0)",
                "color:color(srgb 1 1 1)", "color:color-mix(in srgb,white,white)", "color:rgb(255 255 255/.9)",
                "color:hsl(0 0% 99%)", "color:rgba(0,0,0,.05)", "-webkit-text-fill-color:transparent",
                "-webkit-text-fill-color:lab(100 0 0)", "color:#222;background:#1f1f1f",
            )),
            ".z{color:#fff}", ".z{color:#000} .z{color:#fff}", "p{color:#000} .z{color:white}",
            ".box{background:white} .z{color:snow}", "body{background:#123} .box{background:#fff} .box>.z{color:#fff}",
        ),
    ],
    "by a rule of the page, whatever selects its elements": ruled(
        *(f"{selector}{{display:none}}" for selector in (
            ".box p.z", ".box>p", "[data-z]", ".z:not(.q)", ".box :is(.a,.z)", ".box p:last-child",
            "div.box>:first-child",
            ".box:has(.z) p", "p:where(.z)", "#none, .z",
        )),
        "div{& .z{display:none}}", ".box{.z{display:none}}", "@media (min-width:321px){.z{display:none}}",
        "@container (min-width:1px){.z{display:none}}", "@layer a{.box .z{opacity:0}}",
        ".z{display:none} .nobody.z{display:block}", ".box .z{font-size:0}",
        *(f"{selector}{{opacity:.05}}" for selector in (
            ".z:not(:hover)", ".z:lang(en)", ".z:defined", ".z:read-only", ".z:not(.q:hover,:focus)",
            ".z:is(:hover,.box .z)", ".q:hover,.box .z:not(.q,:focus)", ".box:not(:is(:hover,:focus)) .z",
        )),
        "".join(f"h6:nth-child({number}){{opacity:0}}" for number in range(150)) + ".box .z[data-z]{opacity:0}",
        "".join(f"h6 x{number}{{opacity:0}}" for number in range(150)) + ".box>.z{opacity:0}",
        "".join(f"x{number}{{opacity:0}}" for number in range(150)) + "[data-z]{opacity:0}",
        "".join(f".z.box{number}{{opacity:0}}" for number in range(150)) + ".box p[data-z]{opacity:0}",
        ".box .z{position:absolute} .z[data-z]{left:-9999px}", ".box p{left:9999px} .z{position:fixed}",
        ".z[data-z]{z-index:-1} .z{position:relative}", ".z[data-z]{height:0} .box .z{overflow:hidden}",
        ".box .z{position:absolute;left:-9999px}",
        "".join(f".k{number}{{display:none}}" for number in range(500)) + ".z{display:none}",
    ),
    "by the value of an attribute": [
        f"<style>{rule}{{display:none}}</style><div class=box>"
        f"<p class='z old' data-z='a.b#c' title='1, 2'>{SPAM}</p></div>"
        for rule in (
            '[class="z old"]', "[class='z old']", '.box [class^="z"]', '[class~="old"]', '[class = "z old"]',
            '[data-z="a.b#c"]', '[data-z$=".b#c"]', '[title="1, 2"]', '[title="1\\2c  2"]', 'p[title*=", "]:not(.q)',
            '[data-z="A.B#C" i]', '.q[title="}"], [title="1, 2"]', '[title="x{"], [class|="z old"]',
        )
    ],
    "by its element": [
        f"<style>:any-link{{opacity:0}}</style><p><a href=/x>{SPAM}</a></p>",
        f"<canvas>{SPAM}</canvas>", f"<video><p>{SPAM}</p></video>", f"<noframes><p>{SPAM}</p></noframes>",
        f"<div popover><p>{SPAM}</p></div>", f"<div><template shadowrootmode=open></template><p>{SPAM}</p></div>",
        f'<marquee style="height:0">{SPAM}</marquee>', f"<dialog><p>{SPAM}</p></dialog>",
        f"<datalist>{SPAM}</datalist>",
        f"<svg width=0 height=0><text>{SPAM}</text></svg>", f"<template><p>{SPAM}</p></template>",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("way", "html"), [(way, html) for way, each in WAYS.items() for html in each])
def test_what_can_hide_a_text_is_seen(way: str, html: str) -> None:
    assert state_of(html) in ("left out", "doubtful"), way


SHOWN = [
    ("nothing", f"<p>{SPAM}</p>"),
    *(("a harmless value", html) for html in styled(
        "display:flex", "opacity:1", "opacity:.8", "visibility:visible", "transform:translate(-50%,-50%)",
        "transform:none", "transform:rotate(3deg)", "position:relative;top:4px;z-index:2", "margin-left:-8px",
        "font-size:12px", "font:400 1rem/1.5 serif", "letter-spacing:-.02em", "height:200px;overflow:auto",
        "width:50%;overflow:hidden", "color:#333", "color:var(--text)", "color:#fff;background:#000", "color:green",
        "color:white;background-image:url(dark.jpg)", "filter:grayscale(1)", "text-transform:none", "clip-path:none",
        "max-width:0.5px", "text-indent:2em", "position:absolute;left:calc(50% - 100px)",
        "margin-left:calc(50% - 50vw)",
        "position:sticky;top:var(--bar)", "font-size:1.2em", "font-size:90%", "position:absolute;top:calc(100% + 8px)",
        "margin:calc(-1 * var(--gap)) 0", "height:0;overflow:hidden;padding-bottom:56.25%", "left:20px", "width:0",
    )),
    ("a dark paper above", f'<div style="background:#123"><p style="color:#fff">{SPAM}</p></div>'),
    *(("a colour of a rule", html) for html in ruled(
        ".box{background:#123} .z{color:#fff}", ".box .z{background:url(dark.jpg)} .z{color:#fff}",
        ".z{color:#fff} .box .z{color:#333}", ".z{color:#fff} p.z{color:#333}", ".z{color:oklch(.3 .1 200)}",
        ":root{background:var(--dark)} .z{color:#fff}", ".z{color:#fff;background:#246}", ".z:hover{color:#fff}",
        ".z{color:#333!important} .z{color:#fff}", "@media (max-width:600px){.z{color:#fff}}",
    )),
    ("a colour of a rule on a dark paper above",
     f'<style>.z{{color:#fff}}</style><div style="background:#123"><p class=z>{SPAM}</p></div>'),
    ("a colour of a rule that the style sets again",
     f'<style>.z{{color:#fff}}</style><p class=z style="color:#222">{SPAM}</p>'),
    *(("a rule for a moment, paper, or other screens", html) for html in ruled(
        ".z:hover{opacity:0}", "@media print{.box .z{display:none}}", "@media (max-width:600px){.box .z{display:none}}",
        ".box.open .z{display:none}", ".z::before{display:none}", ".box:not(.z) .absent{display:none}",
        *(f"{selector}{{opacity:0}}" for selector in (
            ".z:is(:hover,:focus)", ".box:has(:focus) .z", ".z:not(:not(:hover))", ".z:focus-visible", ".z:checked",
            ".z:hover,.q:not(.z)", ".z:not(:lang(en))",
        )),
        ".z[data-z]{height:0}", ".z[data-z]{width:0} .box{overflow:hidden}",
    )),
    *(("another value of an attribute", html) for html in ruled(
        *(f"{selector}{{display:none}}" for selector in (
            '[class="x"]', "[class='box z']", '[class^="box z"]', '[class$="box"] [data-z="1"]', '[class="z}"]',
            '.z[data-z=":hover"]', '[class=""]', '[data-z="{"] .z', '[class="z"][data-z=";"]',
        )),
        '.q[title="} .z{display:none} .q"]{color:red}', '.q::before{content:"="} .q[a="x"]{display:none}',
    )),
    ("a value that looks like declarations", f"<p style=\"filter:x(a=';display:none')\">{SPAM}</p>"),
    ("a part that the browser opens", f"<details><summary>More</summary><p>{SPAM}</p></details>"),
    ("a part that a search in the page opens", f'<p hidden="until-found">{SPAM}</p>'),
    ("letters that are sized again, between boxes without spaces",
     f'<div style="font-size:0"><p style="font-size:16px">{SPAM}</p></div>'),
    ("letters that are sized again within sized letters",
     f'<div style="font-size:1px"><div style="font-size:1.2em"><p style="font-size:medium">{SPAM}</p></div></div>'),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html"), SHOWN)
def test_what_browsers_show_is_sure(why: str, html: str) -> None:
    assert state_of(html) == "sure", why


def test_a_page_can_not_say_that_a_text_is_shown() -> None:
    assert state_of(f'<div style="opacity:.1"><p data-riffle-doubt="shown">{SPAM}</p></div>') == "doubtful"


def test_a_page_with_little_else_has_no_doubts() -> None:
    """A script shows it: all of it is searched and quoted as before."""
    html = f"<title>Harbour</title><p>Loading</p><div class=fade style='opacity:0;transform:none'><p>{WORDS}</p></div>"
    document = normalize(html, url="https://a.example/").document
    assert "ferry" in document.text
    assert not document.doubtful()


def test_a_written_document_keeps_its_doubts() -> None:
    document = normalize(page(styled("opacity:.1")[0]), url="https://a.example/harbour").document
    assert document.doubtful()
    assert normalize(to_html(document), url=document.url).document == document


NESTED = {
    "sizes in hardly covered elements": "<div style='opacity:.1;font-size:1em'>" * LEVELS,
    "sizes in small elements": "<div style='font-size:1px'><div style='font-size:9px'>" * (LEVELS // 2),
    "parts that open": "<div class=fade style='display:none;font-size:9px'>" * LEVELS,
    "elements of lines": "<span style='opacity:.1'>" * LEVELS,
    "white letters": "<div>" * LEVELS + "<font color=white>a</font>" * 4 * LEVELS,
}


@pytest.mark.parametrize("html", NESTED.values(), ids=NESTED)
def test_nested_elements_take_linear_time(html: str) -> None:
    with cpu_guard(GUARD_SECONDS):
        assert "ferry" in normalize(page(f"{html}text"), url="https://a.example/").document.text


def test_many_colours_of_rules_take_linear_time() -> None:
    rules, texts = 1_000, 5_000
    colours = "".join(f".z.z:not(.a{n}){{color:#fff}}.z.z:not(.b{n}){{color:#000}}" for n in range(rules))
    papers = "".join(f".z:not(.c{n}){{background:#fff}}" for n in range(rules))
    with cpu_guard(GUARD_SECONDS):
        normalize(f"<style>{colours}{papers}</style>{'<p class=z>text' * texts}", url="https://a.example/")


@pytest.mark.parametrize("element", ["p", "a{}"], ids=["of another name", "of these names"])
def test_a_rule_of_many_names_of_elements_takes_linear_time(element: str) -> None:
    names, texts = 40_000, 20_000
    sheet = ",".join(f"a{number}" for number in range(names))
    body = "".join(f"<{element}>text</{element}>".format(number, number) for number in range(texts))
    with cpu_guard(GUARD_SECONDS):
        normalize(f"<style>{sheet}{{opacity:0}}</style>{body}", url="https://a.example/")


def test_costly_selectors_take_limited_time() -> None:
    sheet = "".join(f".z:nth-child({number}){{opacity:0}}.z:has(q){{opacity:0}}" for number in range(90))
    with cpu_guard(GUARD_SECONDS):
        normalize(f"<style>{sheet}</style>{'<p class=z>text' * (20_000 if FULL else 6_000)}", url="https://a.example/")


@pytest.mark.parametrize("repeats", [4_000])
def test_many_rules_and_elements_take_linear_time(repeats: int) -> None:
    sheet = "".join(f".z p:nth-child({number}){{opacity:0}}" for number in range(repeats))
    boxes = "<div class=z style='opacity:.1;transform:matrix(1)'><p>text</p></div>" * repeats
    assert "text" in normalize(f"<style>{sheet}</style>{page(boxes)}", url="https://a.example/").document.text
