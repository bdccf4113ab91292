"""Pages that a query names: by the words of their title, and by the name of their site."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import DeadlineExceeded
from streams.pages.text.tokens import words
from streams.search.ranking.named_pages import (
    PAGES,
    folders_above,
    names_host,
    put_addressed_first,
    without_number,
)
from streams.search.ranking.signals import add_signals
from streams.stores.protocols import Hit, HostRank, PageHits
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.contexts import context_of


def page(url: str, title: str = "A page", score: float = 1.0) -> PageHits:
    payload = payload_of(statement(url, "A statement.", title=title))
    return PageHits(payload.page_id, (Hit(uuid5(UUID(int=1), url), score, payload),), score)


def order(query: str, *pages: PageHits, ranks: Mapping[str, HostRank] | None = None, **options: float) -> list[str]:
    """The addresses of the pages in the order of the pass, for pages with the best first."""
    context = context_of(query, freshness_weight=0, authority_weight=0, **options)
    if ranks is not None:
        context.read["priors"] = ranks
    return [each.hits[0].payload.url.removeprefix("https://") for each in add_signals(context, list(pages))]


def gains_as_title(query: str, only: PageHits) -> bool:
    """Return whether the page gains by the words of the query as a title."""
    context = context_of(query, site_weight=0.0)
    [found] = add_signals(context, [only])
    return "title" in context.notes.parts.get(found.page_id, {})


TITLES = [
    ("write-ahead logging", "Write-Ahead Logging", True, "the title"),
    ("logging write ahead", "Write-Ahead Logging", True, "in another order"),
    ("the write-ahead log", "Write-Ahead Logging", True, "in other inflections, with function words"),
    ("wal configuration", "30.5. WAL Configuration", True, "without the number of the chapter"),
    ("30.5 wal configuration", "30.5. WAL Configuration", True, "with it"),
    ("limits postgresql", "Appendix K. PostgreSQL Limits", True, "or of an appendix"),
    ("sqlite write-ahead logging", "Write-Ahead Logging", True, "with the name of the site"),
    ("limits", "Limits in SQLite", True, "without the name of the site, which the title has"),
    ("write-ahead", "Write-Ahead Logging", False, "a part of it"),
    ("write-ahead logging modes", "Write-Ahead Logging", False, "more than it"),
    ("sqlite", "SQLite", True, "the title is the site's name"),
    ("sqlite", "", False, "no title"),
    ("limits", "SQLite", False, "the site's name is no other word"),
    ("to be or not to be", "To be", False, "function words count where there are no others"),
]


@pytest.mark.parametrize(("query", "title", "named", "why"), TITLES, ids=[f"{q} | {t}" for q, t, _, _ in TITLES])
def test_a_title_is_named_by_its_words(query: str, title: str, named: bool, why: str) -> None:
    assert gains_as_title(query, page("https://www.sqlite.org/a.html", title)) is named, why


NAMES = [
    ("sqlite", "www.sqlite.org", True),
    ("SQLite.org", "sqlite.org", True),
    ("stack overflow", "stackoverflow.com", True),
    ("git-scm", "git-scm.com", True),
    ("bbc", "www.bbc.co.uk", True),
    ("python", "docs.python.org", True),
    ("python docs", "docs.python.org", True),
    ("docs.python.org", "docs.python.org", True),
    ("docs", "docs.python.org", False),  # any owner may call a host so
    ("sqlite", "sqlite.seller.example", False),
    ("sqlite.org", "sqlite.net", False),
    ("org", "sqlite.org", False),
    ("sqlite wal", "sqlite.org", False),
    ("a", "a.example", False),
]


@pytest.mark.parametrize(("query", "host", "named"), NAMES)
def test_a_site_is_named_by_its_domain(query: str, host: str, named: bool) -> None:
    assert names_host(words(query), host) is named


INDEX_PAGES = [
    ("https://a.example/", 0),
    ("https://a.example", 0),
    ("https://a.example/index.html", 0),
    ("https://a.example/Index.php", 0),
    ("https://a.example/docs/", 1),
    ("https://a.example/docs/index.html", 1),
    ("https://a.example/docs/v1/", None),
    ("https://a.example/docs", None),
    ("https://a.example/index.html?page=2", None),
    ("https://[", None),
]


@pytest.mark.parametrize(("url", "folders"), INDEX_PAGES)
def test_the_first_page_of_a_site_is_its_index_page(url: str, folders: int | None) -> None:
    assert folders_above(url) == folders


FILES = [
    ("sqlite faq", "https://www.sqlite.org/faq.html", True, "the site and the file"),
    ("faq sqlite", "https://sqlite.org/docs/faq.html", True, "in any order, in a folder"),
    ("sqlite pragma functions", "https://sqlite.org/pragma_functions.html", True, "several words"),
    ("sqlite backup", "https://sqlite.org/backup/index.html", True, "the folder of an index page"),
    ("sqlite backup", "https://sqlite.org/backup/", True, "without the page's name"),
    ("faq", "https://sqlite.org/faq.html", False, "without the site, each site has one"),
    ("sqlite", "https://sqlite.org/", False, "the site alone"),
    ("sqlite faq answers", "https://sqlite.org/faq.html", False, "more than it"),
    ("sqlite faq", "https://faq.example/sqlite-faq.html", False, "of another site"),
    ("sqlite faq", "https://sqlite.org/?faq", False, "no file"),
]


@pytest.mark.parametrize(("query", "url", "named", "why"), FILES, ids=[f"{q} | {u}" for q, u, _, _ in FILES])
def test_a_page_is_named_by_its_site_and_its_file(query: str, url: str, named: bool, why: str) -> None:
    assert gains_as_title(query, page(url)) is named, why


def test_the_name_of_a_file_is_no_title_where_a_page_has_that_title() -> None:
    titled, filed = page("https://sqlite.org/a.html", "SQLite FAQ", 0.5), page("https://sqlite.org/faq.html", score=0.6)
    assert order("sqlite faq", filed, titled) == ["sqlite.org/a.html", "sqlite.org/faq.html"]


def test_a_page_with_the_title_passes_slightly_better_pages_and_no_far_better_one() -> None:
    better, named = page("https://a.example/1", "Logs", 2.0), page("https://b.example/2", "Write-ahead log", 1.5)
    assert order("write-ahead log", better, named) == ["b.example/2", "a.example/1"]
    far_better = page("https://a.example/1", "Logs", 9.0)
    assert order("write-ahead log", far_better, named) == ["a.example/1", "b.example/2"]
    assert order("write-ahead log", better, named, title_weight=0.0) == ["a.example/1", "b.example/2"]


def test_words_that_all_titles_of_a_site_have_are_no_part_of_a_title() -> None:
    names = ("git-stash", "git-revert", "git-log", "git-notes")
    manual = [
        page(f"https://git.example/{name}", f"{name}(1) Manual Page", 2.0 - n / 10) for n, name in enumerate(names)
    ]
    assert order("git-revert", *manual)[0] == "git.example/git-revert"
    assert order("git revert manual page", *manual)[0] == "git.example/git-revert"
    assert order("manual page", *manual) == [f"git.example/{name}" for name in names]
    assert order("git-revert", *manual[:2])[0] == "git.example/git-stash", "two titles show nothing"


def test_the_first_page_of_a_host_that_is_asked_for_is_first() -> None:
    pages = [page("https://sqlite.test/different.html", score=99.0), page("https://sqlite.test/index.html")]
    context = replace(context_of("sqlite.test"), addresses=("https://sqlite.test/", "https://www.sqlite.test/"))
    assert put_addressed_first(context, pages)[0].hits[0].payload.url == "https://sqlite.test/index.html"
    other = replace(context_of("sqlite.test/a.html"), addresses=("https://sqlite.test/a.html",))
    assert put_addressed_first(other, pages) == pages


def test_among_pages_with_one_title_the_better_one_stays_first() -> None:
    pages = [page(f"https://{name}.example/", "Write-ahead log", score) for name, score in (("b", 2.0), ("a", 1.9))]
    assert order("write-ahead log", *pages) == ["b.example/", "a.example/"]


def test_the_name_of_a_site_puts_its_first_page_before_its_other_pages() -> None:
    pages = [
        page("https://docs.sqlite.org/", score=3.0),
        page("https://sqlite.org/famous.html", score=3.0),
        page("https://sqlite.org/docs/", score=2.0),
        page("https://sqlite.org/index.html", score=1.5),
    ]
    for query in ("sqlite", "SQLite.org", "sqlite home page", "official sqlite website"):
        assert order(query, *pages)[0] == "sqlite.org/index.html", query
    assert order("sqlite", *pages)[1] == "docs.sqlite.org/", "one page of a domain gains"
    assert order("sqlite", *pages[:3])[0] == "docs.sqlite.org/", "as near to the root of the domain as /docs/"
    assert order("sqlite", *pages, site_weight=0.0)[0] == "docs.sqlite.org/"


def test_of_two_domains_with_one_name_the_one_gains_that_other_sites_link_to() -> None:
    pages = [page("https://sqlite.shop/", score=2.0), page("https://www.sqlite.org/", score=1.0)]
    ranks = {"www.sqlite.org": HostRank(in_links=50, rank=80.0), "sqlite.shop": HostRank(in_links=1, rank=1.1)}
    assert order("sqlite", *pages, ranks=ranks) == ["www.sqlite.org/", "sqlite.shop/"]
    assert order("sqlite.shop", *pages, ranks=ranks) == ["sqlite.shop/", "www.sqlite.org/"]
    assert order("sqlite", *pages) == ["sqlite.shop/", "www.sqlite.org/"], "nothing is known of either"


def test_the_gains_are_noted_and_only_the_first_pages_are_compared() -> None:
    context = context_of("sqlite", freshness_weight=0, authority_weight=0)
    pages = [page("https://sqlite.org/", "SQLite"), *(page(f"https://a.example/{n}", score=-n) for n in range(PAGES))]
    late = page("https://b.example/", "SQLite", -PAGES)
    found = add_signals(context, [*pages, late])
    assert found[-1] == late
    assert context.notes.parts == {
        pages[0].page_id: {"title": context.options.title_weight, "site": context.options.site_weight}
    }


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_query_keeps_all_pages(query: str, title: str) -> None:
    pages = [page(f"https://{name}.example/", title, 1.0) for name in "abc"]
    assert order(query, *pages) == order("", *pages)
    assert without_number(title) in title


def test_it_ends_at_the_deadline() -> None:
    def late() -> None:
        raise DeadlineExceeded("too late")

    with pytest.raises(DeadlineExceeded):
        add_signals(replace(context_of("sqlite"), check_time=late), [page("https://sqlite.org/")])
