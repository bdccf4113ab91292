"""Sums along the tree, means over segments, depth of tags: in C and in Python alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Refused
from streams.pages.content import features
from streams.pages.content.lexicon import BITS
from streams.pages.native import numbers
from streams.pages.native.library import library
from streams.pages.parse.page import _UNCLOSED, MAX_DEPTH, deepest, refuse_nesting
from streams.pages.parse.segments import Measured


@st.composite
def trees(draw: st.DrawFn) -> np.ndarray:
    """Parents of elements in document order: each one's parent is the one before it, or one around that."""
    parents = [-1]
    for index in range(1, draw(st.integers(1, 60))):
        parent = index - 1
        for _ in range(draw(st.integers(0, 4))):
            parent = max(parents[parent], 0)
        parents.append(parent)
    return np.array(parents, np.int32)


@settings(max_examples=200, deadline=None)
@given(parents=trees(), seed=st.integers(0, 2**32))
def test_sums_and_sections(parents: np.ndarray, seed: int) -> None:
    assert library() is not None
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 5, len(parents)).astype(np.float64)
    held = numbers.gather(parents, values)
    assert held.tolist() == numbers.gather(parents, values, compiled=False).tolist()
    assert held[0] == values.sum()
    limit = 0.4 * float(held[0])
    assert np.array_equal(*(numbers.sections(parents, held, limit, compiled=c) for c in (True, False)))


@settings(max_examples=100, deadline=None)
@given(rows=st.integers(1, 50), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_means(rows: int, width: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    hidden = chance.random((rows, width), np.float32)
    weights = chance.random((rows, 1), np.float32) + np.float32(0.1)
    groups = tuple(chance.integers(0, most, rows) for most in (3, 80, rows))
    ours, law = (numbers.pooled(hidden, weights, groups, (2, 8), compiled=c) for c in (True, False))
    np.testing.assert_allclose(ours, law, rtol=1e-4, atol=1e-6)


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
@given(pieces=st.lists(st.sampled_from(TAGS), max_size=60), limit=st.integers(1, 6), safe=st.integers(0, 40))
def test_depth_of_tags(pieces: list[bytes], limit: int, safe: int) -> None:
    html = b"".join(pieces)
    compiled = library()
    assert compiled is not None
    assert compiled.riffle_deepest(html, len(html), limit, safe) == deepest(html, limit, safe)


@pytest.mark.parametrize("size", [0, 1, 239, 240, 241, 1000])
def test_tags_are_counted_to_the_last(size: int) -> None:
    """They are counted in stretches of 240 bytes."""
    html = b"<" * size
    compiled = library()
    assert compiled is not None
    assert [compiled.riffle_deepest(b"<b><b>" + html, size + 6, 9, safe) for safe in (size + 1, size + 2)] == [2, 0]


def test_both_know_the_elements_that_never_stay_open() -> None:
    compiled = library()
    assert compiled is not None
    for name in (b"a", b"div", b"svg", *_UNCLOSED):
        html = b"<" + name + b"><" + name.upper() + b">"
        assert compiled.riffle_deepest(html, len(html), 9, 0) == deepest(html, 9) == (0 if name in _UNCLOSED else 2), (
            name
        )


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


@settings(max_examples=100, deadline=None)
@given(parents=trees(), rows=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_the_content_models_input(parents: np.ndarray, rows: int, seed: int) -> None:
    compiled = library()
    assert compiled is not None
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 300, (rows, 6)).astype(np.float32)
    counts[:, [0, 2]] += 1  # texts are never empty
    page = Measured(
        tags=np.zeros(len(parents), np.int32),
        parents=parents,
        elements=np.sort(chance.integers(0, len(parents), rows)).astype(np.int32),
        counts=counts,
        words=counts[:, 2],
        flags=chance.integers(0, 2**16, rows).astype(np.uint16),
        groups=chance.integers(0, rows, rows),
        masks=chance.integers(0, 2**40, len(parents)).astype(np.uint64),
    )
    tags = chance.integers(0, 17, len(parents)).astype(np.int32)
    (ours, sums), (law, expected) = features.in_c(compiled, page, tags), features.in_numpy(page, tags)
    masks = slice(5 + 16 + 3 + 17, 5 + 16 + 3 + 17 + 2 * BITS)  # own and inherited, behind what the texts are like
    assert np.array_equal(ours[:, masks], law[:, masks])
    judged = features.COLUMNS - features.WHOLE
    np.testing.assert_allclose(ours[:, :judged], law[:, :judged], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sums, expected, rtol=1e-4)
