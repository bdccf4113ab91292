"""The depth of elements is counted before the page is parsed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Refused
from streams.pages.parse.page import _UNCLOSED, MAX_DEPTH, deepest, refuse_nesting
from tests.cpu_guard import cpu_guard
from tests.sizes import examples, guard_seconds, size

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


@settings(max_examples=examples(200), deadline=None)
@given(pieces=st.lists(st.sampled_from(TAGS), max_size=60), limit=st.integers(1, 6))
def test_counting_ends_at_one_more_than_the_limit(pieces: list[bytes], limit: int) -> None:
    html = b"".join(pieces)
    assert deepest(html, limit) == min(deepest(html, 1_000), limit + 1)


@pytest.mark.parametrize("tags", [0, 1, 239, 240, 241, 1000])
def test_pages_with_few_tags_are_not_counted(tags: int) -> None:
    html = b"<b>" * (MAX_DEPTH + 1) + b"<" * tags
    refuse_nesting(html, safe_tags=MAX_DEPTH + 1 + tags)
    with pytest.raises(Refused):
        refuse_nesting(html, safe_tags=MAX_DEPTH + tags)


def test_elements_without_an_end_tag_do_not_nest() -> None:
    for name in (b"a", b"div", b"svg", *_UNCLOSED):
        html = b"<" + name + b"><" + name.upper() + b">"
        assert deepest(html, 9) == (0 if name in _UNCLOSED else 2), name


@pytest.mark.parametrize(
    ("why", "before", "behind"),
    [
        ("a script", b"<script>x = '", b"'</script>"),
        ("a comment", b"<!-- ", b" -->"),
        ("a text field", b"<textarea>", b"</textarea>"),
        ("a comment without an end", b"<!-- ", b""),
    ],
)
def test_tags_inside_of_text_do_not_count(why: str, before: bytes, behind: bytes) -> None:
    page = b"<p>a" + before + b"<div>" * (MAX_DEPTH + 1) + behind + b"<p>b"
    refuse_nesting(page)
    assert deepest(page, MAX_DEPTH) <= 2


@pytest.mark.parametrize("before", [b"<svg><title>", b"<math><style>", b"<!-->", b"<!--->", b"<!-- --!>", b"<script>"])
def test_nesting_is_not_hidden_by_what_the_parser_reads_as_elements(before: bytes) -> None:
    with pytest.raises(Refused, match=str(MAX_DEPTH)):
        refuse_nesting(before + b"<div>" * (MAX_DEPTH + 1))


def test_deep_nesting_is_refused() -> None:
    refuse_nesting(b"<div>" * MAX_DEPTH)
    with pytest.raises(Refused, match=str(MAX_DEPTH)):
        refuse_nesting(b"<div>" * (MAX_DEPTH + 1))


@pytest.mark.parametrize("tag", [b"<script>", b"<xmp>", b"<ScRiPt>", b"<script><xmp><style>", b"<!--", b"<!-->"])
def test_unclosed_texts_are_counted_in_linear_time(tag: bytes) -> None:
    with cpu_guard(guard_seconds(60)):
        assert deepest(tag * size(1_000_000), MAX_DEPTH) <= 2
