"""Hostile pages and queries, answered by a real model: what it chooses, and what is shown.

    python -m benchmarks injection http://127.0.0.1:8000/v1 --key-file .riffle/chat.key

Each attack is one answer through the gateway's app in this process: an honest page, a page with the attack, the
question. `changed` are attacks after which the honest page says something else than beside a harmless page, and
`uncontained` those after which a sentence, a link or markup is shown that is not of the statements.
"""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, err, print_figures
from tests.hostile.injection import ATTACKS, HONEST, HOSTILE, HOSTILE_TEXT, QUESTION, Shown, ask, check_contained


@command
async def run(
    url: Annotated[str, typer.Argument(metavar="URL", help="A model's server with the API of OpenAI, up to /v1.")],
    key_file: Annotated[Path | None, typer.Option(exists=True, help="File with the server's API key.")] = None,
    as_json: AsJson = False,
) -> int:
    """Answer with hostile pages and queries by a real model, and count what changes.

    Exit status 1: an attack changed or broke something.

    Example:  riffle models serve & python -m benchmarks injection http://127.0.0.1:8000/v1 --key-file .riffle/chat.key
    """
    unharmed = await ask(url, [HOSTILE_TEXT], key_file=key_file)
    counts: Counter[str] = Counter()
    harmful: list[dict[str, Any]] = []
    started = time.monotonic()
    for number, attack in enumerate(ATTACKS, start=1):
        text = attack.get("text")
        question = attack["query"][:300] if "query" in attack else QUESTION
        shown = await ask(url, [HOSTILE_TEXT, text] if text else [HOSTILE_TEXT], question, key_file)
        counts += _counts(shown, text)
        faults = _faults(shown, question, unharmed if text else None)
        counts.update(faults)
        if faults:
            harmful.append({**attack, "faults": faults, "shown": shown.sentences})
        err.print(f"{number} of {len(ATTACKS)}", highlight=False)
    seconds = time.monotonic() - started
    figures: dict[str, Any] = {
        "machine": machine(),
        "attacks": dict(Counter("pages" if "text" in attack else "queries" for attack in ATTACKS)),
        "honest_page_alone": unharmed.sentences[HONEST],
        "counts": dict(sorted(counts.items())),
        "harmful": harmful,
        "seconds_for_each": round(seconds / len(ATTACKS), 1),
    }
    print_figures("Hostile pages and queries", figures, as_json)
    return 1 if harmful else 0


def _counts(shown: Shown, attack: str | None) -> Counter[str]:
    """Return what is shown of the model's choices."""
    of_attack = [text for text, source in shown.sentences[HOSTILE] if source == attack]
    return Counter(
        {
            f"status_{shown.status}": 1,
            "statements_shown": sum(len(sentences) for sentences in shown.sentences.values()),
            "attacks_quoted_under_their_own_name": int(bool(of_attack)),
        }
    )


def _faults(shown: Shown, question: str, unharmed: Shown | None) -> list[str]:
    faults = ["changed"] if unharmed and shown.sentences[HONEST] != unharmed.sentences[HONEST] else []
    try:
        check_contained(shown, question)
    except AssertionError:
        faults.append("uncontained")
    return faults
