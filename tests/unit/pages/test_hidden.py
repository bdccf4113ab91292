"""Texts that no reader sees are no part of a page. Texts that a reader opens, or that a script shows, are."""

import time

import pytest

from streams.pages.normalize import normalize
from streams.pages.parse.hiding.rules import HidingRules, read_rules
from streams.pages.parse.hiding.styles import how_hidden, read_declarations
from streams.pages.sandbox.explaining import explain_removals
from tests.sizes import guard_seconds, size

SECRET = "Quartz lanterns and marble violins are sold in the cellar behind the mill every winter for little money."
PARAGRAPHS = [
    f"The lighthouse of the {ordinal} harbour was built by sailors, who carried its stones over the hills for years. "
    "Its keeper wrote down each ship that passed, and the books are still read by people who study the weather."
    for ordinal in ["first", "second", "third", "fourth", "fifth", "sixth"]
]


def text_of(between: str, head: str = "", paragraphs: list[str] = PARAGRAPHS) -> str:
    parts = [f"<p>{text}</p>" for text in paragraphs]
    middle = len(parts) // 2
    body = "".join([*parts[:middle], between, *parts[middle:]])
    html = f"<html lang=en><head><title>Harbours</title>{head}</head><body><article><h1>Harbours</h1>{body}</article>"
    return normalize(html, url="https://harbours.example/").document.text


@pytest.mark.parametrize(
    "between",
    [
        "<p hidden>{}</p>",
        "<section hidden=hidden><div><p>{}</p></div></section>",
        '<p style="display:none">{}</p>',
        '<div style="color:red; DISPLAY : None !important"><div><p>{}</p></div></div>',
        '<p style="dis\\70lay:none">{}</p>',
        '<p style="display:/* not */none">{}</p>',
        '<p style="visibility:hidden">{}</p>',
        '<p style="opacity:0">{}</p>',
        '<p style="opacity:.0">{}</p>',
        '<p style="font-size:0px">{}</p>',
        '<p style="position:absolute; left:-5000px">{}</p>',
        '<p style="position:fixed; top:-300em">{}</p>',
        '<p style="text-indent:-9999px">{}</p>',
        '<p style="color:#eee;background:#eeeeee">{}</p>',
        '<p style="color:rgb(255, 255, 255);background-color:white">{}</p>',
        '<div style="height:0;overflow:hidden"><p>{}</p></div>',
        '<p style="clip-path:inset(100%)">{}</p>',
        '<p style="position:absolute;clip:rect(0 0 0 0)">{}</p>',
        '<p>Ships pass here every day. <span style="display:none">{}</span></p>',
        '<p style="color:transparent">{}</p>',
        '<p style="color:rgba(10, 20, 30, 0)">{}</p>',
        '<p style="color:#1230">{}</p>',
        '<p style="-webkit-text-fill-color:transparent">{}</p>',
        '<p style="filter:opacity(0)">{}</p>',
        '<p style="transform:scale(0)">{}</p>',
        '<p style="transform:rotate(3deg) scaleY(0.0)">{}</p>',
        '<p style="transform:matrix(0, 0, 0, 0, 0, 0)">{}</p>',
        '<p style="scale:0">{}</p>',
        '<div style="background:#ffe"><p style="color:#ffffee">{}</p></div>',
        '<div style="background:hsl(0 0% 100%)"><div><p><span style="color:white">{}</span></p></div></div>',
        '<div style="background:white"><p style="color:rgba(255, 255, 255, .5)">{}</p></div>',
        '<div style="color:#fff"><p>Ships.</p><p style="background:white">{}</p></div>',
        "<table bgcolor=FFFFFF><tr><td><font color=white>{}</font></table>",
        "<p style='font-family:\"a;b\";display:none'>{}</p>",
        "<p style='background:url(a;b.png);display:none'>{}</p>",
        # What a control opens over the page is none of its text
        "<dialog><p>{}</p></dialog>",
        "<div popover><p>{}</p></div>",
        "<button aria-haspopup=menu aria-controls=m>Menu</button><p>Ships.</p><div id=m hidden>{}</div>",
        "<button aria-haspopup=dialog aria-controls=m>Menu</button><div id=m role=dialog hidden>{}</div>",
        "<button aria-controls=m>Menu</button><div id=m role=menu hidden>{}</div>",
        "<button data-bs-toggle=modal data-bs-target='#m'>More</button><p>Ships.</p><div id=m hidden>{}</div>",
        "<a href='#m'>More</a><div id=m aria-modal=true style='display:none'>{}</div>",
        "<template><p>{}</p></template>",
    ],
)
def test_hidden_by_attribute_or_style(between: str) -> None:
    text = text_of(between.format(SECRET))
    assert "marble" not in text
    assert all(paragraph in text for paragraph in PARAGRAPHS)


@pytest.mark.parametrize(
    ("sheet", "element"),
    [
        (".ghost { display: none }", "<p class='big ghost'>"),
        ("#cellar{visibility:hidden}", "<p id=cellar>"),
        ("p.ghost, b{display:none}", "<p class=ghost>"),
        (".a.b{display:none}", "<p class='b c a'>"),
        ("@media screen { .ghost{display:none} }", "<p class=ghost>"),
        ("@media print { .ghost{display:block} } .ghost{display:none}", "<p class=ghost>"),
        ("/* } */ .ghost{display:none", "<p class=ghost>"),
        (".ghost{display:none}}", "<p class=ghost>"),
        ("@supports (display: grid) { .ghost{display:none} }", "<p class=ghost>"),
        ("@supports (display:grid) and (color:rgb(0 0 0)) { .ghost{display:none} }", "<p class=ghost>"),
        ("@layer { .ghost{display:none} }", "<p class=ghost>"),
        ("@layer base, more; @layer base { @layer inner { .ghost{display:none} } }", "<p class=ghost>"),
        ("@media only screen{.ghost{display:none}}", "<p class=ghost>"),
        ("@media screen, print { .ghost{display:none} }", "<p class=ghost>"),
        ("@media not print { .ghost{display:none} }", "<p class=ghost>"),
        ("@media screen and (min-width: 1px) and (color) { .ghost{display:none} }", "<p class=ghost>"),
        ("@media(max-width:9999px){.ghost{display:none}}", "<p class=ghost>"),
        ("@media screen{@supports (top:0){@layer a{.ghost{display:none}}}}", "<p class=ghost>"),
        (".ghost{display:none", "<p class=ghost>"),
        ("@media screen{.ghost{color:red;display:none", "<p class=ghost>"),
        (".ghost{display:none; &:hover{color:red} b{color:blue}}", "<p class=ghost>"),
        (".ghost{ @media screen { display:none } }", "<p class=ghost>"),
        (".ghost{ color:red; & { display:none } }", "<p class=ghost>"),
        ('b::before{content:"{"} .ghost{display:none}', "<p class=ghost>"),
        ("b{background:url(data:a{b)} .ghost{display:none}", "<p class=ghost>"),
        (".gh\\6fst{display:none}", "<p class=ghost>"),
        (".md\\:ghost{display:none}", "<p class='md:ghost'>"),
        (".ghost{color:transparent}", "<p class=ghost>"),
        (".ghost{transform:scale(0)}", "<p class=ghost>"),
        ("body{background:#fff} .ghost{color:#fff}", "<p class=ghost>"),
        ("div.box{background-color:navy} .ghost{color:#000080}", "<div class=box><p class=ghost>"),
        (".box{background:navy} .box .note{color:red} #cellar{color:navy}", "<div class=box><p id=cellar>"),
    ],
)
def test_hidden_by_a_rule_of_the_page(sheet: str, element: str) -> None:
    """Rules that hold on each screen count. At the end of a sheet all open rules end, as in browsers."""
    text = text_of(f"{element}{SECRET}</p>", f"<style>{sheet}</style>")
    assert "marble" not in text
    assert all(paragraph in text for paragraph in PARAGRAPHS)


@pytest.mark.parametrize(
    ("head", "between"),
    [
        ("", "<p aria-hidden=true>{}</p>"),
        ("", "<p hidden=until-found>{}</p>"),
        ("", "<details><summary>More</summary><p>{}</p></details>"),
        ("", "<div role=tabpanel hidden><p>{}</p></div>"),
        ("", "<h3><button aria-expanded=false aria-controls=m>More</button></h3><b>Or</b><p id=m hidden>{}</p>"),
        ("", "<input type=checkbox id=c><label for=c>More</label><div style='display:none'>{}</div>"),
        ("", "<dl><dt>More</dt><dd style='display:none'>{}</dd></dl>"),
        ("", "<dl><dt>More</dt><dd><div style='display:none'><p>{}</p></div></dd></dl>"),
        ("", "<div class=tab-pane style='display:none'><p>{}</p></div>"),
        ("", "<button aria-expanded=false>More</button><div style='display:none'><p>{}</p></div>"),
        ("", "<a href='#more'>More</a> <b>of it</b><div id=more hidden><p>{}</p></div>"),
        ("", "<p hidden style='display:block'>{}</p>"),
        ("", "<div style='visibility:hidden'><p style='visibility:visible'>{}</p></div>"),
        ("", "<div style='font-size:0'><p class=text>{}</p></div>"),
        ("", "<div style='opacity:0;transform:translateY(20px)'><p>{}</p></div>"),
        ("", "<p style='color:white;background:url(night.jpg) white'>{}</p>"),
        ("", "<p style='color:white'>{}</p>"),
        ("", "<p style='position:absolute;left:-10px'>{}</p>"),
        ("", "<p style='opacity:0.9'>{}</p>"),
        ("", "<p style='margin:0;font-size:0.9em'>{}</p>"),
        ("<style>.part{display:none}.part.open{display:block}</style>", "<p class=part>{}</p>"),
        ("<style>.wide{display:none}@media (min-width:40em){.wide{display:block}}</style>", "<p class=wide>{}</p>"),
        ("<style>@media print{.paper{display:none}}</style>", "<p class=paper>{}</p>"),
        ("<style media=print>.paper{display:none}</style>", "<p class=paper>{}</p>"),
        ("<noscript><style>.late{display:none}</style></noscript>", "<p class=late>{}</p>"),
        ("<style>@keyframes in{from{opacity:0}.late{display:none}}</style>", "<p class=late>{}</p>"),
        ("<style>.js .late{display:none}</style>", "<p class=late>{}</p>"),
        ("<style>@supports not (display:grid){.old{display:none}}</style>", "<p class=old>{}</p>"),
        ("<style>@supports (-ms-ime-align:auto){.old{display:none}}</style>", "<p class=old>{}</p>"),
        ("<style>@media screen and (max-width:600px){.wide{display:none}}</style>", "<p class=wide>{}</p>"),
        ("<style>@media (prefers-color-scheme:dark){.day{display:none}}</style>", "<p class=day>{}</p>"),
        ("<style>@container (min-width:1px){.part{display:none}}</style>", "<p class=part>{}</p>"),
        ("<style>.part{.inner{display:none}}</style>", "<p class=part>{}</p><b class=inner></b>"),
        ("<style>.part{display:none;&.open{display:block}}</style>", "<p class=part>{}</p>"),
        ("", "<p style='color:transparent;background:linear-gradient(red,blue);background-clip:text'>{}</p>"),
        ("", "<p style='color:transparent;text-shadow:0 0 3px #000'>{}</p>"),
        ("", "<p class='bg-clip-text' style='color:transparent'>{}</p>"),
        ("<style>.drawn{background-clip:text}.ghost{color:transparent}</style>", "<p class='drawn ghost'>{}</p>"),
        ("", "<p style='transform:scale(0.5)'>{}</p>"),
        ("", "<p style='transform:scale(0);transition:transform 1s'>{}</p>"),
        ("", "<div style='background:#fff'><p style='color:#333'>{}</p></div>"),
        (
            "",
            "<div style='background:#fff'><div style='background:url(a.jpg)'><p style='color:#fff'>{}</p></div></div>",
        ),
        ("", "<div style='background:#fff'><div style='position:absolute'><p style='color:#fff'>{}</p></div></div>"),
        ("", "<div style='background:#fff'><a style='color:#fff;background:#000'>{}</a></div>"),
        (
            "<link rel=stylesheet href=a.css>",
            "<div style='background:#fff'><p class=dark style='color:#fff'>{}</p></div>",
        ),
        (
            "<link rel=stylesheet href=a.css><style>.box{background:#fff}.w{color:#fff}</style>",
            "<div class=box><p class=w>{}</p></div>",
        ),
        (
            "<style>.box{background:#fff}.box section{background:#000}.w{color:#fff}</style>",
            "<div class=box><section><p class=w>{}</p></section></div>",
        ),
        (
            "<style>.box{background:#fff}@media (min-width:90em){.in{background:#000}}.w{color:#fff}</style>",
            "<div class=box><div class=in><p class=w>{}</p></div></div>",
        ),
    ],
)
def test_shown_or_opened_by_the_reader(head: str, between: str) -> None:
    assert "marble" in text_of(between.format(SECRET), head)


def test_page_that_a_script_shows() -> None:
    """The style hides all of it until the script has run, so it is text that readers see."""
    body = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    html = f"<title>Harbours</title><body><p>Loading the page.</p><div style='opacity:0'>{body}</div>"
    assert PARAGRAPHS[3] in normalize(html, url="https://harbours.example/").document.text


def test_more_hidden_than_shown_text_stays_hidden() -> None:
    hidden = "".join(f"<p>{SECRET} {number}</p>" for number in range(100))
    assert "marble" not in text_of(f"<div hidden>{hidden}</div>")


def test_formula_with_a_hidden_source() -> None:
    math = "<math alttext='x^2'><semantics><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>"
    assert "x^2" in text_of(f"<p>The square <span style='display:none'>{math}</span> grows.</p>")


def test_links_in_hidden_menus_are_followed() -> None:
    html = "<p>A page of a harbour with a menu.</p><div hidden><a href='/ships'>Ships</a></div>"
    links = normalize(html, url="https://harbours.example/").document.links
    assert [(link.url, link.text, link.in_content) for link in links] == [
        ("https://harbours.example/ships", "Ships", False)
    ]


def test_reason_is_explained() -> None:
    body = "".join(f"<p>{text}</p>" for text in PARAGRAPHS) + f"<p style='opacity:0'>{SECRET}</p>"
    found = explain_removals(body.encode(), url="https://harbours.example/", headers={})
    [group] = [group for group in found.groups if group.kind == "hidden"]
    assert [(text.text, text.detail) for text in group.texts] == [(SECRET, "opacity")]


@pytest.mark.parametrize(
    "html",
    [
        "<style>" + ".a{display:none}" * size(60_000) + "</style>" + "<p class=a>x</p>" * size(10_000),
        "<style>"
        + "".join(f".a.b{n}{{display:none}}" for n in range(5_000))
        + "</style>"
        + "<p class=a>x" * size(20_000),
        "<style>" + "{" * size(500_000) + "</style><p>x",
        "<style>" + "/*" * size(500_000) + "</style><p>x",
        "<style>" + ".a," * size(300_000) + "{display:none}</style><p>x",
        "<style>.a{" + "display:none;" * size(80_000) + "}</style><p class=a>x",
        "<p style='visibility:hidden'>x" * size(20_000),
        "<div style='visibility:hidden'>" * size(4_000) + "x",
        "<b></b><p style='display:none'>x</p>" * size(20_000),
        "<p class='" + " ".join(f"a{n}" for n in range(200_000)) + "'>x<style>.a1{display:none}</style>",
        "<style>" + ".a{" * size(300_000) + "</style><p class=a>x",
        "<style>" + ".a{&{" * size(150_000) + "display:none" + "}" * size(300_000) + "</style><p class=a>x",
        "<style>" + ".a{b:'" * size(150_000) + "</style><p class=a>x",
        "<style>" + '"\\' * size(400_000) + "</style><p>x",
        "<style>" + "a{b:url(" * size(120_000) + "</style><p>x",
        "<style>@supports " + "(a:b) and " * size(90_000) + "(a:b){.a{display:none}}</style><p class=a>x",
        "<style>" + "@media screen and (min-width:1px){" * size(28_000) + ".a{display:none}</style><p class=a>x",
        "<style>" + ".a{color:red}" * size(40_000) + "</style>" + "<p class=a>x" * size(10_000),
        "<style>"
        + "".join(f".a.b{n}{{color:red}}" for n in range(size(1_900)))
        + "</style>"
        + "<p class='a b1'>x" * size(10_000),
        "<div style='background:#fff;color:#fff'>" * size(2_000) + "x" + "<p style='color:#fff'>x" * size(8_000),
        "<p style='transform:" + "scale(1" * size(100_000) + "'>x",
        "<p style='color:rgb(" + "1," * size(100_000) + "'>x",
    ],
    ids=range(22),
)
def test_hostile_styles_take_linear_time(html: str) -> None:
    start = time.process_time()
    normalize(html, url="https://harbours.example/")
    assert time.process_time() - start < guard_seconds(4)


def test_the_last_declaration_wins_unless_one_is_important() -> None:
    assert how_hidden(read_declarations("display:none;display:block")) == ""
    assert how_hidden(read_declarations("display:none !important;display:block")) == "display"


def test_rules_of_other_names_hide_nothing() -> None:
    rules = HidingRules(tuple(read_rules([".a{display:none} #b{color:red}"])), frozenset({".a", ".b", "#a", "#b"}))
    assert rules.how_hidden("p", frozenset({".a"})) == "display"
    assert rules.how_hidden("p", frozenset({".b", "#a", "#b"})) == ""


def test_of_several_ways_of_rules_the_first_counts_that_its_own_style_leaves() -> None:
    """Sets of names have another order in each process."""
    ways = ("font-size:0", "opacity:0", "visibility:hidden", "display:none")
    sheet = "".join(f".a{n}{{{ways[n % 4]}}}" for n in range(40))
    names = frozenset(f".a{n}" for n in range(40))
    rules = HidingRules(tuple(read_rules([sheet])), names)
    assert rules.how_hidden("p", names) == "display"
    assert rules.how_hidden("p", names, {"display"}) == "visibility"
    assert rules.how_hidden("p", names, {"display", "visibility"}) == "opacity"
