"""The consent of publishers: their directives, read into one value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.document.consent import Consent


@pytest.mark.parametrize(
    ("directives", "max_snippet", "for_models", "reasons"),
    [
        ((), None, True, ()),
        (("noarchive", "nofollow"), None, True, ()),  # they are about other things
        (("noai",), None, False, ("noai",)),
        (("ai-input=no",), None, False, ("ai-input=no",)),
        (("tdm-reservation",), None, False, ("tdm-reservation",)),
        (("nosnippet",), 0, False, ("nosnippet",)),
        (("max-snippet:0",), 0, False, ("max-snippet:0",)),  # means nosnippet
        (("max-snippet:120",), 120, True, ("max-snippet:120",)),
        (("max-snippet:120", "max-snippet:50"), 50, True, ("max-snippet:120", "max-snippet:50")),
        (("max-snippet:-1",), None, True, ()),  # no limit
        (("max-snippet:many", "max-snippet:²", "max-snippet:9999999999999"), None, True, ()),
        (("nosnippet", "max-snippet:50"), 0, False, ("max-snippet:50", "nosnippet")),
    ],
)
def test_directives(directives: tuple[str, ...], max_snippet: int, for_models: bool, reasons: tuple[str, ...]) -> None:
    assert Consent.of_directives(directives) == Consent(max_snippet, for_models, reasons)


_DIRECTIVES = st.frozensets(
    st.sampled_from(
        ["noai", "nosnippet", "max-snippet:0", "max-snippet:9", "ai-input=no", "tdm-reservation", "nofollow"]
    )
)


@given(_DIRECTIVES, _DIRECTIVES)
def test_a_further_directive_never_allows_more(some: frozenset[str], more: frozenset[str]) -> None:
    first, both = Consent.of_directives(some), Consent.of_directives(some | more)
    assert first.for_models or not both.for_models
    assert all(first.allows_quoting(length) or not both.allows_quoting(length) for length in (0, 1, 9, 10, 10**6))


_TEXTS = st.lists(st.text(alphabet="ab ", max_size=40), max_size=6)


@given(st.integers(0, 100), _TEXTS)
def test_quotations_together_have_no_more_characters_than_the_publisher_allows(limit: int, texts: list[str]) -> None:
    quoted = Consent(limit).quote(texts)
    assert sum(map(len, quoted)) <= limit
    assert all(part == whole or part[-1:] in ("", "…") for part, whole in zip(quoted, texts, strict=True))
    assert Consent().quote(texts) == tuple(texts)
