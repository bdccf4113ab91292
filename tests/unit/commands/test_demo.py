"""The demo's verdict about a question: its place in the search, and the answer by only the words."""

from itertools import chain, repeat
from typing import Any

import pytest

from streams.commands.stack import demo
from streams.commands.stack.demo import WORDS_PAGES, Verdict, ask_until_whole, found_by_words
from streams.local.demo import Question
from streams.settings import Settings
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


@pytest.mark.parametrize(
    ("partial", "asked"),
    [
        (0, 1),
        (2, 3),  # on a busy machine the meaning of the first questions came too late
        (demo.MAX_ASKED + 5, demo.MAX_ASKED),  # a model that is away is said at the end, and not waited for without end
    ],
)
async def test_an_answer_without_a_part_of_the_search_is_asked_for_again(
    partial: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = chain(repeat({"partial": True}, partial), repeat({"partial": False}))
    given: list[dict[str, Any]] = []

    def ask(settings: Settings, question: str, **options: int) -> dict[str, Any]:
        given.append(next(answers))
        return given[-1]

    monkeypatch.setattr(demo, "ask", ask)
    monkeypatch.setattr(demo, "PAUSE_SECONDS", 0.0)
    assert await ask_until_whole(Settings(), QUESTION.question) == given[-1]
    assert len(given) == asked


def test_the_answers_of_each_language_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    german = Question("Kann ich ein Paket pflegen?", "https://debian.test/a.html", "Paketpflege", "de")
    found = ("Die Paketpflege ist für jeden offen.", german.url)
    others = [Verdict(Question(f"Question {n}?", PAGE, "continental catastrophe"), [(ANSWER, PAGE)]) for n in range(3)]
    demo.show([*others, Verdict(german, [found], [found])])
    shown = " ".join(capsys.readouterr().out.split())
    assert ("Question 1?" in shown, "Question 2?" in shown) == (True, False), "two questions of each language"
    assert f"{german.question} > {found[0]}" in shown
    assert "> marks the right one" in shown
    assert "4 of 4 questions have their answer among the first 3 statements:" in shown
    assert "3 of 3 in English. Only by words, 0 of these 3" in shown
    assert "1 of 1 in German. Only by words, 1 of these 1" in shown
