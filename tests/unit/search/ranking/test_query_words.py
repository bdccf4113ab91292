"""The words of a query: which of them a text has, how much each is worth, and the identifiers among them."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.search.query_language import matching
from streams.search.query_language.matching import MAX_IDENTIFIERS
from streams.search.ranking.confidence import cut, shares_of, words_in
from streams.search.ranking.context import RankingContext
from streams.search.ranking.named_pages import put_identifiers_first
from streams.stores.protocols import Hit, PageHits
from streams.vectors.bm25 import query_words, statement_terms
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.contexts import context_of


def page(name: str, *texts: str, score: float = 1.0, title: str = "", context: Sequence[str] = ()) -> PageHits:
    url = f"https://a.example/{name}"
    contexts = [context, *[["vacuum locks tables"]] * len(texts)]
    rows = [statement(url, text, title=title, context=above) for text, above in zip(texts, contexts, strict=False)]
    hits = [Hit(uuid5(UUID(int=1), f"{name} {n}"), score, payload_of(row)) for n, row in enumerate(rows)]
    return PageHits(hits[0].payload.page_id, tuple(hits), score)


def context(query: str) -> RankingContext:
    return replace(context_of(query), words=query_words(query))


def names(pages: Sequence[PageHits]) -> list[str]:
    return [each.hits[0].payload.url.rpartition("/")[2] for each in pages]


def test_a_rare_word_has_more_of_the_share() -> None:
    common, rare = 0, 1  # a third word is in no page
    with_common, with_rare, *_ = shares_of([{common}, {rare}, {common}, {common}], 3)
    assert 0 < with_common < with_rare < 1


@given(st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=8))
def test_a_share_is_between_0_and_1_and_grows_with_each_word(covered: list[frozenset[int]]) -> None:
    shares = shares_of(covered, 6)
    for one, share in zip(covered, shares, strict=True):
        assert 0 <= share <= 1 + 1e-9
        assert (share < 1e-9) == (not one)
        assert all(share <= more + 1e-9 for other, more in zip(covered, shares, strict=True) if one <= other)


def test_a_word_is_found_by_its_stem_in_any_language_of_the_query() -> None:
    english, other = 1, 2
    assert words_in({english}, [(english, other), (3,)]) == words_in({other}, [(english, other), (3,)]) == {0}
    # A name may be taken for a word of another language, with one more stem that no English page has.
    assert len(query_words("sqlite")[0]) == 2
    assert words_in(statement_terms(["SQLite is small."]), query_words("sqlite")) == {0}


@given(st.lists(st.text()), st.integers(0, 50))
def test_texts_are_cut_where_they_would_be_if_they_were_one(texts: list[str], count: int) -> None:
    assert "".join(cut(texts, count)) == "".join(texts)[:count]


# The query -> the pages that come first, and the identifiers that no page has, if no page has all of them.
NAMED = {
    "one name": ("SQLITE_BUSY", ["busy", "both"], ()),
    "all names stand in one statement": ("SQLITE_BUSY 3.11.4", ["both"], ()),
    "each on a page of its own": ("SQLITE_BUSY E0277", [], ()),
    "one of two is nowhere": ("SQLITE_BUSY SQLITE_NOPE", [], ("SQLITE_NOPE",)),
    "in another case": ("sqlite_busy", ["busy", "both"], ()),
    "the first ones of hundreds": (" ".join(f"a_{n}" for n in range(450)), [], tuple(f"a_{n}" for n in range(16))),
    "no name": ("vacuum", [], ()),
}


@pytest.mark.parametrize(("query", "first", "missing"), NAMED.values(), ids=NAMED)
def test_pages_with_all_identifiers_come_first(query: str, first: list[str], missing: tuple[str, ...]) -> None:
    pages = [
        page("none", "A table."),
        page("two", "E0277 is an error.", "Python 3.11.4."),
        page("busy", "SQLITE_BUSY is returned."),
        page("both", "SQLITE_BUSY in Python 3.11.4."),
    ]
    found = context(query)
    order = names(put_identifiers_first(found, pages))
    assert order == [*first, *(name for name in names(pages) if name not in first)]
    assert found.notes.missing_names == missing


FORMS_OF_NAMES = [
    "a_{}",
    "a.b.{}",
    "CamelCase{}",
    "x-{}.py",
    "--flag-{}",
    "E{}277",
    "1.{}.3",
    "f{}()",
    "\ufb01_{}",
    "\u0e01_{}",
]


@pytest.mark.parametrize(("form", "count"), [("a_{}", 1), ("a_{}", 16), *((form, 450) for form in FORMS_OF_NAMES)])
def test_each_text_is_folded_once_however_many_identifiers_a_query_has(
    form: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pasted stack trace has hundreds of names: with a fold for each, 750 statements took 73 s of CPU time."""
    folded: list[str] = []
    fold = matching.fold

    def counted(text: str) -> str:
        folded.append(text)
        return fold(text)

    monkeypatch.setattr(matching, "fold", counted)
    pages = [page(f"{n}", *[f"The river {n}." for _ in range(3)]) for n in range(20)]
    put_identifiers_first(context(" ".join(form.format(n) for n in range(count))), pages)
    assert len(folded) <= 60 + MAX_IDENTIFIERS
