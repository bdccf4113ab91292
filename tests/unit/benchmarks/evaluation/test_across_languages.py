"""Questions over pages in other languages: which queries each half asks, which pages are left out, and the table."""

import json
from pathlib import Path

import pytest

from benchmarks.evaluation.across_languages import ROWS, Figures, articles_of, queries_of, read_webs, table
from streams.errors import UsageError

ARTICLES = ("Ferries", "Ferries", "Bridges", "Bridges")


def write(folder: Path, language: str, count: int = 4) -> None:
    own = folder / f"xquad-{language}"
    own.mkdir()
    titles = [ARTICLES[place] if language == "en" else "" for place in range(count)]
    rows = [{"_id": f"p{place}", "title": title, "text": f"{language} {place}."} for place, title in enumerate(titles)]
    (own / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    asked = [{"_id": f"q{place}", "text": " ".join(f"{language}{place}{n}" for n in range(9))} for place in range(4)]
    (own / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in asked))
    judged = "".join(f"q{place}\tp{place}\t1\n" for place in range(count))
    (own / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


def test_a_question_is_asked_with_its_article_and_without(tmp_path: Path) -> None:
    for language in ("de", "en"):
        write(tmp_path, language)
    (tmp_path / "xquad-de-en").mkdir()  # of two languages: the pages are those of xquad-en
    german, english = read_webs(tmp_path)
    articles = articles_of(english)
    assert articles == [0, 0, 1, 1]
    halves = [queries_of(german, english, articles, is_choosing=each) for each in (True, False)]
    first, second = (half["with"] for half in halves)
    assert [list(each.answers) for each in (*first, *second)] == [[page.url] for page in english.documents]
    hosts = [page.url.removeprefix("https://").rstrip("/") for page in english.documents]
    assert [set(each.left_out) for each in halves[0]["without"]] == [set(hosts[:2])] * 2
    assert not any(each.answers for each in halves[0]["without"])
    rows = halves[1]["rows"]
    assert len(rows) == ROWS
    assert {word[:3] for each in rows for word in each.text.split()} == {"de2", "de3"}


def test_collections_that_are_not_parallel_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "de")
    with pytest.raises(UsageError, match="no collection xquad-en"):
        read_webs(tmp_path)
    write(tmp_path, "en", count=3)
    with pytest.raises(UsageError, match="not the same paragraphs"):
        read_webs(tmp_path)


def test_the_table_has_shares_in_percent() -> None:
    assert table([Figures("de", "en", 0.9, 0.085, 0.3, 1.0)])[2:] == ["| de on en | 0.900 | 8.5% | 30.0% | 100.0% |"]
