"""Two statements give the same value, another one, or values that say nothing about each other."""

import pytest

from streams.answers.disagreement import is_same, stated_in

HIGH, BORN, MANY = "How high is the Quill tower?", "When was Ann Bell born?", "How many members has the club?"
CASES = [
    (HIGH, "It was built in 1889 and is 300 m high.", "It was built in 1889 and is 324 m high.", False, "one year"),
    (HIGH, "It was built in 1889 and is 300 m high.", "It was built in 1890 and is 300 m high.", True, "another year"),
    (HIGH, "It is 300 m high.", "It is 0.3 km high.", True, "another unit"),
    (HIGH, "It is 300 m high.", "It is 984 feet high.", True, "another unit, rounded"),
    (HIGH, "It is 300 m high.", "It is 301 m high.", False, "one unit is compared exactly"),
    (HIGH, "It is 300 m high.", "It weighs 7300 t.", None, "another kind of quantity"),
    (HIGH, "It is 300 m high.", "It was built in 1889.", None, "a year says nothing about a height"),
    (HIGH, "It is 1200 m high.", "It is 1250 m high.", False, "an amount that looks like a year"),
    (BORN, "Born on 5 May 1950.", "Born on 5 June 1951.", False, "the same day of another month"),
    (BORN, "Born on 5 May 1950.", "Born on 5 June 1950.", False, "another month of one year"),
    (BORN, "Born on 5 May 1950.", "Born on May 5th, 1950.", True, "another form"),
    (BORN, "Born on 5 May 1950.", "Born on 1950-05-05.", True, "a form of programs"),
    (BORN, "Born on 5 May 1950.", "Born in May 1950.", True, "the day is not stated"),
    (BORN, "Born on 5 May 1950.", "Born 1950.", True, "only the year is stated"),
    (BORN, "Born on 5 May 1950.", "Born in 1951.", False, "another year"),
    (MANY, "It has 1500 members.", "It has 900 members.", False, "a number that looks like a year"),
    (MANY, "It has 1,500 members.", "It has 1500 members.", True, "written with a comma"),
    (MANY, "It has 40 members, of 20 towns.", "It has 40 members.", True, "one of two numbers"),
]


@pytest.mark.parametrize(("question", "one", "other", "same", "about"), CASES, ids=[case[4] for case in CASES])
def test_values_of_one_kind_are_compared(question: str, one: str, other: str, same: bool | None, about: str) -> None:
    form = "time" if question == BORN else "number"
    first, second = stated_in(one, question), stated_in(other, question)
    assert is_same(first, second, form) is same
    assert is_same(second, first, form) is same


def test_what_the_question_has_is_no_answer() -> None:
    assert not stated_in("In 1950 Ann Bell was 5 years old.", "What did Ann Bell do in 1950 with 5 years?").dates
    assert not stated_in("No number at all.", BORN)
