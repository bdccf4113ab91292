"""`python -m benchmarks eval spell`: how files are read, and how corrections are counted."""

from pathlib import Path

import pytest

from benchmarks.evaluation.spelling import Figures, Pair, evaluate_spelling, measure, read_index_words, read_pairs
from streams.errors import UsageError
from streams.pages.document.model import Document
from streams.pages.normalize import normalize
from streams.queries.spelling.corrector import Corrector
from streams.queries.spelling.vocabulary import Vocabulary


def test_files_have_lines_of_wrong_and_right(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text("# comment\nteh->the\n\naache->cache, ache,\nalot->a lot\n", "utf-8")
    assert read_pairs(file) == [Pair("teh", ("the",)), Pair("aache", ("cache", "ache")), Pair("alot", ("a lot",))]


@pytest.mark.parametrize("text", ["", "# nothing\n", "teh the\n", "->the\n", "teh->\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError):
        read_pairs(file)


def test_a_program_is_right_first_or_among_three_and_wrong_about_right_words() -> None:
    pairs = [Pair("teh", ("the",)), Pair("cahr", ("char",)), Pair("xx", ("yy",)), Pair("aache", ("cache", "ache"))]
    answers = {"teh": ["The"], "cahr": ["car", "char"], "aache": ["ache"], "yy": ["y"], "the": ["the"]}
    figures = measure(lambda text: answers.get(text, []), pairs)
    assert figures == Figures(top1=0.5, top3=0.75, false_corrections=0.2)


def document_of(html: bytes, url: str) -> Document:
    return normalize(html, url=url).document


def test_the_words_of_a_folder_of_pages_are_those_that_enough_sites_have(tmp_path: Path) -> None:
    for host, word in [("a.example", "kubeflow"), ("b.example", "kubeflow"), ("www.b.example", "grafana")]:
        (tmp_path / host).mkdir()
        text = (
            f"<title>Pipelines</title><p>We run all of the pipelines of our company with {word} on three machines.</p>"
        )
        (tmp_path / host / "index.html").write_text(f"<html lang=en>{text}</html>", "utf-8")
    found = read_index_words(tmp_path, "en", 2, document_of)
    assert found["kubeflow"] == 2
    assert "grafana" not in found
    assert "grafana" in read_index_words(tmp_path, "en", 1, document_of)
    assert read_index_words(tmp_path, "de", 1, document_of) == {}


def test_the_words_of_an_index_may_be_a_file_and_change_the_figures(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_text("Kubeflow\t30\nreceive\t900\n", "utf-8")
    base = Corrector(Vocabulary({"receive": 9.0}))
    pairs = [Pair("kubefolw", ("kubeflow",)), Pair("recieve", ("receive",))]
    for corrector, top1, words in [
        (base, 0.5, 0),
        (base.with_index(read_index_words(file, "en", 3, document_of)), 1, 1),
    ]:
        found = evaluate_spelling(pairs, corrector, lambda *_: None, others=False)
        assert (found["top1"], found["index_words"]) == (top1, words)


@pytest.mark.parametrize("text", ["kubeflow 30", "kubeflow\tmany", "kubeflow\t-1"])
def test_another_file_of_words_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="line 1"):
        read_index_words(file, "en", 3, document_of)
