"""A sentence that needs the one before it is shown with it, if that one belongs to it and stands alone."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from streams.statements.readability import MAX_NEEDING, MIN_SHOWN, sentence_before
from streams.statements.statement import PageStatements, Statement
from streams.stores.statement_payload import MAX_ALONE
from streams.vectors.page_records import PageFacts
from streams.vectors.points import payloads_of

BEFORE = "The harbour of the north has a hundred places for ferries."
LONG = "The harbour master writes the names of all ships into the large book that lies beside the door of the house."


def sentence(text: str, context: Sequence[str] = ("Harbours",), kind: str = "sentence", block: int = 0) -> Statement:
    return Statement(UUID(int=1), 0, text, tuple(context), kind, block)


SHORT = sentence("There are too many ships.")


@pytest.mark.parametrize(
    ("before", "statement", "found"),
    [
        pytest.param(sentence(BEFORE), SHORT, True, id="a short sentence"),
        pytest.param(
            sentence(BEFORE), replace(SHORT, block=1), True, id="the paragraph before, below the same heading"
        ),
        pytest.param(sentence(BEFORE, ["Boats"]), replace(SHORT, block=1), False, id="below another heading"),
        pytest.param(sentence(BEFORE), sentence(LONG), True, id="a long sentence"),
        pytest.param(sentence(BEFORE), replace(SHORT, chain=(0,)), False, id="the chain has a sentence before it"),
        pytest.param(
            sentence(BEFORE),
            sentence("There are too many.", ["Harbours", "The ships are:"], block=1),
            False,
            id="a lead-in",
        ),
        pytest.param(sentence(BEFORE), sentence("Too many ships"), False, id="a title"),
        pytest.param(sentence(BEFORE), sentence("ls ships.", kind="code"), False, id="a listing"),
        pytest.param(sentence("Prev | Up | Next"), SHORT, False, id="links before it"),
        pytest.param(
            sentence(f"{BEFORE[:-1]} and so on{' and on' * 50}."), SHORT, False, id="a very long one before it"
        ),
        pytest.param(
            sentence(BEFORE, ["--force"], "item"),
            sentence("Ships wait.", ["--force"], "item"),
            True,
            id="the second sentence of an item",
        ),
        pytest.param(
            sentence(BEFORE, ["--force"], "item"),
            sentence("Ships wait.", ["--wait"], "item", block=1),
            False,
            id="the first sentence of the next item",
        ),
    ],
)
def test_the_sentence_before(before: Statement, statement: Statement, found: bool) -> None:
    assert sentence_before([before, statement], 1, {0: MIN_SHOWN, 1: MAX_NEEDING}) == (before.text if found else "")


@pytest.mark.parametrize(
    ("before", "own", "found"),
    [
        pytest.param(MAX_ALONE, 1, True, id="the one before stands alone, and the other one does not"),
        pytest.param(MAX_ALONE, MAX_NEEDING + 1, False, id="both stand alone"),
        pytest.param(MIN_SHOWN - 1, 1, False, id="the one before needs another one"),
    ],
)
def test_the_numbers_decide_who_needs_a_sentence(before: int, own: int, found: bool) -> None:
    assert bool(sentence_before([sentence(BEFORE), SHORT], 1, {0: before, 1: own})) is found


def test_the_first_statement_has_none_before_it() -> None:
    assert sentence_before([SHORT], 0, {0: 1}) == ""


def test_the_index_holds_it_and_embeds_it_not() -> None:
    before = sentence("The command prints the names of all files in the directory.")
    statements = (before, replace(sentence("This is described below."), ordinal=1))
    payloads = payloads_of(PageStatements(UUID(int=1), "https://a.example/", "Ships", "en", statements), PageFacts(1))
    assert [payload.before for payload in payloads] == ["", before.text]
    assert before.text not in statements[1].in_context
