# ruff: noqa: E501 - pages as they come
"""Names with descriptions that pages write without a `dl`: accordions, grids, rows of two parts. The document has a `dl`.

Structure alone decides: none of the names below is a class that the code knows.
"""

import pytest

from streams.pages.document.to_html import body_html, to_html
from streams.pages.normalize import normalize
from tests.cpu_guard import cpu_guard

URL = "https://site.example/"
AS_PAIRS = [
    ("details", "<details><summary>Name</summary><p>Its text</details><details><summary>Other</summary>More text</details>"),
    ("within a part of their own", "<div><details><summary>Name</summary><div><p>Its text</div></details>"
     "<details open><summary>Other</summary><span>More text</span></details></div>"),
    ("rows of a table of divs", "<div><div><div><a href=x>Name</a></div><div><p>Its text</div></div>"
     "<div><div><a href=y>Other</a></div><div><p>More text</div></div></div>"),
    ("without a part around the name", "<section><div><span>Name</span><div>Its text</div></div><div><b>Other</b><div>More text</div></div></section>"),
    ("rows in frames", "<div><div><div><p>Name<div>Its text</div></div></div><div><div><p>Other<div>More text</div></div></div></div>"),
    ("of which the description is no longer, by their classes", "<div><div><p class=k>Name<div class=v>Its text</div></div><div><p class=k>Other<div class=v>More text</div></div></div>"),
    ("cells of a grid in turn", "<div><div class=k>Name</div><div class=v>Its text</div><div class=k>Other</div><div class=v>More text</div></div>"),
    ("buttons and what they open", "<div><button aria-expanded=false>Name</button><div>Its text</div><button>Other</button><div>More text</div></div>"),
    ("elements with the role of buttons", "<div><div role=button>Name</div><div>Its text</div><div role=button>Other</div><div>More text</div></div>"),
]  # fmt: skip
DL = "<dl><dt><p>Name</p></dt><dd><p>Its text</p></dd><dt><p>Other</p></dt><dd><p>More text</p></dd></dl>"
NO_PAIRS = [
    ("one row", "<div><div><div>Name</div><div>Its text</div></div></div>"),
    ("columns of short texts", "<div><div><p class=c>A name<p class=c>A port</div><div><p class=c>A town<p class=c>A sea</div></div>"),
    ("a menu", "<div><div><a href=a>Name</a><div><a href=b>Its page is here</a></div></div><div><a href=c>Other</a><div><a href=d>More pages are here</a></div></div></div>"),
    ("columns of sentences", "<div><div><p>A sentence.<p>Another one that is longer.</div><div><p>A third.<p>A fourth one that is longer.</div></div>"),
    ("rows of three", "<div><div><p>a<p>b<p>c d</div><div><p>e<p>f<p>g h</div></div>"),
    ("rows of different shapes", "<div><div><p>Name<div>Its text</div></div><div><div>Other</div><p>More text</div></div>"),
    ("headings name what is below them", "<div><div><h3>Name</h3><p>Its text</div><div><h3>Other</h3><p>More text</div></div>"),
    ("so do headings in a summary", "<details><summary><h3>Name</h3></summary><p>Its text</details>"),
    ("paragraphs alike", "<div><p>Name<p>Its text<p>Other<p>More text</div>"),
    ("posts below the names of their authors", f"<div><div><p>Kim<div>{'word ' * 90}</div></div><div><p>Leo<div>{'text ' * 90}</div></div></div>"),
    ("one author of all posts", "<div><div><p>Kim<div>Some text</div></div><div><p>Kim<div>More text</div></div><div><p>Kim<div>And text</div></div></div>"),
    ("a summary without a text", "<details><summary>Name</summary></details>"),
]  # fmt: skip


def body_of(html: str) -> str:
    document = normalize(f"<title>T</title><main>{html}</main>", url=URL).document
    assert normalize(to_html(document), url=URL).document == document
    return body_html(document).replace('<a href="https://site.example/x">Name</a>', "Name").replace(
        '<a href="https://site.example/y">Other</a>', "Other"
    ).replace("<strong>Other</strong>", "Other")  # fmt: skip


@pytest.mark.parametrize(("why", "html"), AS_PAIRS, ids=[why for why, _ in AS_PAIRS])
def test_a_name_and_its_description_are_a_pair(why: str, html: str) -> None:
    assert body_of(html) == DL, why


@pytest.mark.parametrize(("why", "html"), NO_PAIRS, ids=[why for why, _ in NO_PAIRS])
def test_other_texts_side_by_side_are_none(why: str, html: str) -> None:
    assert "<dl>" not in body_of(html), why


def test_groups_apart_are_lists_of_their_own_in_the_order_of_the_page() -> None:
    group = "<details><summary>Name</summary>Its text</details><details><summary>Other</summary>More text</details>"
    assert body_of(f"{group}<p>Between{group}") == f"{DL}\n<p>Between</p>\n{DL}"


def test_a_pair_within_a_pair() -> None:
    inner = "<details><summary>Inner</summary>deep text</details>"
    assert body_of(f"<details><summary>Name</summary>Its text {inner}</details>") == (
        "<dl><dt><p>Name</p></dt><dd><p>Its text</p>"
        "<dl><dt><p>Inner</p></dt><dd><p>deep text</p></dd></dl></dd></dl>"
    )  # fmt: skip


ELEMENTS = 8_000


@pytest.mark.parametrize(
    "html",
    [
        "<details><summary>a</summary>b c</details>" * ELEMENTS,
        "<div><p>a</p><div>b c</div></div>" * ELEMENTS,
        "<details><summary>a</summary>b c" * 100,
        f"<div>{'<p class=a>a</p><p class=b>b c</p>' * ELEMENTS}</div>",
        "<div>a<div>" * 100,
    ],
)
def test_finding_pairs_takes_linear_time(html: str) -> None:
    with cpu_guard(4):
        normalize(html, url=URL)
