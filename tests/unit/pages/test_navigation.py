"""Menus and footers are removed from the tree before the walk."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.link_resolver import OTHER, ROOTED
from streams.pages.parse.navigation import MAX_NESTED, MAX_PLAIN_CHARS, SELECTOR, prune
from tests.cpu_guard import cpu_guard
from tests.sizes import examples, guard_seconds, size

MUCH = "words " * (MAX_PLAIN_CHARS // 6)


CASES = [
    ("by element", "<nav>a</nav>b<footer>c</footer>", "b"),
    ("by role", "<div role=navigation>a</div>b<p role=contentinfo>c</p><p role=main>d", "bd"),
    ("not those of the page's own text", "<main><nav>a</nav></main><article><div><footer>b</footer></div></article>",
     "ab"),
    ("a main element that says it is a menu", "<main role=navigation>a</main>b", "b"),
    ("not the page itself", "<body role=navigation>a", "a"),
    ("one in the other", "<nav>a<nav>b</nav></nav>c", "c"),
    ("much text is no menu", f"<nav>{MUCH} and more</nav>", f"{MUCH} and more"),
    ("but what stands in it may be one", f"<footer>{MUCH} and more<nav>a</nav></footer>", f"{MUCH} and more"),
    ("text in links and spaces don't count", f"<nav>{' ' * 9_000}<a href=x>{MUCH}</a> {MUCH}</nav>b", "b"),
    ("a link that leads nowhere is text", f"<nav><a>{MUCH} and more</a></nav>", f"{MUCH} and more"),
    ("DocBook's links to neighbours", "<div class='navheader'>a</div>b<DIV CLASS=NAVFOOTER>c</DIV>", "b"),
    ("Texinfo's and GTK-Doc's", "<div class='nav-panel x'>a</div>b<table class=navigation><td>c</table>", "b"),
    ("names that begin so", "<div class=navheaders>a</div><div class=navigation>b</div>", "ab"),
    ("nothing to remove", "<p>a", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "left"), CASES)
def test_what_stays(why: str, html: str, left: str) -> None:
    tree = LexborHTMLParser(html)
    prune(tree)
    assert tree.body is not None
    assert tree.body.text() == left, why


def test_links_are_kept_for_the_crawl() -> None:
    menu = "<nav><a href=/a rel=next> A <b>b</b></a><a>x</a><a href>\u00e9</a></nav>"
    text = f"<nav>{MUCH} {MUCH}<a href=/no>n</a></nav>"
    pruned = prune(LexborHTMLParser(f"{menu}{text}<footer><a href=/z></a></footer>"))
    expected = [("/a", "A b", "next", ROOTED), ("", "\u00e9", "", OTHER), ("/z", "", "", ROOTED)]
    assert pruned.links == [(href, text, rel, -1, form) for href, text, rel, form in expected]
    assert pruned.count == 2


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<nav class="x BreadCrumbs"><a href=1>Home</a><a href=2> </a> > <a href=3>Docs</a></nav>', ["Home", "Docs"]),
        ("<nav aria-label=Breadcrumb><a href=1>a</a></nav><nav class=breadcrumb><a href=2>b</a></nav>", ["a"]),
        ("<nav class=breadcrumb></nav><nav class=breadcrumb><a href=2>b</a></nav>", ["b"]),
        ("<nav class=menu><a href=1>a</a></nav>", []),
    ],
)
def test_breadcrumbs(html: str, expected: list[str]) -> None:
    assert prune(LexborHTMLParser(html)).breadcrumbs == expected


PIECES = [
    "<nav>", "</nav>", "<footer>", "</footer>", "<main>", "</main>", "<article>", "</article>",
    "<div role=navigation>", "<p role=contentinfo>", "</div>", "<a href=/x>",
    "<a href='' rel='nofollow x'>", "<a role=navigation href=y>", "<a>", "</a>",
    "text ", "  ",
    "\u00e9\u00a0\u4e2d", MUCH, "<script>var x</script>", "<!-- c -->", "<svg><a href=z>", "</svg>", "<table><td>",
    "<nav role=navigation>", "<div class=navfooter>", "<svg><a xlink:href=w>",
    "<nav class=breadcrumbs>", "<footer aria-label=BREADCRUMB>", "<template><nav>t</nav></template>", "<select>",
]  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_link_is_lost(pieces: list[str]) -> None:
    tree = LexborHTMLParser("".join(pieces))
    before = len(tree.css("a[href]"))
    marked = len({node.mem_id for node in tree.css(SELECTOR)})
    pruned = prune(tree)
    assert len(tree.css("a[href]")) + len(pruned.links) == before
    assert pruned.count <= marked


LONG = "<p>" + "word " * size(100_000)


@pytest.mark.parametrize(
    ("html", "pruned"),
    [
        ("<nav>" * 4_900 + LONG, 0),
        ("<nav><footer>" * 2_400 + "<a href=x>y" * size(20_000), 1),
        ("<div>" * 4_900 + "<nav></nav>" * size(50_000), size(50_000)),
    ],
    ids=["long text", "links", "siblings"],
)
def test_nested_menus_take_linear_time(html: str, pruned: int) -> None:
    tree = LexborHTMLParser(html)
    with cpu_guard(guard_seconds(30)):
        assert prune(tree).count == pruned


def test_a_menu_inside_of_many_long_ones_stays() -> None:
    html = f"<nav>{MUCH} more" * MAX_NESTED + "<nav>a</nav>"
    assert prune(LexborHTMLParser(html)).count == 0
    assert prune(LexborHTMLParser(html.replace("<nav>", "<div>", 1))).count == 1
