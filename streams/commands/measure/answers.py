"""`riffle eval answers`: the share of questions whose answer is in what a searcher reads, without opening a page.

FILE is a JSON list, or has a JSON object a line, with these fields:

    question   what is asked
    answer     a text that answers it, or a list of such texts; null if no page answers it
    url        the page that has the answer, or a list of pages (optional)

The gateway's own answer (`beside.answer`) is measured as well: how often there is one, how often it has one of the
texts, and how far its confidence is from that. An answer to a question that no page answers is wrong.

An answer counts if one of its texts is in a statement of the first results or in a statement's context, whatever its
case and spaces. Empty texts are left out: they are in every text. A page counts if one of its addresses is among the
first results.

The calibration error is the expected one of Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities
Using Bayesian Binning", 2015.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Annotated, Any

import typer
from rich.progress import TaskID

from streams.commands.console import AsJson, command, command_group, err, load_settings, out, print_figures, print_json
from streams.commands.pages.search import ask as ask_gateway
from streams.commands.watching import Bars
from streams.errors import UsageError
from streams.lines.jsonl import read_objects
from streams.search.query_language.matching import fold

DEPTHS = (1, 5)
"""Numbers of first results that are read."""

Ask = Callable[[str], Mapping[str, Any]]
"""Question to the answer of the API (`/api/v1/search`) with at least five results, if there are five."""

BINS = 10
"""Number of bins of equal width."""

Judgement = tuple[float, bool]
"""A probability from 0 to 1, and whether the event happened."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the texts that answer it, and the pages with these texts."""

    text: str
    answers: tuple[str, ...]
    """Empty: no page answers it."""
    urls: tuple[str, ...] = ()


def read_questions(file: Path) -> list[Question]:
    """Read the questions. Raises UsageError, which names the line and its missing field."""
    questions = [_question(row, where) for where, row in read_objects(file)]
    if not questions:
        raise UsageError(f"{file} has no questions")
    return questions


def _question(row: Mapping[str, Any], where: str) -> Question:
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{where}: no question (a text)")
    answers = _texts(row, "answer", where) + _texts(row, "answers", where)
    has_none = "answer" in row and row["answer"] is None and "answers" not in row
    if not answers and not has_none:
        raise UsageError(f"{where}: no answer")
    return Question(text, answers, _texts(row, "url", where) + _texts(row, "urls", where))


def _texts(row: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """Return the texts of a field that are not blank."""
    value = row.get(name)
    texts = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{where}: {name!r} is {shown(value)}, and should be a text or a list of texts")
    return tuple(text for text in texts if text.strip())


def evaluate_answers(questions: Sequence[Question], ask: Ask) -> dict[str, Any]:
    """Return the shares of answers and of pages among the first results, and the questions without an answer."""
    found: dict[str, list[bool]] = {f"{kind}@{depth}": [] for kind in ("answer", "page") for depth in DEPTHS}
    missed: list[str] = []
    judged: list[Judgement] = []
    with_answer, own = [each for each in questions if each.answers], 0
    for question in questions:
        try:
            given = ask(question.text)
        except UsageError as error:  # it is too long, or no text
            raise UsageError(f"the question {shown(question.text)}: {error}") from error
        results = given["results"]
        judged_answer = _judge_answer(question, given)
        judged += judged_answer
        if not question.answers:
            continue
        own += len(judged_answer)
        for depth in DEPTHS:
            found[f"answer@{depth}"].append(_is_answered(question, results[:depth]))
            if question.urls:
                found[f"page@{depth}"].append(any(result["url"] in question.urls for result in results[:depth]))
        if not found[f"answer@{DEPTHS[-1]}"][-1]:
            missed.append(question.text)
    shares = {name: round(sum(values) / len(values), 4) if values else None for name, values in found.items()}
    return {
        "questions": len(questions),
        **shares,
        "answered": _share(own, len(with_answer)),
        "answered_without_answer": _share(len(judged) - own, len(questions) - len(with_answer)),
        "right": _share(sum(right for _, right in judged), len(judged)),
        "calibration_error": expected_calibration_error(judged),
        "reliability": reliability(judged),
        "missed": missed,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _judge_answer(question: Question, given: Mapping[str, Any]) -> list[Judgement]:
    """Return the confidence of the gateway's own answer, and whether it is right; nothing without an answer."""
    answer = (given.get("beside") or {}).get("answer")
    if not answer or not answer.get("answers"):
        return []
    shown = [{"statements": answer["answers"][:1]}]
    return [(float(answer["confidence"]), _is_answered(question, shown))]


def _is_answered(question: Question, results: Sequence[Mapping[str, Any]]) -> bool:
    shown = [
        fold(" ".join([*statement.get("context", ()), statement["text"]]))
        for result in results
        for statement in result["statements"]
    ]
    return any(fold(answer) in text for answer in question.answers for text in shown)


def reliability(judgements: Sequence[Judgement]) -> list[dict[str, float]]:
    """Return the rows of a reliability diagram: for each bin with judgements its mean probability and its share."""
    rows = []
    for number in range(BINS):
        of_bin = [each for each in judgements if min(int(each[0] * BINS), BINS - 1) == number]
        if of_bin:
            rows.append(
                {
                    "from": number / BINS,
                    "to": (number + 1) / BINS,
                    "count": len(of_bin),
                    "confidence": round(sum(probability for probability, _ in of_bin) / len(of_bin), 4),
                    "right": round(sum(happened for _, happened in of_bin) / len(of_bin), 4),
                }
            )
    return rows


def expected_calibration_error(judgements: Sequence[Judgement]) -> float | None:
    """Return the mean distance of probability and share over the bins, by their counts; None without judgements."""
    if not judgements:
        return None
    distances = (row["count"] * abs(row["confidence"] - row["right"]) for row in reliability(judgements))
    return round(sum(distances) / len(judgements), 4)


eval_app = command_group("Quality of a gateway that runs, by questions of your own.")


@eval_app.command("answers")
@command
def eval_answers(
    questions: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="The questions, JSONL.")
    ],
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URLS]...", help="Gateways to ask. Default: the gateway of the settings."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how many questions are answered only by the shown snippets, in the first result and in the first five.

    FILE has JSON objects with `question`, `answer` (a text or several; null if no page answers) and `url` (the page or
    pages, optional). `answered`, `answered_without_answer`, `right` and `calibration_error` are about the gateway's own
    answer and its confidence.

    Examples:

        riffle eval answers questions.json
        riffle eval answers questions.json http://127.0.0.1:8080 https://other.example --json
    """
    asked = read_questions(questions)
    settings = load_settings()
    addresses = urls or [settings.gateway.address]
    found: dict[str, Any] = {}
    with Bars(err) as bars:
        for url in addresses:
            task = bars.add_task(f"ask {url}", total=len(asked))

            def ask(question: str, url: str = url, task: TaskID = task) -> dict[str, Any]:
                answer = ask_gateway(settings, question, address=url)
                bars.advance(task)
                return answer

            found[url] = evaluate_answers(asked, ask)
    if as_json:
        print_json(found)
        return
    for url, figures in found.items():
        shares = {name: figure for name, figure in figures.items() if name not in ("missed", "reliability")}
        print_figures(url, shares, as_json)
        for question in figures["missed"]:
            out.print(f"  not answered: {question}")
