"""No module outside `streams/language` has a second table of what is in one there."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from streams.language.marks import MARKS
from streams.language.months import MONTHS, fold_name
from streams.language.numbers import CARDINALS, MULTIPLES, ORDINALS, SCALES
from streams.language.questions import QUESTION_WORDS
from streams.language.units import UNITS_IN_QUERIES

STREAMS = Path(__file__).parents[2] / "streams"
ENTRIES = 3
"""Entries of a table that make a second one, if they stand side by side."""
NUMBERS = {*CARDINALS, *SCALES, *MULTIPLES, *ORDINALS[3:]}
PERIODS = {"hour", "day", "week", "month", "year", "min", "minute", "second", "in"}
"""Names of periods stand side by side in any list of choices."""
UNITS = {name for name in UNITS_IN_QUERIES if len(name) > 1 and name.isalpha()} - PERIODS
TABLES = {
    "months": set(MONTHS),
    "numbers": NUMBERS,
    "question words": set(QUESTION_WORDS),
    "units": UNITS | {f"{name}s" for name in UNITS},
}
EXCEPTIONS = {
    ("streams/queries/quick/units.py", "units"): "how a result is written for people",
    ("streams/statements/sentences/lengths.py", "question words"): "relative pronouns",
    ("streams/knowledge/wikipedia/lost_values.py", "question words"): "names of Wikipedia's templates",
}
_WORD = re.compile(r"[^\W\d]+")
_RUN_OF_MARKS = re.compile(rf"(?:[{MARKS}]\\?){{{ENTRIES},}}")


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text of a module that is no docstring, and the texts of each collection as one."""
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if len(texts) > 1:
            yield node.lineno, " ".join(texts)  # type: ignore[attr-defined]  # a collection has a line


def tables_in(text: str) -> set[str]:
    """Return the tables of which a text has several different entries side by side."""
    words = [fold_name(word) for word in _WORD.findall(text)]
    found = {name for name, entries in TABLES.items() if longest_run(words, entries) >= ENTRIES}
    if any(len(set(run[0]) - {"\\"}) >= ENTRIES for run in _RUN_OF_MARKS.finditer(text.replace(" ", ""))):
        found.add("marks")
    return found


def longest_run(words: list[str], entries: set[str]) -> int:
    longest = run = 0
    for before, word in pairwise(["", *words]):
        run = 0 if word not in entries else run + (word != before)
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("january february march", "months"),
        ("styczeń|luty|marzec", "months"),
        (r"\b(?:one|two|three)\b", "numbers"),
        ("eighteen nineteen twenty", "numbers"),
        ("who what when", "question words"),
        ("km|mile|yard", "units"),
        (r"[.!?…]\Z", "marks"),
        ("[^.!?;]", "marks"),
    ],
)
def test_a_second_table_is_found(text: str, table: str) -> None:
    assert tables_in(text) == {table}


@pytest.mark.parametrize("text", ["...", "in May and June", "what it is", "hours and minutes", "?!", "a mile or two"])
def test_a_text_is_no_table(text: str) -> None:
    assert not tables_in(text)


def test_there_is_one_table_of_each_kind() -> None:
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for path in STREAMS.rglob("*.py"):
        if path.parent.name == "language":
            continue
        name = path.relative_to(STREAMS.parent).as_posix()
        for line, text in literals(ast.parse(path.read_text(encoding="utf-8"))):
            found |= {(name, table): (line, text) for table in tables_in(text)}
    second = {place: text for place, text in found.items() if place not in EXCEPTIONS}
    assert not second, "take it from streams/language"
    assert EXCEPTIONS.keys() <= found.keys(), "an exception is left over"
