"""A page's HTML as text: its folds, nothing lost, and no page that takes long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.labs.source_view import MAX_PIECE_CHARS, MIN_FOLDED_CHARS, Piece, read_source
from tests.sizes import size

LONG = "x" * MIN_FOLDED_CHARS
FOLDED = [
    # the page, the labels of its folds
    (f"<script>{LONG}</script><p>a", ["script, 200 characters"]),
    (f"<SCRIPT type=module>{LONG}</SCRIPT>", ["script, 200 characters"]),
    (f"<script>{LONG}", ["script, 200 characters"]),  # without an end, all that follows is script
    ("<script>short</script>", []),
    (f"<head><script>{LONG}</script></head>", ["head, 217 characters"]),
    (f"<head><title>{LONG}</title><p>its end is left out", []),
    (f"<header>{LONG}</header>", []),
    (f"<img src='data:image/png;base64,{LONG}'>", ["data, 207 characters"]),
    (
        f"data:image/png;base64,{LONG} no more <svg><path d='{LONG}'/></svg>",
        ["data, 207 characters", "svg, 212 characters"],
    ),
    (f"<p>{LONG}", []),
    ("", []),
]


@pytest.mark.parametrize(("page", "labels"), FOLDED)
def test_unread_parts_are_folded(page: str, labels: list[str]) -> None:
    source = read_source(page, 10_000)
    assert [piece.label for piece in source.pieces if piece.label] == labels
    assert "".join(piece.text for piece in source.pieces) == page


@given(
    st.lists(st.sampled_from(["<script>", "</script>", "<svg>", "<head>", "data:a/b,", ">", LONG, "a b"]), max_size=15)
)
def test_the_pieces_together_are_the_page(parts: list[str]) -> None:
    page = "".join(parts)
    source = read_source(page, 1_000_000)
    assert "".join(piece.text for piece in source.pieces) == page
    assert source.shown_chars == source.chars == len(page)


def test_only_the_start_of_a_long_page_is_shown_and_folds_do_not_count() -> None:
    fold = "x" * (MAX_PIECE_CHARS + 1)
    source = read_source(f"<script>{fold}</script>{'a' * 500}", 100)
    assert source.pieces == (
        Piece("<script>"),
        Piece("x" * MAX_PIECE_CHARS, "script, 4,001 characters", cut=True),
        Piece("</script>" + "a" * 83),
    )
    assert (source.shown_chars, source.chars) == (100 + len(fold), 500 + 17 + len(fold))


CONTROLS = [
    ("a\x00b\x1bc", "a\ufffdb\ufffdc"),  # controls
    ("\u202eabc", "\ufffdabc"),  # would turn around what follows
    ("a\r\nb\rc\td\u00a0e\u200df", "a\nb\nc\td\u00a0e\u200df"),  # line ends, tabs, and what joins letters, stay
    ("a\n\n \n\t\nb", "a\n\nb"),  # of blank lines one
    ("\r\n\n\na\n", "a\n"),  # at the start none
]


@pytest.mark.parametrize(("page", "shown"), CONTROLS)
def test_controls_are_shown_as_replacement_characters(page: str, shown: str) -> None:
    assert "".join(piece.text for piece in read_source(page, 1_000).pieces) == shown


HOSTILE = [
    "<script ",
    "<script>",
    "<svg>",
    "<style",
    "data:a/b,",
    "data:a/b,a:",
    "<head>",
    "<template><svg ",
    "\n ",
    " ",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("ending", ["", ">", "</script></svg></style></head></template>"])
def test_a_page_made_to_be_slow_is_not(piece: str, ending: str) -> None:
    """Two million characters at night: quadratic work would run into the timeout."""
    page = read_source(piece * (size(2_000_000) // len(piece)) + ending, 200_000)
    assert 0 < page.shown_chars <= page.chars
