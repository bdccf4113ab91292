"""Labelling: which statement is next, where labels differ, and the labels in the format of the training.

Sentences and list items are labelled, in the order of the page. A labeller sees the statements before each statement,
and names the antecedent that it needs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.labelling.labels import Label
from streams.statements.statement import PageStatements, Statement

KINDS = frozenset({"sentence", "item"})
MAX_BEFORE = 12
"""Maximum statements shown before the statement to label."""
MAX_DIFFERENCES = 50
"""Maximum statements in the list of those with different labels."""
LEAF = 0.5
"""Minimum probability of a leaf."""
MODEL = "the model"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer about a statement, by a person or by the model."""

    by: str
    antecedent: Statement | None
    leaf: bool

    @property
    def key(self) -> tuple[int, bool]:
        return (-1 if self.antecedent is None else self.antecedent.ordinal, self.leaf)


@dataclass(frozen=True, slots=True)
class Difference:
    """A statement with different answers."""

    statement: Statement
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The statement to label next, with the statements before it (the nearest first), and the progress."""

    statement: Statement | None
    before: tuple[Statement, ...]
    done: int
    count: int
    last: Difference | None
    """The labeller's last answer with all other answers about that statement."""
    differences: tuple[Difference, ...]
    agreement: int | None
    """Share of the labeller's answers that equal the model's answer (percent)."""


def next_task(
    page: PageStatements, labels: Sequence[Label], labeller: str, skipped: frozenset[int], wanted: int
) -> Task:
    """Return the next task of a labeller. `wanted` is the ordinal of the statement to label (again), or -1."""
    labelled = [statement for statement in page.statements if statement.kind in KINDS]
    by_id = {str(statement.id): statement for statement in page.statements}
    mine = [label for label in select_valid(by_id, labels) if label.labeller == labeller]
    done = {label.statement for label in mine}
    following = next((each for each in labelled if each.ordinal == wanted), None) or next(
        (each for each in labelled if str(each.id) not in done and each.ordinal not in skipped), None
    )
    answers = answers_of(by_id, labels)
    compared = [answers[label.statement] for label in mine]
    agreeing = sum(_find_answer_by(labeller, given).key == _find_answer_by(MODEL, given).key for given in compared)
    return Task(
        statement=following,
        before=tuple(_before(labelled, following)) if following else (),
        done=len(done),
        count=len(labelled),
        last=Difference(by_id[mine[-1].statement], answers[mine[-1].statement]) if mine else None,
        differences=tuple(
            Difference(by_id[name], given) for name, given in answers.items() if len({a.key for a in given}) > 1
        )[:MAX_DIFFERENCES],
        agreement=round(100 * agreeing / len(mine)) if mine else None,
    )


def _before(labelled: Sequence[Statement], statement: Statement) -> Iterator[Statement]:
    place = labelled.index(statement)
    yield from reversed(labelled[max(0, place - MAX_BEFORE) : place])


def select_valid(by_id: Mapping[str, Statement], labels: Sequence[Label]) -> list[Label]:
    """Return the labels that hold for the page as it was last fetched. A statement's id changes with its text.

    A label is left out if its antecedent is gone, or is no longer before the statement: nobody knows what the
    statement needs now, and without an antecedent the label would say that the statement needs none.
    """
    return [label for label in labels if label.statement in by_id and _is_before(by_id, label)]


def _is_before(by_id: Mapping[str, Statement], label: Label) -> bool:
    """Return True if the label's antecedent is an earlier statement, or if it has none."""
    if not label.antecedent:
        return True
    antecedent = by_id.get(label.antecedent)
    return antecedent is not None and antecedent.ordinal < by_id[label.statement].ordinal


def answers_of(by_id: Mapping[str, Statement], labels: Sequence[Label]) -> dict[str, tuple[Answer, ...]]:
    """Return all answers about each labelled statement, the model's first."""
    statements = list(by_id.values())
    found: dict[str, list[Answer]] = {}
    for label in select_valid(by_id, labels):
        model = Answer(MODEL, *_model_answer(by_id[label.statement], statements))
        given = found.setdefault(label.statement, [model])
        given.append(Answer(label.labeller, by_id.get(label.antecedent), label.leaf))
    return {name: tuple(given) for name, given in found.items()}


def _model_answer(statement: Statement, statements: Sequence[Statement]) -> tuple[Statement | None, bool]:
    nearest = statement.chain[-1] if statement.chain else -1
    antecedent = statements[nearest] if 0 <= nearest < len(statements) else None
    return antecedent, statement.leaf >= LEAF


def _find_answer_by(name: str, answers: Sequence[Answer]) -> Answer:
    return next(answer for answer in answers if answer.by == name)


def export_rows(page: PageStatements, labels: Sequence[Label]) -> Iterator[dict[str, Any]]:
    """Yield a row for each sentence, in the format of the training and of `python -m benchmarks eval chains`.

    If labellers differ, the most frequent answer counts. A sentence without a label has no `needs_context` (null): it
    is only context for others.
    """
    sentences = [statement for statement in page.statements if statement.kind in KINDS]
    agreed = {
        name: _most_frequent(answers[1:])
        for name, answers in answers_of({str(each.id): each for each in page.statements}, labels).items()
    }
    for place, statement in enumerate(sentences):
        answer = agreed.get(str(statement.id))
        row: dict[str, Any] = {
            "doc": page.url,
            "i": place,
            "sent_id": str(statement.id),
            "text": statement.text,
            "needs_context": None if answer is None else answer.antecedent is not None,
            "leaf": None if answer is None else answer.leaf,
            "deps": [],
        }
        if answer and answer.antecedent:
            named = str(_chain_end(answer.antecedent, agreed).id)
            row["deps"] = [{"via": "coref", "form": "label", "to": str(answer.antecedent.id), "nominal_to": named}]
        yield row


def _most_frequent(answers: Sequence[Answer]) -> Answer:
    counts = Counter(answer.key for answer in answers)
    return max(answers, key=lambda answer: (counts[answer.key], answer.by))


def _chain_end(statement: Statement, agreed: Mapping[str, Answer]) -> Statement:
    """Return the first sentence of the chain, by the labels: it needs no antecedent itself."""
    while (answer := agreed.get(str(statement.id))) and answer.antecedent:  # each is earlier: see select_valid()
        statement = answer.antecedent
    return statement
