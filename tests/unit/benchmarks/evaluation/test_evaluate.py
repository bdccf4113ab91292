"""`python -m benchmarks eval` as a command: the table for people, and the figures for programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import bench_app as app
from benchmarks.evaluation.protocol import PARTS

WORDS = [f"word{number}" for number in range(120)]
TEXT, NEAR, OTHER = " ".join(WORDS), " ".join([*WORDS[:-2], "other", "end"]), " ".join(f"else{n}" for n in range(120))
PAGE = "<title>Logs</title><h1>Logs</h1><p>A log that is written ahead of the file is fast.</p>"
TRUTH = {"main_content": "A log that is written ahead of the file is fast.", "title": "Logs", "author": None}


def run(*arguments: object) -> str:
    """Run a command that succeeds. Returns its output."""
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def figures(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json"))


def rows(printed: str) -> dict[str, str]:
    """Each line's name and what stands behind it, with one space between words; of lines of one name the first."""
    parts = [line.strip().partition("  ") for line in printed.splitlines()]
    return {name: " ".join(rest.split()) for name, _, rest in reversed(parts)}


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    for folder, name, content in (("html", "1.html", PAGE), ("truth", "1.json", json.dumps(TRUTH))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(content)
    (tmp_path / "html" / "2.html").write_text("<p>Hello big</p>")
    (tmp_path / "truth" / "2.json").write_text(json.dumps({"main_content": "Hello big world", "page_type": "forum"}))
    return tmp_path


def test_extraction_is_measured_and_printed(labelled: Path) -> None:
    printed = run("eval", "extract", labelled, "--no-others")
    shown = rows(printed)
    assert printed.splitlines()[0].split() == ["riffle"]
    assert (shown["forum"], shown["title accuracy"], shown["author accuracy"]) == ("0.800", "1.000", "-")
    assert shown["worst page"] == "2"
    assert printed.splitlines()[-1] == "2 pages"


def test_extraction_as_json_has_all_figures_of_each_extractor(labelled: Path) -> None:
    found = figures("eval", "extract", labelled, "--no-others")
    assert list(found) == ["riffle"]
    assert set(found["riffle"]) == {
        *("pages", "word_f1", "word_f1_by_type", "ngram_f1", "ngram_f1_by_type", "title_accuracy", "author_accuracy"),
        *("date_accuracy", "pages_per_cpu_second", "cpu_ms_by_type", "worst_page", "looked_for"),
    }
    assert found["riffle"]["word_f1_by_type"]["forum"] == 0.8
    assert figures("eval", "extract", labelled, "--no-others", "--limit", 1)["riffle"]["pages"] == 1


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[Path, Path]:
    pages = tmp_path / "pages"
    pages.mkdir()
    for name, text in (("one", TEXT), ("near", NEAR), ("other", OTHER)):
        (pages / f"{name}.txt").write_text(text)
    judged = [{"a": "one", "b": "near", "jaccard": 0.95}, {"a": "one", "b": "other", "jaccard": 0.0}]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in judged))
    return tmp_path / "pairs.jsonl", pages


def test_duplicates_are_measured_and_printed(pairs: tuple[Path, Path]) -> None:
    printed = run("eval", "dedup", *pairs)
    shown = rows(printed)
    assert printed.startswith("Near duplicates")
    assert (shown["pairs"], shown["duplicates"]) == ("2", "1")
    assert shown["verdict"] == "precision 1.0, recall 1.0, f1 1.0"


def test_duplicates_as_json_are_the_figures(pairs: tuple[Path, Path]) -> None:
    found = figures("eval", "dedup", *pairs)
    assert set(found) == {"pairs", "duplicates", "verdict", "simhash_alone", "merged_by_similarity"}
    assert found["verdict"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert set(found["simhash_alone"]) == {"precision", "recall", "f1"}
    assert found["merged_by_similarity"] == {"0.00-0.50": 0.0, "0.95-1.00": 1.0}


MISTAKES = [
    # arguments, message
    (("eval", "extract", "."), "truth"),
    (("eval", "dedup", "pairs.jsonl", "pages.jsonl"), "needs the page 'b', which is missing"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=["no truth", "no page"])
def test_mistakes_have_a_message_of_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text('{"a": "a", "b": "b", "jaccard": 1}\n')
    Path("pages.jsonl").write_text('{"id": "a", "text": "some words"}\n')
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, list(arguments))
    assert (shown.exit_code, shown.stdout) == (2, ""), (shown.stderr, shown.exception)
    assert message in " ".join(shown.stderr.split())


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A collection of four documents, with two queries."""
    texts = {
        "log": "A log that is written ahead of the file is fast. It survives a crash of the machine.",
        "boat": "Boats float on water, since they are lighter than what they displace.",
        "bread": "Bread is baked from flour, water and yeast.",
        "night": "At night the moon reflects the light of the sun.",
    }
    queries = {"1": ("why do ships not sink", "boat"), "2": ("write-ahead log", "log")}
    folder = tmp_path / "tiny"
    folder.mkdir()
    rows = [json.dumps({"_id": name, "title": name, "text": text}) for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    asked = [json.dumps({"_id": number, "text": text}) for number, (text, _) in queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(asked))
    judged = [f"{number}\t{document}\t1" for number, (_, document) in queries.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return folder


def test_search_is_measured_beside_its_parts_and_other_units(beir: Path, tmp_path: Path) -> None:
    found = figures("eval", "search", beir, "--cache", tmp_path / "vectors")
    assert (found["documents"], found["queries"], found["statements"]) == (4, 2, 5)
    assert (found["ndcg@10"], found["recall@100"], found["mrr@10"]) == (1.0, 1.0, 1.0)
    assert set(found["systems"]) == {"riffle", "words", "meaning", "rrf", "bm25s"}
    assert found["systems"]["bm25s"]["recall@100"] < 1, "`ships` and `sink` are in no document"
    units = ["page", "tokens-256", "sentence", "sentence+context", "sentence+context+chain"]
    assert list(found["ablation"]) == units
    assert found["p95_ms"] >= found["p50_ms"] > 0
    assert list((tmp_path / "vectors").iterdir())


def test_search_figures_are_printed_as_a_table(beir: Path, tmp_path: Path) -> None:
    printed = run("eval", "search", beir, "--cache", tmp_path / "vectors", "--no-ablation", "--no-others")
    assert printed.startswith("tiny: 4 documents, 5 statements, 2 queries, model ")
    assert rows(printed)["riffle"] == "1.000 1.000 1.000"
    assert "bm25s" not in printed


@pytest.mark.night
def test_all_collections_of_a_folder_are_measured_with_and_without_each_part(beir: Path, tmp_path: Path) -> None:
    found = figures("eval", "search", beir.parent, "--all", "--cache", tmp_path / "vectors")
    assert list(found["sets"]) == ["tiny"]
    assert found["sets"]["tiny"]["ndcg@10"]["riffle"] == found["mean"]["ndcg@10"]["riffle"] == 1.0
    assert set(found["mean"]["parts"]) == set(PARTS)
    printed = run("eval", "search", beir.parent, "--all", "--cache", tmp_path / "vectors")
    assert rows(printed)["tiny"].split()[:2] == ["2", "1.000"]


@pytest.mark.night
def test_snippets_are_judged_and_written_for_labels(tmp_path: Path) -> None:
    for number, name in enumerate(("Ferries of the north", "Harbours of the south")):
        file = tmp_path / "web" / "harbour.test" / f"{number}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"<title>{name}</title><h1>{name}</h1><p>They leave the islands at noon on each day of May.</p>"
        )
    labels = tmp_path / "labels.jsonl"
    arguments = ("eval", "snippets", tmp_path / "web", "--cache", tmp_path / "vectors", "--label", labels)
    (found,) = figures(*arguments)["sites"].values()
    assert (found["snippets"] > 0, found["alone"], found["failures"]) == (True, 1.0, {})
    assert found["labels"]["added"] == len(labels.read_text().splitlines()) > 0
    assert "read alone, by the rule" in run(*arguments)
