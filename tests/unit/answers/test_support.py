"""The support check: a sentence passes only if one statement says it."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answers.model_text import ModelSentence
from streams.answers.support.check import Source, check_support
from streams.answers.support.checked_sentences import check_sentence
from tests.unit.answers.world import evidence

DATA = Path(__file__).parents[2] / "data" / "support"
MIN_CAUGHT = 0.95
MIN_KEPT_SHORT = 0.95
MIN_KEPT_OF_HANDBOOKS = 0.65


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


SAME, CHANGED = True, False
CASES = [
    # statement, sentence, is it supported
    ("Paris is the capital of France.", "The capital of France is Paris.", SAME),
    ("In 2010, Oracle bought Sun.", "Oracle bought Sun in 2010.", SAME),
    ("In 2010, Oracle bought Sun.", "Sun bought Oracle in 2010.", CHANGED),
    ("The Moon, Earth's only natural satellite, orbits at 384,400 km.", "The Moon orbits at 384400 kilometres.", SAME),
    ("The Moon orbits at 384,400 km.", "The Moon orbits at 384,400 miles.", CHANGED),
    ("It costs twelve hundred dollars.", "It costs $1,200.", SAME),
    ("The bank is open every day except Sunday.", "The bank is open every day.", CHANGED),
    ("According to NASA, the Moon orbits the Earth.", "The Moon orbits the Earth.", CHANGED),  # who says so is left out
    ("It is a myth that the wall is visible from space.", "The wall is visible from space.", CHANGED),
    ("The father of Charles Darwin was a doctor.", "Charles Darwin was a doctor.", CHANGED),
    ("The song was written by Ann Lee.", "The song was written by Ann Lee.", SAME),
    ("The song was written by Ann Lee for Bob Ray.", "The song was written for Bob Ray.", CHANGED),  # loses `by`
    ("A beat B and C beat D.", "A beat D.", CHANGED),
    ("A beat B and C beat D.", "C beat D.", SAME),
    ("It is not true that cats bark and dogs meow.", "Dogs meow.", CHANGED),
    ("Not all metals are magnetic.", "All metals are magnetic.", CHANGED),
    ("The library is closed.", "The library was closed.", CHANGED),
    ("He must not, under any condition, open the door.", "He must open the door.", CHANGED),
    ("C++ was designed by Bjarne Stroustrup.", "C was designed by Bjarne Stroustrup.", CHANGED),
    ("C++ was designed by Bjarne Stroustrup.", "C++ was designed by Bjarne Stroustrup.", SAME),
    ("C# was designed by Anders Hejlsberg, a Dane.", "C# was designed by Anders Hejlsberg.", SAME),
    ("C# was designed by Anders Hejlsberg.", "C was designed by Anders Hejlsberg.", CHANGED),
    ("C++17 has structured bindings.", "C17 has structured bindings.", CHANGED),
    ("The A* search is optimal.", "A search is optimal.", CHANGED),
    (".NET was written by Microsoft.", "The net was written by Microsoft.", CHANGED),
    ("The input voltage must be ≥ 5 V.", "The input voltage must be ≤ 5 V.", CHANGED),
    ("The input voltage must be ≥ 5 V.", "The input voltage must be ≥ 5 V.", SAME),
    ("The input voltage must be < 5 V.", "The input voltage must be 5 V.", CHANGED),
    ("The lake is ~5 km long.", "The lake is 5 km long.", CHANGED),
    ("The temperature on the peak is –40 °C.", "The temperature on the peak is 40 °C.", CHANGED),
    ("The temperature on the peak is –40 °C.", "The temperature on the peak is -40 °C.", SAME),
    ("The recipe needs 2½ cups of flour.", "The recipe needs 2 cups of flour.", CHANGED),
    ("The recipe needs 2½ cups of flour.", "The recipe needs 2.5 cups of flour.", SAME),
    ("The bridge cost 5 crore rupees.", "The bridge cost 5 rupees.", CHANGED),
    ("The bridge cost 5 crore rupees.", "The bridge cost 50 million rupees.", SAME),
    ("Anything.", "", CHANGED),
]
SHORTENED = [
    # statement, sentence of its words in its order, does the statement say it
    ("The drug is safe in mice but deadly in humans.", "The drug is safe in humans.", CHANGED),
    ("The drug is safe in mice but deadly in humans.", "The drug is safe.", CHANGED),
    ("The drug is safe in mice but deadly in humans.", "The drug is deadly in humans.", SAME),
    ("The drug is safe in mice but deadly in humans.", "The drug is safe in mice.", SAME),
    ("The drug was safe in mice and killed dogs.", "The drug was safe in dogs.", CHANGED),
    ("The brother of Anna's husband is a baker.", "The brother of Anna is a baker.", CHANGED),
    ("The brother of Anna's husband is a baker.", "Anna's brother is a baker.", CHANGED),
    ("The president's wife died in 1990.", "The president died in 1990.", CHANGED),
    ("He met the vice president in Rome.", "He met the president in Rome.", CHANGED),
    ("Bob was a fake doctor.", "Bob was a doctor.", CHANGED),
    ("Bob was the former mayor of York.", "Bob was the mayor of York.", CHANGED),
    ("Bob Ray, the deputy mayor of York, wrote a book.", "Bob Ray, the mayor of York, wrote a book.", CHANGED),
    ("Anna almost won the race in 1990.", "Anna won the race in 1990.", CHANGED),
    ("Anna planned to visit Rome in 1990.", "Anna visited Rome in 1990.", CHANGED),
    ("Anna denied killing Bob in 1990.", "Anna killed Bob in 1990.", CHANGED),
    ("He said he wrote the book in Rome.", "He wrote the book in Rome.", CHANGED),
    ("Plants grow faster in the shade than cats in the sun.", "Plants grow faster in the sun.", CHANGED),
    ("It works on Linux, but only with a patch.", "It works on Linux.", CHANGED),
    ("It works on Linux, but not with a patch.", "It works on Linux.", CHANGED),
    ("Bears eat fish and berries.", "Bears eat berries.", SAME),
    ("Bears eat fish, insects and berries.", "Bears eat berries.", SAME),
    ("Anna reads in bed and cooks on Sundays.", "Anna reads on Sundays.", CHANGED),
    ("Anna reads in bed and cooks on Sundays.", "Anna cooks on Sundays.", SAME),
    ("Anna met Bob, the baker, and Carl, who died in 1990.", "Anna met Bob, who died in 1990.", CHANGED),
    ("Copper and tin make bronze.", "Tin makes bronze.", CHANGED),
    ("Is the drug safe?", "The drug is safe.", CHANGED),
    ("Did Anna kill Bob?", "Anna killed Bob.", CHANGED),
    ("The Moon is made of cheese, Bob wrote.", "The Moon is made of cheese.", CHANGED),
    ("Bob wrote: The Moon is made of cheese.", "The Moon is made of cheese.", CHANGED),
    ("All large dogs bark at night.", "All dogs bark at night.", CHANGED),
    ("No large dog bites.", "No dog bites.", CHANGED),
    ("He did not die in Rome.", "He did not die.", CHANGED),
    ("It returns true or raises an error.", "It returns true.", CHANGED),
    ("In Python 2, print is a statement.", "Print is a statement.", CHANGED),
    ("In 2010, Oracle bought Sun.", "Oracle bought Sun.", SAME),
    ("Bob moved in 1990 to London.", "Bob moved to London.", SAME),
    ("Bob was born in Rome in 1900 and died in Paris in 1990.", "Bob died in Paris in 1990.", SAME),
    ("Bob was born in Rome in 1900 and died in Paris in 1990.", "Bob was born in Paris in 1990.", CHANGED),
    ("Bob was born in Rome in 1900 and died in Paris in 1990.", "Bob was born in Rome in 1990.", CHANGED),
    ("Bob was born in Rome in 1900 and died in Paris in 1990.", "Bob was born in 1900.", SAME),
    ("The hut is open in summer.", "The hut is open.", CHANGED),
    ("Lake Baikal is a lake in Siberia.", "Lake Baikal is a lake.", SAME),
    ("Marie Curie, a chemist, won two Nobel Prizes.", "Marie Curie won two Nobel Prizes.", SAME),
    ("The wall of the garden fell in 1990.", "The garden fell in 1990.", CHANGED),
]
NUMBERS = [
    # statement, sentence with the number in another spelling, with another number, or with less of it
    ("The bridge cost 5 lakhs rupees.", "The bridge cost 5 rupees.", CHANGED),
    ("The bridge cost 5 arab rupees.", "The bridge cost 5 rupees.", CHANGED),
    ("The bridge cost 5 squillion rupees.", "The bridge cost 5 rupees.", CHANGED),
    ("The bridge cost 5 lakhs rupees.", "The bridge cost 500,000 rupees.", SAME),
    ("The account had -$5 in 1990.", "The account had $5 in 1990.", CHANGED),
    ("The account had $-5 in 1990.", "The account had -$5 in 1990.", SAME),
    ("The account had −$5 in 1990.", "The account had $5 in 1990.", CHANGED),
    ("The account had $5 in 1990.", "The account had -$5 in 1990.", CHANGED),
    ("The town had 10⁶ users in 1990.", "The town had 10 users in 1990.", CHANGED),
    ("The town had 10⁶ users in 1990.", "The town had 10^6 users in 1990.", SAME),
    ("The town had 10⁶ users in 1990.", "The town had 1,000,000 users in 1990.", SAME),
    ("The town had 10⁶ users in 1990.", "The town had 106 users in 1990.", CHANGED),
    ("The town had 10^6 users in 1990.", "The town had 10 users in 1990.", CHANGED),
    ("The town had 10**6 users in 1990.", "The town had 10 users in 1990.", CHANGED),
    ("The town had 5 × 10⁶ users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5 × 10⁶ users in 1990.", "The town had 10⁶ users in 1990.", CHANGED),
    ("The town had 5 × 10⁶ users in 1990.", "The town had 5 x 10^6 users in 1990.", SAME),
    ("The town had 5e6 users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5 k users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5k users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5K users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5M users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town had 5M users in 1990.", "The town had 5 m users in 1990.", CHANGED),
    ("The firm raised $5M in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised $5 M in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised $5B in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised $5 bn in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised C$5 in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised US$5 in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The firm raised ₹5 in 1990.", "The firm raised $5 in 1990.", CHANGED),
    ("The cup had 1/2 pounds of tea in 1990.", "The cup had 1 pounds of tea in 1990.", CHANGED),
    ("The cup had 2 1/2 pounds of tea in 1990.", "The cup had 2 pounds of tea in 1990.", CHANGED),
    ("The cup had ½ pounds of tea in 1990.", "The cup had pounds of tea in 1990.", CHANGED),
    ("The tax was 5‰ in 1990.", "The tax was 5 in 1990.", CHANGED),
    ("The tax was 5‰ in 1990.", "The tax was 5% in 1990.", CHANGED),
    ("The tax was 5 % in 1990.", "The tax was 5 in 1990.", CHANGED),
    ("The road was 1 200 km long in 1990.", "The road was 200 km long in 1990.", CHANGED),
    ("The road was 1.234,5 km long in 1990.", "The road was 1.234 km long in 1990.", CHANGED),
    ("The field had 5 square miles in 1990.", "The field had 5 miles in 1990.", CHANGED),
    ("The field had 5 nautical miles in 1990.", "The field had 5 miles in 1990.", CHANGED),
    ("The car went 5 km per hour in 1990.", "The car went 5 km in 1990.", CHANGED),
    ("The car went 5 miles an hour in 1990.", "The car went 5 miles in 1990.", CHANGED),
    ("The car went 5 km/h in 1990.", "The car went 5 km in 1990.", CHANGED),
    ("The rate is 5 m/s.", "The rate is 5 m.", CHANGED),
    ("The rate is 5 kg/m.", "The rate is 5 kg.", CHANGED),
    ("The car used 5 to 7 litres in 1990.", "The car used 7 litres in 1990.", CHANGED),
    ("The car used 5-7 litres in 1990.", "The car used 7 litres in 1990.", CHANGED),
    ("The town had 5 people per house in 1990.", "The town had 5 people in 1990.", CHANGED),
    ("The town had one and a half million users in 1990.", "The town had one million users in 1990.", CHANGED),
    ("The town had half a million users in 1990.", "The town had a million users in 1990.", CHANGED),
    ("The town had 5+ users in 1990.", "The town had 5 users in 1990.", CHANGED),
    ("The town grew 5-fold in 1990.", "The town grew 5 in 1990.", CHANGED),
    ("The town had 12 small shops in 1990.", "The town had 12 shops in 1990.", CHANGED),
    ("The version 3.11.2 was made in 1990.", "The version 3.11 was made in 1990.", CHANGED),
    ("The score was 3:1 in 1990.", "The score was 3 in 1990.", CHANGED),
    ("The king died in 44 BC in Rome.", "The king died in 44 in Rome.", CHANGED),
    ("The king died in 44 BC.", "The king died in 44.", CHANGED),
    ("It opened at 5 pm in 1990.", "It opened at 5 in 1990.", CHANGED),
    ("The town had 5 million users in 1990.", "The town had 5,000 thousand users in 1990.", SAME),
]


@pytest.mark.parametrize(("statement", "sentence", "expected"), CASES + SHORTENED + NUMBERS)
def test_cases(statement: str, sentence: str, expected: bool) -> None:
    assert check_support(sentence, Source(statement)).is_supported == expected


def test_the_subject_of_a_pronoun_may_come_from_the_context() -> None:
    source = Source("It was released in 1996.", ("PostgreSQL", "History"))
    assert check_support("PostgreSQL was released in 1996.", source).is_supported
    assert not check_support("SQLite was released in 1996.", source).is_supported
    other = Source("Oracle was released in 1979.", ("PostgreSQL", "History"))
    assert not check_support("PostgreSQL was released in 1979.", other).is_supported


def test_the_question_gives_a_sentence_no_subject() -> None:
    """The page is about another thing than the question. "It" is not what was asked for."""
    found = [evidence("https://acme.test/", "It was founded in 1998.", title="Acme", context=("History of Acme",))]
    assert check_sentence(ModelSentence("Acme was founded in 1998.", (1,)), found)
    assert not check_sentence(ModelSentence("Google was founded in 1998.", (1,)), found)


def test_two_statements_together_support_nothing() -> None:
    sources = [Source("Ann Lee was born in York."), Source("Bob Ray died in Leeds.")]
    assert [check_support("Ann Lee was born in York.", each).is_supported for each in sources] == [True, False]
    assert not any(check_support("Ann Lee died in Leeds.", each).is_supported for each in sources)


def test_contradictions_are_caught() -> None:
    caught = defaultdict(list)
    for row in rows("contradictions.jsonl"):
        caught[row["kind"]].append(not check_support(row["sentence"], Source(row["statement"])).is_supported)
    shares = {kind: sum(found) / len(found) for kind, found in caught.items()}
    every = [each for found in caught.values() for each in found]
    assert len(every) == 200
    assert sum(every) / len(every) >= MIN_CAUGHT, shares
    assert shares["by hand"] >= MIN_CAUGHT


def test_true_sentences_are_kept() -> None:
    known = rows("true.jsonl")
    verbatim = [check_support(row["statement"], Source(row["statement"])).is_supported for row in known]
    short = [check_support(row["short"], Source(row["statement"])).is_supported for row in known]
    assert all(verbatim)
    assert sum(short) / len(short) >= MIN_KEPT_SHORT


def test_false_shortened_forms_are_caught() -> None:
    """The half that had no part in the rules. Before the rules, .8 were caught and .77 of the true ones kept."""
    judged = [row for row in rows("shortened.jsonl") if row["half"] == "judge"]
    false = [check_support(text, Source(row["statement"])).is_supported for row in judged for text in row["false"]]
    true = [check_support(text, Source(row["statement"])).is_supported for row in judged for text in row["true"]]
    assert len(false) == 164
    assert 1 - sum(false) / len(false) >= MIN_CAUGHT
    assert sum(true) / len(true) >= MIN_KEPT_OF_HANDBOOKS


def test_false_answers_of_other_kinds_are_caught() -> None:
    passing = [
        row["sentence"]
        for row in rows("false_answers.jsonl")
        if check_support(row["sentence"], Source(row["statement"])).is_supported
    ]
    assert passing == ["The river was a border."]  # of "A river was the border": articles are not compared


KEPT = [
    # statement, a sentence beside the rules for false answers that it does say
    ("The word “rust” names a language, and a game.", "The word “rust” names a language."),
    ('The command "git log" shows the history.', 'The command "git log" shows the history.'),
    ('A 5" pipe is long, and a 3" pipe is short.', 'A 5" pipe is long.'),
    ("Anna made a film in 1990 in Rome.", "Anna made a film in Rome."),
    ("The film was made in 1990, and Bob left.", "The film was made in 1990."),
    ("Paris, a city in France, is large.", "Paris is a city in France."),
    ("Paris is the capital of France.", "The capital of France is Paris."),
    ("Anna sold both the town and the lake in 1990.", "Anna sold both the town and the lake."),
]


@pytest.mark.parametrize(("statement", "sentence"), KEPT)
def test_true_sentences_beside_them_are_kept(statement: str, sentence: str) -> None:
    assert check_support(sentence, Source(statement)).is_supported


@given(st.text(max_size=700), st.text(max_size=1_600))
def test_any_text_is_checked(sentence: str, statement: str) -> None:
    check_support(sentence, Source(statement))


@pytest.mark.parametrize("piece", ["a ", "A ", "1,", "not ", "- ", "x'", "1.5 km ", "(", "a-"])
def test_long_repetitions_end_quickly(piece: str) -> None:
    text = piece * 5_000
    assert not check_support(text, Source(text)).is_supported
    check_support(text[:600], Source(text))
