"""The status of an answer by a model is about the sentences that are shown."""

import json
from collections.abc import Sequence

from streams.answers.evidence import Evidence
from streams.answers.writer import MAX_SENTENCES_OF_PAGE, Outcome
from streams.models.chat_protocol import Message
from tests.unit.answers.world import Written, evidence, writer

QUESTION = "Who paints the Quill tower?"
METALS = ("osmium", "hafnium", "rhenium")
BESIDE = [evidence("https://metals.test/", f"Workers keep {metal} in boxes of wood.") for metal in METALS]
ABOUT = evidence("https://metals.test/", "Ann Lee paints the Quill tower in spring.")


def quote(messages: Sequence[Message]) -> str:
    """Write all statements word for word."""
    rows = map(json.loads, messages[-1].content.split("\n")[2:])
    return "\n".join(f"{row['text']} [{row['n']}]" for row in rows)


async def answer(statements: Sequence[Evidence]) -> tuple[list[str], Outcome]:
    outcome = Outcome()
    found = writer(Written(quote)).answer(QUESTION, statements, "a person", outcome)
    return [sentence.text async for sentence in found], outcome


async def test_sentences_beside_the_question_are_no_answer() -> None:
    """They are left out, so the page had neither a sentence nor a reason."""
    texts, outcome = await answer(BESIDE)
    assert (texts, outcome.status, outcome.dropped) == ([], "unknown", len(BESIDE))


async def test_sentences_beside_the_question_take_no_place_of_the_answer() -> None:
    assert len(BESIDE) == MAX_SENTENCES_OF_PAGE
    texts, outcome = await answer([*BESIDE, ABOUT])
    assert (texts, outcome.status) == ([ABOUT.text], "answered")
