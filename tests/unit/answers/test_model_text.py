"""The text of a model is read without markup, and never becomes another text by that."""

import pytest

from streams.answers.model_text import sentences_of

VERBATIM = [
    "C# was designed by Anders Hejlsberg at Microsoft.",
    "The lake is ~5 km long and ~2 km wide.",
    "The pattern matches *.log and *.txt files in ~/tmp.",
    "Use the operator || for or and | for bits.",
    "The setting max_page_size is 5.",
    "The field _id is read before the field _rev of the row.",
    "Call f(*args, **kwargs) with the names.",
    "M*A*S*H is a film, and A* is a search.",
    "The pressure must be < 5 bar or > 10 bar.",
    "-40 °C is the lowest value.",
    "–40 °C is the lowest value.",
    "> 10 bar is too much.",
    r"The path is C:\temp\new.",
    "A List<String> has words.",
    "Issue #12 is about 2*3*4 and 2**8.",
]
MARKED = [
    # what the model wrote, what is read of it
    ("**Paris** is the *capital* of ***France***.", "Paris is the capital of France."),
    ("**Paris is *the* capital**.", "Paris is the capital."),
    ("~~Paris~~ is the __capital city__ of _La France_.", "Paris is the capital city of La France."),
    ("## The tower is high.", "The tower is high."),
    ("- The tower is high.", "The tower is high."),
    ("* The tower is high.", "The tower is high."),
    ("> The tower is high.", "The tower is high."),
    ("2. The tower is high.", "The tower is high."),
    ("Set `max_page_size` to `*` here.", "Set max_page_size to * here."),
    ("Python's `__init__` runs first.", "Python's __init__ runs first."),
    ("Use `x < 5` and `y > 3` here.", "Use x < 5 and y > 3 here."),
    ("The <b>tower</b> is <img src=x onerror=y> high.", "The tower is high."),
    ("**The tower is high. It is old.**", "The tower is high.|It is old."),
    ("“The tower is high.”", "The tower is high."),
]


@pytest.mark.parametrize("text", VERBATIM)
def test_characters_of_the_words_are_kept(text: str) -> None:
    assert [(each.text, each.named) for each in sentences_of(f"{text} [1]")] == [(text, (1,))]


@pytest.mark.parametrize(("written", "expected"), MARKED)
def test_marks_around_words_are_taken_out(written: str, expected: str) -> None:
    assert "|".join(each.text for each in sentences_of(f"{written} [1]")) == expected


@pytest.mark.parametrize("piece", ["*", "**a ", "*a", "_a ", "~~a", "`", "`a ", "<a", "# ", "- ", "> ", "\"'"])
def test_long_repetitions_are_read(piece: str) -> None:
    assert list(sentences_of(piece * 2_000)) is not None
