"""Function words show the language of a text."""

import pytest

from streams.language.function_words import count_function_words


@pytest.mark.parametrize(
    ("text", "english", "other"),
    [
        ("La défense des Panthers n'a encaissé que 308 points.", 0, 3),  # la, des, que
        ("¿Quién ganó la final de la liga?", 0, 3),
        ("Wer gewann den Super Bowl?", 0, 2),
        ("Lá cây có màu xanh vì chất diệp lục.", 0, 2),
        ("Who won the final of the league?", 3, 0),
        ("The U.S. Open in Rio de la Plata", 2, 2),
        ("Leonardo da Vinci", 0, 1),  # a part of a name
        ("Was hat Anna in Rom an der Via Appia?", 3, 2),  # "was", "in" and "an" are English, too, and count there
        ("u = 2v - 13, u = ln(v)", 0, 0),
        ("", 0, 0),
    ],
)
def test_a_text_has_function_words_of_english_and_of_another_language(text: str, english: int, other: int) -> None:
    assert count_function_words(text) == (english, other)
