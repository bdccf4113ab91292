"""How deep elements nest, counted before the parser sees them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Refused
from streams.pages.parse.page import _UNCLOSED, MAX_DEPTH, deepest, refuse_nesting

TAGS = [
    b"<div>",
    b"</div>",
    b"<P>",
    b"<br>",
    b"< div>",
    b"<svg>",
    b"<!-- -->",
    b"<!--",
    b"-->",
    b"--",
    b"<!-->",
    b"<!--->",
    b"--!>",
    b"<svg/>",
    b"<MATH",
    b"</svg>",
    b"<script>",
    b"</SCRIPT>",
    b"</scripts>",
    b"<textarea a>",
    b"</textarea",
    b"<title>",
    b"</title >",
    b"</",
    b"<",
    b"<a-b>",
    b"<h1",
    b"x",
    b"<IMG>",
]


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from(TAGS), max_size=60), limit=st.integers(1, 6))
def test_counting_ends_just_beyond_the_limit(pieces: list[bytes], limit: int) -> None:
    html = b"".join(pieces)
    assert deepest(html, limit) == min(deepest(html, 1_000), limit + 1)


@pytest.mark.parametrize("tags", [0, 1, 239, 240, 241, 1000])
def test_pages_with_few_tags_are_not_counted(tags: int) -> None:
    html = b"<b><b>" + b"<" * tags
    assert [deepest(html, 9, safe) for safe in (tags + 1, tags + 2)] == [2, 0]


def test_elements_without_an_end_tag_do_not_nest() -> None:
    for name in (b"a", b"div", b"svg", *_UNCLOSED):
        html = b"<" + name + b"><" + name.upper() + b">"
        assert deepest(html, 9) == (0 if name in _UNCLOSED else 2), name


@pytest.mark.parametrize(
    ("why", "before", "behind"),
    [
        ("a script", b"<script>x = '", b"'</script>"),
        ("a comment", b"<!-- ", b" -->"),
        ("what a reader may change", b"<textarea>", b"</textarea>"),
        ("a comment without an end", b"<!-- ", b""),
    ],
)
def test_tags_that_are_text_nest_nothing(why: str, before: bytes, behind: bytes) -> None:
    refuse_nesting(b"<p>a" + before + b"<div>" * (MAX_DEPTH + 1) + behind + b"<p>b")


@pytest.mark.parametrize("before", [b"<svg><title>", b"<math><style>", b"<!-->", b"<!--->", b"<!-- --!>", b"<script>"])
def test_nor_is_nesting_hidden_by_what_is_no_text_to_the_parser(before: bytes) -> None:
    with pytest.raises(Refused, match=str(MAX_DEPTH)):
        refuse_nesting(before + b"<div>" * (MAX_DEPTH + 1))


def test_deep_nesting_is_refused() -> None:
    refuse_nesting(b"<div>" * MAX_DEPTH)
    with pytest.raises(Refused, match=str(MAX_DEPTH)):
        refuse_nesting(b"<div>" * (MAX_DEPTH + 1))
