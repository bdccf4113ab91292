"""Function words show the language of a text."""

import pytest

from streams.language.function_words import is_of_another


@pytest.mark.parametrize(
    ("text", "is_other"),
    [
        ("La défense des Panthers n'a encaissé que 308 points.", True),
        ("¿Quién ganó la final de la liga?", True),
        ("Wer gewann den Super Bowl?", True),
        ("Lá cây có màu xanh vì chất diệp lục.", True),
        ("Who won the final of the league?", False),
        ("The U.S. Open in Rio de la Plata", False),  # as many words of English
        ("Leonardo da Vinci", False),  # one word is a part of a name
        ("u = 2v - 13, u = ln(v)", False),
        ("", False),
    ],
)
def test_a_text_is_of_another_language_by_its_function_words(text: str, is_other: bool) -> None:
    assert is_of_another(text) is is_other
