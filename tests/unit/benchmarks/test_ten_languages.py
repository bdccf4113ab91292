"""The guide shows the questions over pages in ten languages as the program asks them."""

from pathlib import Path

from benchmarks.search.ten_languages import HOST, LANGUAGES, QUESTIONS, Answered, rows

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "own-documents.md"


def test_ten_questions_in_six_languages() -> None:
    assert len(LANGUAGES) == len(QUESTIONS) == 10
    assert len({language for language, _, _ in QUESTIONS}) == 6
    assert all(language in LANGUAGES for language, _, _ in QUESTIONS)


def test_the_guide_has_each_question_and_the_command() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    assert [question for _, question, _ in QUESTIONS if f"- {question} `" not in guide] == []
    assert f"/{HOST} --as https://{HOST}/" in guide


def test_a_row_says_where_the_right_page_is() -> None:
    own = Answered("de", "Wo?", "/de/support.html", "Hier | dort.", 1, 1)
    other = Answered("de", "Wo?", "/fr/support.html", "Ici.", 0, 2)
    none = Answered("de", "Wo?", "", "", 0, 0)
    assert rows([own, other, none])[2:] == [
        "| Wo? | `de/support.html` | Hier \\| dort. | place 1 |",
        "| Wo? | `fr/support.html` | Ici. | in another language: place 2 |",
        "| Wo? | `` |  | no |",
        "",
        "1 of 3 questions have the right page first.",
    ]
