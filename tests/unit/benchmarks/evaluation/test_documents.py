"""The figures of `python -m benchmarks eval extract`: what counts as what."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.evaluation.documents import evaluate_extraction, load_pages, render, word_f1
from streams.errors import UsageError


def write(directory: Path, name: str, html: str, truth: dict[str, object], *, packed: bool = False) -> None:
    (directory / "html").mkdir(exist_ok=True)
    (directory / "truth").mkdir(exist_ok=True)
    path = directory / "html" / (f"{name}.html.gz" if packed else f"{name}.html")
    path.write_bytes(gzip.compress(html.encode()) if packed else html.encode())
    (directory / "truth" / f"{name}.json").write_text(json.dumps(truth))


@pytest.mark.parametrize(
    ("found", "truth", "score"),
    [("a b", "a b", 1.0), ("a a b", "a b b", 2 / 3), ("", "", 1.0), ("a", "", 0.0), ("", "a", 0.0), ("x", "y", 0.0)],
)
def test_word_f1_is_of_multisets(found: str, truth: str, score: float) -> None:
    assert word_f1(Counter(found.split()), Counter(truth.split())) == pytest.approx(score)


def test_both_layouts_of_the_truth_are_read_and_scored(tmp_path: Path) -> None:
    truth = {"main_content": "Hello big world", "title": "T", "publish_date": "2025-01-02", "author": None}
    page = "<title>T</title><meta property=article:published_time content=2025-01-02T03:04:05Z><p>Hello big world"
    write(tmp_path, "1", page, {"ground_truth": truth, "_internal": {"page_type": {"primary": "article"}}})
    write(tmp_path, "2", "<title>Other</title><p>Hello big", {**truth, "page_type": "forum"}, packed=True)
    result = evaluate_extraction(tmp_path, others=False)["riffle"]
    assert result["word_f1_by_type"] == {"article": 1.0, "forum": 0.8}
    assert result["word_f1"] == 0.9
    assert (result["title_accuracy"], result["date_accuracy"], result["author_accuracy"]) == (0.5, 0.5, None)
    assert result["worst_page"] == {"id": "2", "word_f1": 0.8}
    assert "2 pages" in render({"riffle": result})


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="truth"):
        list(load_pages(tmp_path))
    write(tmp_path, "1", "", {})
    (tmp_path / "html" / "1.html").unlink()
    with pytest.raises(UsageError, match="1: its HTML can't be read"):
        list(load_pages(tmp_path))


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (b"{", r"1\.json can't be read as JSON"),
        (b'{"title": "caf\xe9"}', r"1\.json can't be read as JSON"),
        (b"[1]", r"1\.json is no JSON object"),
        (b'{"ground_truth": "text"}', r"1\.json is no JSON object"),
        (b'{"main_content": ["text"]}', r"1\.json: 'main_content' should be a text"),
        (b'{"publish_date": 2025}', r"1\.json: 'publish_date' should be a text"),
        (b'{"url": 5}', r"1\.json: 'url' should be a text"),
        (b'{"_internal": {"page_type": {"primary": 5}}}', r"1\.json: 'primary' should be a text"),
    ],
)
def test_a_truth_of_another_form_is_named(tmp_path: Path, truth: bytes, message: str) -> None:
    write(tmp_path, "1", "<p>Hello", {})
    (tmp_path / "truth" / "1.json").write_bytes(truth)
    with pytest.raises(UsageError, match=message):
        list(load_pages(tmp_path))


PACKED = gzip.compress(b"<p>Hello", mtime=0)


@pytest.mark.parametrize(
    "packed",
    [b"no gzip", PACKED[:-9], PACKED[:10] + b"\xff"],
    ids=["not packed", "cut short", "another content"],
)
def test_a_packed_page_that_cannot_be_unpacked_is_named(tmp_path: Path, packed: bytes) -> None:
    write(tmp_path, "1", "<p>Hello", {}, packed=True)
    (tmp_path / "html" / "1.html.gz").write_bytes(packed)
    with pytest.raises(UsageError, match="1: its HTML can't be read"):
        list(load_pages(tmp_path))
