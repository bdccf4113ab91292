"""The demo's verdict about a question: its place in the search, and the answer by only the words."""

import pytest

from streams.commands.stack.demo import WORDS_PAGES, Verdict, found_by_words
from streams.local.demo import Question
from tests.stages.gateway_fakes import searchable, statement

PAGE = "https://sqlite.test/lts.html"
OTHER = "https://sqlite.test/faq.html"
QUESTION = Question("Would it outlive a nuclear war?", PAGE, "survive a continental catastrophe")
ANSWER = "SQLite can survive a continental catastrophe."


@pytest.mark.parametrize(
    ("statements", "rank", "right"),
    [
        ([], None, False),
        ([("A war.", OTHER), (ANSWER, PAGE)], 2, True),
        ([("A war.", OTHER), ("Another war.", OTHER), ("A third war.", OTHER), (ANSWER, PAGE)], 4, False),
        # the same sentence on another page is another statement
        ([(ANSWER, OTHER)], None, False),
    ],
)
def test_the_place_of_the_right_statement(statements: list[tuple[str, str]], rank: int | None, right: bool) -> None:
    verdict = Verdict(QUESTION, statements)
    assert (verdict.rank, verdict.right) == (rank, right)
    assert Verdict(QUESTION, [], statements).words_find_it == (rank is not None)


async def test_the_words_alone_find_the_statements_that_share_a_word() -> None:
    wars = [statement(f"https://sqlite.test/{n}.html", f"War number {n} was long.") for n in range(WORDS_PAGES + 2)]
    stores = await searchable([*wars, statement(PAGE, ANSWER)])
    found = await found_by_words(stores.vectors, QUESTION.question)
    assert len(found) == WORDS_PAGES
    assert all("War" in text for text, _ in found)
    assert await found_by_words(stores.vectors, "electricity") == []
