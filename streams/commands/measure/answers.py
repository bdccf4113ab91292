"""`riffle eval answers`: how well a gateway answers questions whose answers are known."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import TaskID

from streams.commands.console import AsJson, command, command_group, err, load_settings, out, print_figures, print_json
from streams.commands.measure.answer_quality import evaluate_answers, read_questions
from streams.commands.pages.search import ask as ask_gateway
from streams.commands.watching import Bars

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
            out.print(f"  not answered: {question}", highlight=False)
