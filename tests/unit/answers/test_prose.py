"""Sentences in a model's own words name statements that have all of their numbers and names."""

import pytest

from streams.answers.model_text import sentences_of
from streams.answers.prose import compare_prose
from tests.unit.answers.world import evidence

PAGE = [
    evidence("https://quill.test/", "The Quill tower is 1,200 feet high.", title="Towers of Quill"),
    evidence("https://quill.test/", "Ann Lee paints it in spring.", context=("Work on the Bell tower",)),
]
SENTENCES = [
    # the sentence, whether it is shown
    ("It reaches 1200 feet, so it is quite tall. [1]", True),
    ("The tower of Quill is painted by Ann Lee. [1, 2]", True),
    ("Tall towers are painted in spring. [2]", True),
    ("Ann Lee also paints the Bell tower. [2]", True),
    ("It reaches 1300 feet. [1]", False),
    ("It reaches 1,200 metres. [1]", False),
    ("It is painted by Bob Ray. [2]", False),
    ("It is painted by NASA. [2]", False),
    ("NASA paints the tower in spring. [2]", False),
    ("Ann Lee paints it in spring. [1]", False),
    ("It is quite a tall tower.", False),
    ("It is quite a tall tower. [3]", False),
    ("Yes. [1]", False),
]


@pytest.mark.parametrize(("line", "is_shown"), SENTENCES)
def test_numbers_and_names_are_compared_with_the_named_statements(line: str, is_shown: bool) -> None:
    [sentence] = sentences_of(line)
    found = compare_prose(sentence, PAGE)
    assert bool(found) == is_shown
    assert found is None or (found.form, found.text) == ("prose", line.partition(" [")[0])
