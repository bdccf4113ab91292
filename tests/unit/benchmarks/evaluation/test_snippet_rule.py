"""The rule that judges shown snippets, and its comparison with labels of people."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from benchmarks.evaluation.snippet_labels import Agreement, add_snippets, compare, kept_labels, read_labels
from benchmarks.evaluation.snippet_rule import Snippet, find_failure, fold_line, repeated_lines
from benchmarks.evaluation.snippets import draw, has_verb
from streams.errors import UsageError
from streams.statements.statement import PageStatements, Statement

LEAD = ("Ferries", "The ferry does not leave after:")
REPEATED = {"harbour.test": frozenset({fold_line("Small. Fast. We sail on 3 days.")})}


def snippet(text: str, kind: str = "sentence", context: tuple[str, ...] = ("Ferries",), stored: str = "") -> Snippet:
    return Snippet("ferries", "https://harbour.test/a", text, kind, context, stored or text)


@pytest.mark.parametrize(
    ("failure", "given"),
    [
        ("", snippet("The ferry leaves at noon.")),
        ("", snippet("Leave the ferry at noon.", "item")),
        ("", snippet("git-stash saves what has changed.")),
        ("", snippet("a storm on the open sea, or", "item", LEAD)),
        ("", snippet("Port: Oban | Time: noon", "row")),
        ("", snippet("ferry --list\nferry --leave", "code")),
        ("", snippet("A rich choice of ferries", "item", LEAD)),
        ("", snippet("Fairly large ship of the north.", "item", ("ferry()",))),
        ("", snippet("true if the ferry is late.", "item", ("-f ferry",))),
        ("", snippet("Returns a random number between 0 and 1.")),
        ("notice", snippet("New in version 3.7.", "item", ("ferry()",))),
        ("contents", snippet("Figure 21: Ferries of the north")),
        ("repeated", snippet("Small. Fast. We sail on 5 days.")),
        ("notice", snippet("This page last modified on 2021-02-12")),
        ("navigation", snippet("Prev | Up | Next")),
        ("contents", snippet("30.5. Ferry Configuration", "item")),
        ("", snippet("30.5. Ferry Configuration", "item", ("Ferries", "This page lists:"))),
        ("contents", snippet("30.5. Ferry Configuration", "item", ("Ferries of 2019.",))),
        ("contents", snippet("Ferries and times", "heading")),
        ("fragment", snippet("ferry *", "item")),
        ("item", snippet("Ferries of the north", "item")),
        ("", snippet("Default: 12 knots", "row")),
        ("row", snippet("Oban | 12 km", "row")),
        ("no_start", snippet("and leaves again at midnight.")),
        ("no_end", snippet("The ferry leaves from these harbours:")),
        ("no_end", snippet("The ferry leaves at noon, or", "item")),
        ("no_verb", snippet("The ferries of the north.")),
        ("code_lines", snippet("ferry --list ferry --leave", "code", stored="ferry --list\nferry --leave")),
    ],
)
def test_the_class_of_failure(failure: str, given: Snippet) -> None:
    assert find_failure(given, REPEATED, has_verb) == failure


def page(number: int, host: str, *texts: str) -> PageStatements:
    made = tuple(Statement(UUID(int=place), place, text) for place, text in enumerate(texts))
    return PageStatements(UUID(int=number), f"https://{host}/{number}", "", "en", made)


def test_a_line_is_repeated_by_many_pages_of_one_site() -> None:
    pages = [page(n, "a.test", f"Last seen in {n}", f"Own text {'x' * n}") for n in range(4)]
    pages += [page(n, "b.test", "Last seen in 1") for n in range(3)]
    found = repeated_lines(pages)
    assert found == {"a.test": frozenset({"last seen in 0"}), "b.test": frozenset()}


def test_labels_are_added_once_kept_and_compared(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    snippets = [snippet("The ferry leaves."), snippet("Prev | Up | Next"), snippet("It is late.")]
    assert add_snippets(file, snippets, read_labels(file)) == 3
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["alone"], rows[2]["alone"] = True, False
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = read_labels(file)
    assert add_snippets(file, snippets, labels) == 0
    agreement = compare(snippets, ["", "navigation", ""], labels)
    assert agreement == Agreement(both=1, only_reader=0, only_rule=1, neither=0)


def test_agreement_has_both_kinds_of_differences_and_what_chance_gives() -> None:
    assert Agreement(both=20, only_reader=5, only_rule=10, neither=15).to_dict() == {
        "labelled": 50, "reader": 0.5, "rule": 0.6, "agreement": 0.7, "kappa": 0.4, "only_reader": 5, "only_rule": 10,
    }  # fmt: skip
    assert Agreement(3, 0, 0, 0).to_dict()["kappa"] is None
    assert Agreement(0, 0, 0, 0).to_dict()["reader"] is None


def test_the_kept_labels_have_names_and_no_texts() -> None:
    labels = kept_labels()
    assert len(labels) == 1_827
    assert set(map(len, labels)) == {24}
    assert set(labels.values()) == {True, False}


@pytest.mark.parametrize(
    "row", ['{"url": "u", "text": "t"}', '{"url":"u","text":"t","kind":"k","context":[],"alone":1}']
)
def test_wrong_labels_name_their_line(tmp_path: Path, row: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(row + "\n")
    with pytest.raises(UsageError, match="line 1"):
        read_labels(file)


def test_what_is_drawn_depends_on_names_only() -> None:
    names = [str(number) for number in range(50)]
    assert draw(names, 5, str) == draw(reversed(names), 5, str) != names[:5]
