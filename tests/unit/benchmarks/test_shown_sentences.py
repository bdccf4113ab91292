"""The sets of shown sentences: each names a page that is indexed, and halves share no site."""

import json
from urllib.parse import urlsplit

from benchmarks.search.indirect.shown_sentences import SETS
from benchmarks.search.indirect_questions import FOLDER
from streams.lines.jsonl import read_rows


def hosts(name: str) -> set[str]:
    return {urlsplit(row["url"]).hostname or "" for _, row in read_rows(FOLDER / f"{name}.jsonl")}


def test_what_judges_is_of_other_sites_than_what_was_fitted() -> None:
    fitted, judged = map(hosts, SETS)
    assert not fitted & judged


def test_each_question_is_about_an_indexed_page() -> None:
    urls = set(json.loads((FOLDER / "pages.json").read_text()))
    for name in (*SETS, "parts"):
        rows = [row for _, row in read_rows(FOLDER / f"{name}.jsonl")]
        assert {row["url"] for row in rows} <= urls
        assert len({row["question"] for row in rows}) == len(rows)
