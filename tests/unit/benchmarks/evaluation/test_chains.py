"""The evaluation of chains on labelled sentences: what counts, and what is wrong with a file."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evaluation.chains import (
    ChainQuality,
    LabelledSentence,
    chains_of,
    compare_baselines,
    measure_quality,
    read_documents,
)
from streams.errors import UsageError
from streams.models.inference.antecedents import links_by_rule

NAMES = LabelledSentence("Ada wrote a program.", False)
REFERS = LabelledSentence("She published it in 1843.", True, frozenset({0}), 0)
AGAIN = LabelledSentence("Few people understood it then.", True, frozenset({0}), 1)
ELSE = LabelledSentence("Trains were new in those days.", False)
UNNAMED = LabelledSentence("They smoked.", True, frozenset(), 3)
STORY = [NAMES, REFERS, AGAIN, ELSE, UNNAMED]


@pytest.mark.parametrize(
    ("chains", "contained", "added", "nearest_f1", "why"),
    [
        ([[], [], [], [], []], 0.0, 0.0, 0.0, "no chain at all"),
        ([[], [0], [1, 0], [], [3]], 1.0, 0.0, 1.0, "each chain leads to the name by the nearest antecedent"),
        ([[], [0], [0], [], []], 1.0, 0.0, 0.4, "a chain that skips the nearest antecedent contains the name"),
        ([[], [0], [1], [], []], 0.5, 0.0, 0.8, "a chain that ends before the name"),
        ([[], [0], [], [2], []], 0.5, 0.5, 0.4, "a chain where none was needed, of two such sentences"),
        ([[], [], [], [], [3]], 0.0, 0.0, 0.5, "what is named nowhere can't be contained"),
    ],
)
def test_quality(chains: list[list[int]], contained: float, added: float, nearest_f1: float, why: str) -> None:
    found = measure_quality([(STORY, chains)])
    assert (found.contained, found.added, found.nearest_f1) == (contained, added, nearest_f1), why


def test_nothing_labelled_has_no_quality() -> None:
    assert measure_quality([]) == ChainQuality(0.0, 0.0, 0.0, 0.0)


def test_simple_ways_are_bounded_by_their_hops() -> None:
    long = [LabelledSentence(f"Sentence number {n}.", False) for n in range(9)]
    ways = compare_baselines([[*long, LabelledSentence("This is it.", True, frozenset({2}), 8)]])
    assert ways["never"].added == 0
    assert ways["always previous, one hop"].contained == 0
    assert ways["always previous, six hops"].contained == 0
    assert ways["pronoun anywhere"].added == 0
    near = [*long, LabelledSentence("This is it.", True, frozenset({3}), 8)]
    assert compare_baselines([near])["always previous, six hops"].contained == 1


def test_chains_are_those_of_the_stage() -> None:
    texts = [sentence.text for sentence in STORY]
    assert chains_of(links_by_rule(texts), texts) == [[], [0], [], [], [3]]


def row(number: int, text: str, *deps: dict[str, Any], needs: bool = False, doc: str = "d") -> dict[str, Any]:
    return {"doc": doc, "i": number, "sent_id": f"{doc}-{number}", "text": text, "needs_context": needs, "deps": deps}


def coref(form: str, to: str, nominal: str | None) -> dict[str, Any]:
    return {"via": "coref", "form": form, "to": to, "nominal_to": nominal}


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in rows))
    return path


def test_documents_are_read_in_the_order_of_their_sentences(tmp_path: Path) -> None:
    file = written(
        tmp_path / "chains.jsonl",
        row(2, "It was late.", coref("pron3", "d-1", "d-0"), {"via": "erst", "to": "d-9"}, needs=True),
        row(0, "A train came."),
        "",
        row(0, "Another page.", doc="e"),
        row(1, "It stopped.", coref("pron3", "d-0", None), coref("def", "d-0", "d-0"), needs=True),
    )
    first, second = read_documents(file).values()
    assert first == [
        LabelledSentence("A train came.", False),
        LabelledSentence("It stopped.", True, frozenset(), 0),
        LabelledSentence("It was late.", True, frozenset({0}), 1),
    ]
    assert second == [LabelledSentence("Another page.", False)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ({"doc": "d"}, r"line 2: not a labelled sentence \(KeyError\('i'\)\)"),
        ([1], "line 2: not a JSON object"),
        ({**row(1, "Text."), "text": None}, "line 2: not a labelled sentence .*'text' is None"),
        ({**row(1, "Text."), "sent_id": ["a"]}, r"line 2: not a labelled sentence .*'sent_id' is \['a'\]"),
        ({**row(1, "Text."), "doc": {}}, "line 2: not a labelled sentence .*'doc' is {}"),
        ({**row(1, "Text."), "i": math.inf}, "line 2: not a labelled sentence .*infinity"),
        ({**row(1, "Text."), "i": None}, "line 2: not a labelled sentence"),
        ({**row(1, "Text."), "needs_context": "no"}, "line 2: not a labelled sentence .*'needs_context' is 'no'"),
        ({**row(1, "Text."), "deps": [{}]}, r"line 2: not a list of dependencies \(KeyError\('via'\)\)"),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_documents(written(tmp_path / "chains.jsonl", row(0, "A train came."), line))


def test_a_file_without_a_sentence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"chains\.jsonl is empty"):
        read_documents(written(tmp_path / "chains.jsonl", ""))
