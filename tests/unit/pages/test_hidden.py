"""Texts that no reader sees are no part of a page. Texts that a reader opens, or that a script shows, are."""

import time

import pytest

from streams.pages.normalize import normalize
from streams.pages.parse.hiding_rules import HidingRules
from streams.pages.parse.hiding_styles import how_hidden, read_declarations
from streams.pages.sandbox.explanation import explain_removals

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
    ],
)
def test_hidden_by_a_rule_of_the_page(sheet: str, element: str) -> None:
    found = text_of(f"{element}{SECRET}</p>", f"<style>{sheet}</style>")
    assert ("marble" in found) == sheet.endswith("none")  # a rule without an end is no rule


@pytest.mark.parametrize(
    ("head", "between"),
    [
        ("", "<p aria-hidden=true>{}</p>"),
        ("", "<p hidden=until-found>{}</p>"),
        ("", "<details><summary>More</summary><p>{}</p></details>"),
        ("", "<div role=tabpanel hidden><p>{}</p></div>"),
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
        "<style>" + ".a{display:none}" * 60_000 + "</style>" + "<p class=a>x</p>" * 10_000,
        "<style>" + "".join(f".a.b{n}{{display:none}}" for n in range(5_000)) + "</style>" + "<p class=a>x" * 20_000,
        "<style>" + "{" * 500_000 + "</style><p>x",
        "<style>" + "/*" * 500_000 + "</style><p>x",
        "<style>" + ".a," * 300_000 + "{display:none}</style><p>x",
        "<style>.a{" + "display:none;" * 80_000 + "}</style><p class=a>x",
        "<p style='visibility:hidden'>x" * 20_000,
        "<div style='visibility:hidden'>" * 4_000 + "x",
        "<b></b><p style='display:none'>x</p>" * 20_000,
        "<p class='" + " ".join(f"a{n}" for n in range(200_000)) + "'>x<style>.a1{display:none}</style>",
    ],
    ids=range(10),
)
def test_hostile_styles_take_linear_time(html: str) -> None:
    start = time.process_time()
    normalize(html, url="https://harbours.example/")
    assert time.process_time() - start < 4


def test_the_last_declaration_wins_unless_one_is_important() -> None:
    assert how_hidden(read_declarations("display:none;display:block")) == ""
    assert how_hidden(read_declarations("display:none !important;display:block")) == "display"


def test_rules_of_other_names_hide_nothing() -> None:
    rules = HidingRules([".a{display:none} #b{color:red}"])
    assert rules.how_hidden("p", frozenset({".a"})) == "display"
    assert rules.how_hidden("p", frozenset({".b", "#a", "#b"})) == ""
