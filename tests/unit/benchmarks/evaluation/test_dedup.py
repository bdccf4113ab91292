"""The evaluation on labelled pairs, its file formats, and the promised quality."""

import json
import random
import re
from pathlib import Path

import pytest

from benchmarks.dedup.near_duplicates import jaccard, labelled
from benchmarks.evaluation.dedup import Pair, Quality, evaluate, read_pairs, read_texts
from streams.errors import UsageError
from streams.stores.memory import MemoryFingerprints

WORDS = [f"{start}{end}" for start in ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti") for end in "bcdfghklmnprstvz"]


def a_text(seed: int, sentences: int = 30) -> str:
    """Sentences of words as unevenly frequent as a language's."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    lengths = [chance.randint(6, 18) for _ in range(sentences)]
    return " ".join(" ".join(chance.choices(WORDS, weights, k=length)).capitalize() + "." for length in lengths)


async def test_the_promised_quality_on_edited_copies() -> None:
    pages = {f"page{seed}": a_text(seed, 20 + seed) for seed in range(40)}
    texts, pairs = dict(pages), []
    for copies, rows in labelled(pages, 40, seed=3):
        texts |= copies
        pairs += [Pair(str(row["a"]), str(row["b"]), float(str(row["jaccard"]))) for row in rows]
    found = await evaluate(pairs, texts, MemoryFingerprints, str.lower)
    assert found.duplicates > 50, "the set contains duplicates"
    assert found.verdict.precision >= 0.97
    assert found.verdict.recall >= 0.90
    assert found.merged_by_similarity["0.00-0.50"] == 0


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(True, True), (False, False)], Quality(1.0, 1.0, 1.0)),
        ([(True, True), (True, False), (False, True), (True, True)], Quality(0.6667, 0.6667, 0.6667)),
        ([(True, False)], Quality(1.0, 0.0, 0.0)),
        ([], Quality(1.0, 1.0, 0.0)),
    ],
)
def test_quality(verdicts: list[tuple[bool, bool]], expected: Quality) -> None:
    assert Quality.of(verdicts) == expected


def without_tags(html: bytes) -> str:
    """The text of HTML, well enough for these tests."""
    return re.sub("<[^>]*>", "", html.decode())


def test_pages_are_read_from_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.html").write_text("<p>Some words of a page.</p>")
    (tmp_path / "b.txt").write_text("Plain words.")
    assert read_texts(tmp_path, without_tags) == {"b": "Plain words.", "shop/a": "Some words of a page."}
    lines = tmp_path / "pages.jsonl"
    lines.write_text('{"id": "b", "text": "Plain words."}\n\n{"id": 7, "html": "<p>Some words.</p>"}\n')
    assert read_texts(lines, without_tags) == {"b": "Plain words.", "7": "Some words."}


def test_pairs_are_read_by_line(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"a": "x", "b": 2, "jaccard": 0.9}\n')
    assert read_pairs(file) == [Pair("x", "2", 0.9)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": "x"}', "line 1: not a pair"),
        ("{", "line 1: not JSON"),
        (json.dumps([1]), "line 1: not a JSON object"),
        ('{"a": "x", "b": "y", "jaccard": NaN}', "line 1: not a pair .*a Jaccard similarity of nan"),
        ('{"a": "x", "b": "y", "jaccard": 87}', "line 1: not a pair .*a Jaccard similarity of 87"),
        (f'{{"a": "x", "b": "y", "jaccard": 1{"0" * 400}}}', "line 1: not a pair"),
        ("", r"pairs\.jsonl is empty"),
    ],
)
def test_an_invalid_pair_is_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_pairs(file)


def test_an_invalid_page_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \.html"):
        read_texts(tmp_path, without_tags)
    file = tmp_path / "pages.jsonl"
    for line in ('{"id": "x"}', '{"text": "x"}', '{"id": "x", "text": null}', '{"id": "x", "html": ["<p>"]}'):
        file.write_text(line)
        with pytest.raises(UsageError, match='line 1: a page has "id"'):
            read_texts(file, without_tags)


async def test_a_pair_without_its_page_is_named() -> None:
    with pytest.raises(UsageError, match="'missing'"):
        await evaluate([Pair("a", "missing", 1.0)], {"a": "text"}, MemoryFingerprints, str.lower)


def test_the_label_is_the_share_of_common_word_triples() -> None:
    assert jaccard("one two three four", "one two three five") == pytest.approx(1 / 3)
    assert jaccard("One two three", "one, two three!") == 1
