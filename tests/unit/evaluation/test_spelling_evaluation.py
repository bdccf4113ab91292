"""`riffle eval spell`: how files are read, and how corrections are counted."""

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.evaluation.spelling import Figures, Pair, measure, read_pairs


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
