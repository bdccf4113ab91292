"""The patterns of a crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.scope import MAX_PATTERNS, belongs, make_patterns

CASES = [
    ((), "https://a.example/x", True),
    (("+/docs/*",), "https://a.example/docs/x?y", True),
    (("+/docs/*",), "https://a.example/docs", False),
    (("+/docs/*", "+/guide"), "https://a.example/guide", True),
    (("-*/print.html",), "https://a.example/a/print.html", False),
    (("+/docs/*", "-*.txt"), "https://a.example/docs/a.txt", False),
    (("+https://a.example/*",), "https://b.example/https://a.example/", False),
    (("-/search?q=*",), "https://a.example/search?q=1", False),
    (("-/*a*b*c",), "https://a.example/xaxbxc", False),
    (("-/*a*b*c",), "https://a.example/xaxcxb", True),
    (("-/ab*ba",), "https://a.example/aba", True),  # the two ends don't overlap
    (("-/a.b",), "https://a.example/aXb", True),  # a dot is a dot
]


@pytest.mark.parametrize(("patterns", "url", "expected"), CASES)
def test_which_urls_belong(patterns: tuple[str, ...], url: str, expected: bool) -> None:
    assert belongs(url, patterns) is expected


@given(st.text(st.sampled_from("ab*"), min_size=1, max_size=8), st.text(st.sampled_from("ab"), max_size=12))
def test_a_glob_matches_as_the_regular_expression_of_its_parts(glob: str, text: str) -> None:
    import re

    expected = re.fullmatch(".*".join(map(re.escape, glob.split("*"))), text) is not None
    assert belongs(text, (f"+{glob}",)) is expected


@pytest.mark.parametrize("globs", [[""], ["x" * 256], [str(number) for number in range(MAX_PATTERNS + 1)]])
def test_patterns_are_bounded(globs: list[str]) -> None:
    with pytest.raises(ValueError, match="pattern"):
        make_patterns(globs, [])
