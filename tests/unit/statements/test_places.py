"""The words around statements that stand twice in a page: which have some, and which words."""

from time import process_time
from uuid import UUID

import pytest

from streams.statements.readability import Around, words_around
from streams.statements.statement import Statement
from tests.sizes import guard_seconds, size


def page(*blocks: str) -> list[Statement]:
    """Statements of these blocks: `|` ends a statement."""
    found: list[Statement] = []
    for block, texts in enumerate(blocks):
        start = 0
        for text in texts.split("|"):
            end = start + len(text)
            found.append(Statement(UUID(int=len(found)), len(found), text, block=block, start=start, end=end))
            start = end + 1
    return found


CASES = [
    (("The mode is full.", "The mode is normal."), {}, "other texts"),
    (("Set it.|It is off.", "Wait for it.|It is off.|Never mind."), {3: ("Wait for it.", "Never mind.")}, "twice"),
    (("It is off.", "It is off."), {1: ("", "")}, "nothing stands beside it in its block"),
    (("Now it is off, too.", "It is OFF"), {1: ("", "")}, "inside of another one, in other letters"),
    (("It is off.", "It is off since then."), {}, "a longer text is not in a shorter one"),
    (("a b c d e f g h i j", "a b c d e x g h i j k"), {1: ("", "")}, "a long one is found by its first words"),
    (("雨が降る。", "雨が降る。"), {1: ("", "")}, "a script without spaces"),
    (("It is off.", f"{'w' * 200}|It is off."), {2: ("", "")}, "no link has so long a word"),
    ((), {}, "no statement"),
]


@pytest.mark.parametrize(("blocks", "expected", "why"), CASES, ids=[why for *_, why in CASES])
def test_a_repeated_statement_has_its_neighbours(
    blocks: tuple[str, ...], expected: dict[int, tuple[str, str]], why: str
) -> None:
    assert words_around(page(*blocks)) == {at: Around(*words) for at, words in expected.items()}, why


def test_many_equal_words_take_linear_time() -> None:
    statements = page(*["a " * 50] * size(20_000))
    began = process_time()
    assert len(words_around(statements)) == len(statements) - 1
    assert process_time() - began < guard_seconds(20.0)
