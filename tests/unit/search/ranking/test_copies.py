"""Copies among results: which near-duplicates are one result, and which page of them is shown."""

from collections.abc import Mapping
from uuid import UUID, uuid5

import pytest

from streams.search.ranking.near_duplicates import group_copies, group_versions, have_one_text, pages_to_compare
from streams.stores.protocols import Fingerprint, Hit, PageHits, Sight
from tests.stages.gateway_fakes import payload_of, statement
from tests.unit.search.ranking.test_filters import page

A, B, C = (page(name) for name in "abc")
A2 = page("a2", host="a.example")
V = page("a2?session=v", host="a.example")
ONE, OTHER = bytes([1]) * 128, bytes([2]) * 128


def text(of: PageHits, seen: int, sketch: bytes = ONE, words: int = 300, content: str = "") -> Fingerprint:
    name = content or of.hits[0].payload.url
    return Fingerprint(of.page_id, name, 0, of.hits[0].payload.url, 1, first_seen=seen, words=words, sketch=sketch)


def groups(pages: list[PageHits], near: Mapping[int, list[int]], texts: list[Fingerprint]) -> list[list[str]]:
    """Return the addresses of the groups. `near` has places of pages."""
    by_id = {pages[late].page_id: [pages[early].page_id for early in earlier] for late, earlier in near.items()}
    found = group_copies(pages, by_id, {each.page_id: each for each in texts}, 10)
    assert [group[0].score for group in found] == sorted((group[0].score for group in found), reverse=True)
    return [[each.hits[0].payload.url[-2:].strip("/") for each in group] for group in found]


CASES = [
    pytest.param([A, A2], [], [["a"], ["a2"]], id="of one site, without fingerprints"),
    pytest.param([A, A2], [text(A, 1), text(A2, 2, OTHER)], [["a"], ["a2"]], id="of one site, a quotation"),
    pytest.param([A, A2], [text(A, 2), text(A2, 1, OTHER)], [["a"], ["a2"]], id="of one site, as well as they match"),
    pytest.param([A, A2], [text(A, 2), text(A2, 1)], [["a2", "a"]], id="of one site, copies, the older one first"),
    pytest.param([V, A2], [text(V, 2), text(A2, 1, OTHER)], [["a2", "=v"]], id="variants of one address"),
    pytest.param([A, B], [], [["a"], ["b"]], id="of two sites, without fingerprints"),
    pytest.param([A, B], [text(A, 1)], [["a"], ["b"]], id="of two sites, with one fingerprint"),
    pytest.param([A, B], [text(A, 1), text(B, 2)], [["a", "b"]], id="copies, the older one first"),
    pytest.param([A, B], [text(A, 2), text(B, 1)], [["b", "a"]], id="copies, the younger one with the better score"),
    pytest.param([A, B], [text(A, 1), text(B, 2, OTHER)], [["a"], ["b"]], id="a quotation, the original first"),
    pytest.param([A, B], [text(A, 2), text(B, 1, OTHER)], [["b"], ["a"]], id="a quotation with the better score"),
    pytest.param([A, B], [text(A, 1, words=49), text(B, 2)], [["a"], ["b"]], id="short texts may mean something else"),
]


@pytest.mark.parametrize(("pages", "texts", "expected"), CASES)
def test_near_duplicates(pages: list[PageHits], texts: list[Fingerprint], expected: list[list[str]]) -> None:
    assert groups(pages, {1: [0]}, texts) == expected


def test_a_short_text_has_copies_if_it_is_the_same() -> None:
    assert have_one_text(text(A, 1, words=9, content="same"), text(B, 2, OTHER, words=9, content="same"))
    assert not have_one_text(text(A, 1, words=0, content="same"), text(B, 2, OTHER, words=0, content="same"))


def test_an_age_that_another_text_earned_does_not_count() -> None:
    thief = text(A, 5)
    old = Fingerprint(
        A.page_id, "a", 0, thief.url, 1, first_seen=5, words=300, sketch=ONE, sights=(Sight(OTHER, 1), Sight(ONE, 5))
    )
    assert groups([A, B], {1: [0]}, [old, text(B, 3)]) == [["b", "a"]]


def test_a_page_is_a_copy_of_the_page_that_has_its_text() -> None:
    """The first two pages are not copies. The third page nearly repeats both, and has the second one's text."""
    texts = [text(B, 1, OTHER), text(A, 2), text(A2, 3)]
    assert groups([B, A, A2], {1: [0], 2: [0, 1]}, texts) == [["b"], ["a", "a2"]]


def test_three_pages_with_one_text_are_one_result() -> None:
    assert groups([A, B, C], {1: [0], 2: [0, 1]}, [text(A, 3), text(B, 2), text(C, 1)]) == [["c", "a", "b"]]


def test_only_near_duplicates_are_looked_up() -> None:
    assert pages_to_compare([A, A2, B, C], {A2.page_id: [A.page_id]}) == [A.page_id, A2.page_id]


def test_groups_behind_the_window_stay_where_they_are() -> None:
    near, texts = {B.page_id: [A.page_id]}, {A.page_id: text(A, 2), B.page_id: text(B, 1, OTHER)}
    assert [group[0].page_id for group in group_copies([A, B], near, texts, 1)] == [A.page_id, B.page_id]


def version(url: str, language: str, score: float, family: str = "") -> PageHits:
    row = statement(url, f"{language}: the log of checkpoints.", language=language) | {"family": family}
    hit = Hit(uuid5(UUID(int=3), url), score, payload_of(row))
    return PageHits(hit.payload.page_id, (hit,), score)


# The pages by score, the languages of the reader, and the addresses of each result: the one that is shown first.
VERSIONS = [
    (["de/log en/log"], ["en"], ["en/log de/log"], "folders; the reader's language is shown"),
    (["de/log en/log"], ["fr"], ["de/log en/log"], "none in the reader's language: the best one"),
    (["de/log log:en"], ["en"], ["log:en de/log"], "one language has no tag"),
    (["log.de.html log.fr.html"], ["fr"], ["log.fr.html log.de.html"], "the tag is a part of the file's name"),
    (["pt-br/log:pt en/log"], ["pt"], ["pt-br/log:pt en/log"], "a tag with a region"),
    (["log/table:en log-table/de:de"], ["de"], ["log/table:en", "log-table/de:de"], "another folder"),
    (["de/log en/lock"], ["en"], ["de/log", "en/lock"], "two pages"),
    (["de/log:en en/log"], ["en"], ["de/log:en", "en/log"], "the tag is not the language of the text"),
    (["log:en en/log"], ["en"], ["log:en", "en/log"], "two pages in one language"),
]


@pytest.mark.parametrize(("urls", "reader", "shown", "why"), VERSIONS, ids=[why for *_, why in VERSIONS])
def test_versions_of_a_page_in_several_languages_are_one_result(
    urls: list[str], reader: list[str], shown: list[str], why: str
) -> None:
    def language_of(path: str) -> str:
        named = path.partition(":")[2] or path.partition("/")[0]
        return path.split(".")[1] if "." in path else named

    pages = [
        version(f"https://a.example/{path.partition(':')[0]}", language_of(path), 9.0 - place)
        for place, path in enumerate(" ".join(urls).split())
    ]
    paths = {page.page_id: path for page, path in zip(pages, " ".join(urls).split(), strict=True)}
    found = group_versions([[page] for page in pages], reader)
    assert [" ".join(paths[page.page_id] for page in group) for group in found] == shown
    assert found[0][0].score == 9.0, "a result has the score of its best page"


# Pages with their language and the set that each names (`hreflang`), by score, and the results for a reader of German.
FAMILIES = [
    (["a.example/log en S", "b.example/protokoll de S"], ["b.example/protokoll a.example/log"], "each names the other"),
    (["a.example/log en S", "b.example/protokoll de T"], ["a.example/log", "b.example/protokoll"], "one names another"),
    (["a.example/log en S", "b.example/protokoll de -"], ["a.example/log", "b.example/protokoll"], "only one names it"),
    (["a.example/log en S", "a.example/log2 en S"], ["a.example/log", "a.example/log2"], "two pages of one language"),
    (["a.example/log en S", "a.example/log2 en S", "a.example/de de S"], ["a.example/de a.example/log",
     "a.example/log2"], "a third version is one of the first"),
    (["a.example/en/log en S", "a.example/de/log de -"], ["a.example/de/log a.example/en/log"], "folders suffice"),
    (["a.example/en/log en S", "a.example/de/log de -", "b.example/journal fr S"],
     ["a.example/de/log a.example/en/log b.example/journal"], "folders and names together"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "shown"), [row[:2] for row in FAMILIES], ids=[row[2] for row in FAMILIES])
def test_pages_that_name_each_other_as_versions_are_one_result(rows: list[str], shown: list[str]) -> None:
    pages = []
    for place, row in enumerate(rows):
        path, language, family = row.split()
        pages.append(version(f"https://{path}", language, 9.0 - place, family.strip("-")))
    found = group_versions([[page] for page in pages], ["de"])
    named = [" ".join(page.hits[0].payload.url.removeprefix("https://") for page in group) for group in found]
    assert named == shown
