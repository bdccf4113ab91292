"""What was not kept of a page, and where it stood; and that no page takes long to compare."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.comparison import MAX_REMOVED, Removed, removed_texts

PAGES = [
    # the page, the document's text, what is missing
    ("<p>Kept &amp; <b>bold</b> text.</p>", "Kept & bold text.", []),
    ("<nav><a href=/>Home</a> <a>About</a></nav><p>Kept.", "Kept.", [("in a navigation", "Home About")]),
    ("<p>Kept.</p><p>Buy now!</p>", "Kept.", [("judged not to be content", "Buy now!")]),
    ("<title>T</title><script>let a = '<p>x</p>'</script><p>Kept.", "Kept.", [("a script", "let a = '<p>x</p>'")]),
    ("<!-- <p>comment</p> --><p>Kept.</p><FOOTER>(c)</FOOTER>", "Kept.", [("in a footer", "(c)")]),
    ("<footer>a</footer><p>b</p>", "", [("in a footer", "a"), ("judged not to be content", "b")]),
    ("</nav></nav><p>b</p>", "", [("judged not to be content", "b")]),
    ("<p>un<!--closed", "", [("judged not to be content", "un")]),
    ("İİİİ<SCRIPT>x</SCRIPT><p>Kept.", "İİİİ Kept.", [("a script", "x")]),  # its lower case is longer
    ("no tags", "no tags", []),
    ("", "", []),
]


@pytest.mark.parametrize(("page", "kept", "missing"), PAGES)
def test_what_is_missing_and_where_it_stood(page: str, kept: str, missing: list[tuple[str, str]]) -> None:
    assert removed_texts(page, kept) == [Removed(reason, text) for reason, text in missing]


@given(st.text(alphabet="<>/!-ab nvscript=\"' \n&;", max_size=300))
def test_no_page_breaks_it(page: str) -> None:
    assert len(removed_texts(page, "")) <= MAX_REMOVED


HOSTILE = ["<", "<!--", "<script>", "<nav>", "</", "<a ", "&", "<title>", "<svg/>"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_page_made_to_be_slow_is_not(piece: str) -> None:
    """100,000 characters: quadratic work would run into the timeout."""
    removed_texts(piece * (100_000 // len(piece)), "kept " * 10_000)
