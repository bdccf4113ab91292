"""The choices of a language model on questions with known answers: right, wrong, nothing, and seconds.

    python -m benchmarks.answers.choosing ROWS... --url URL --key-file FILE [--questions N] [--out FILE]

ROWS are files of `python -m benchmarks.answers.confidence find`: questions with the statements that a search found, and
which of them are right. N questions of each set are taken, in the order of their hashes, a fifth of them without
an answer in the set. Each is one answer of the product: three pages, each in a request of its own.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.answers.confidence import Row, read_rows
from benchmarks.machine import machine
from streams.answers.budgets import Refusal
from streams.answers.prompts import MAX_STATEMENTS
from streams.answers.writer import MAX_PAGES, Outcome, Writer, WriterOptions
from streams.lines.jsonl import read_objects
from streams.models.chat import OpenAIChat

DEADLINE_SECONDS = 600.0
WITHOUT_ANSWER = 5
"""One of N questions has no answer in the set."""


class _NoBudgets:
    async def take(self, address: str, now: datetime) -> Refusal:
        return ""


@dataclass(frozen=True)
class Asked:
    """A question, and what the model chose."""

    set: str
    question: str
    has_answer: bool
    """False: no statement of the set answers it."""
    is_read: bool
    """True: a right statement is among those that the model read."""
    chosen: int
    first_is_right: bool
    one_is_right: bool
    spans: int
    first_seconds: float | None
    seconds: float
    status: str


def some_of(rows: Iterable[Row], questions: int) -> list[Row]:
    kinds: dict[tuple[str, bool], list[Row]] = {}
    for row in sorted(rows, key=lambda row: blake2b(row.asked.encode(), digest_size=8).digest()):
        if row.evidence:
            kinds.setdefault((row.set, row.foreign), []).append(row)
    other = questions // WITHOUT_ANSWER
    return [row for kind, found in kinds.items() for row in found[: other if kind[1] else questions - other]]


async def ask(writer: Writer, row: Row) -> Asked:
    outcome, started, first = Outcome(()), time.monotonic(), None
    chosen = []
    async for each in writer.answer(row.asked, row.evidence, "", outcome):
        first = first or time.monotonic() - started
        chosen.append(each)
    right = [each.evidence.id in row.right for each in chosen]
    pages = list(dict.fromkeys(each.page_id for each in row.evidence))[:MAX_PAGES]
    read = [each for page in pages for each in [one for one in row.evidence if one.page_id == page][:MAX_STATEMENTS]]
    return Asked(
        set=row.set,
        question=row.asked,
        has_answer=not row.foreign,
        is_read=any(each.id in row.right for each in read),
        chosen=len(chosen),
        first_is_right=any(right[:1]),
        one_is_right=any(right),
        spans=sum(each.form == "span" for each in chosen),
        first_seconds=round(first, 2) if first else None,
        seconds=round(time.monotonic() - started, 2),
        status=outcome.status,
    )


def figures_of(asked: Sequence[Asked]) -> dict[str, Any]:
    found = {}
    for name in dict.fromkeys(each.set for each in asked):
        of_set = [each for each in asked if each.set == name]
        own, other = [each for each in of_set if each.has_answer], [each for each in of_set if not each.has_answer]
        firsts = [each.first_seconds for each in of_set if each.first_seconds]
        found[name] = {
            "questions": len(own),
            "a_right_statement_was_read": sum(each.is_read for each in own),
            "first_chosen_is_right": sum(each.first_is_right for each in own),
            "one_chosen_is_right": sum(each.one_is_right for each in own),
            "all_chosen_are_wrong": sum(each.chosen > 0 and not each.one_is_right for each in own),
            "nothing_chosen": sum(each.chosen == 0 for each in own),
            "without_answer": len(other),
            "without_answer_chosen": sum(each.chosen > 0 for each in other),
            "spans": sum(each.spans for each in of_set),
            "median_seconds_to_the_first": round(median(firsts), 1) if firsts else None,
            "median_seconds": round(median(each.seconds for each in of_set), 1),
        }
    return found


async def run(
    rows: Sequence[Row], url: str, key_file: Path | None, out: Path | None, known: Sequence[Asked]
) -> dict[str, Any]:
    chat = OpenAIChat(url, "default", lambda: key_file.read_text().strip() if key_file else "")
    options = WriterOptions(model=url, deadline_seconds=DEADLINE_SECONDS)
    writer = Writer(chat, options, _NoBudgets(), lambda: datetime.now(UTC))
    asked = {(each.set, each.question): each for each in known}
    for number, row in enumerate(rows, start=1):
        if (row.set, row.asked) not in asked:
            asked[row.set, row.asked] = made = await ask(writer, row)
            if out:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(made)) + "\n")
        sys.stderr.write(f"{number} of {len(rows)}\n")
    await chat.close()
    return {"machine": machine(), **figures_of([asked[row.set, row.asked] for row in rows])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", metavar="ROWS")
    parser.add_argument("--url", required=True, help="a model's server with the API of OpenAI, up to /v1")
    parser.add_argument("--key-file", type=Path)
    parser.add_argument("--questions", type=int, default=50, help="questions of each set")
    parser.add_argument(
        "--out", type=Path, help="file for each question's outcome: those that it has are not asked again"
    )
    arguments = parser.parse_args()
    rows = some_of([row for file in arguments.rows for row in read_rows(file)], arguments.questions)
    out = arguments.out
    known = [Asked(**each) for _, each in read_objects(out)] if out and out.exists() else []
    figures = asyncio.run(run(rows, arguments.url, arguments.key_file, out, known))
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
