"""The answer without a model: which statement, how sure, and several where pages disagree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.answers.choosing import MIN_CONFIDENCE, FoundAnswer, choose_answer, has_what_is_asked
from streams.answers.confidence import features_of, judge_statements, names_of, parameters
from streams.answers.surroundings import MAX_CELL_CHARS, MAX_SHOWN_CHARS, surroundings_of
from streams.pages.document.consent import Consent
from streams.pages.normalize import normalize
from tests.sizes import examples
from tests.unit.answers.world import evidence

QUESTION = "how high is the Quill tower"
HIGH = "The Quill tower in Harbour Street is 120 metres high."
HALF = "in which the Quill tower in Harbour Street is 120 metres high."


def choose(question: str, *found: object, **_: object) -> FoundAnswer | None:
    return choose_answer(question, list(found), parameters())  # type: ignore[arg-type]  # evidence


SURE = {"similarity": 0.85, "score": 4.0}
OTHERS = [
    evidence("https://b.test/", "The harbour has many ships and a market.", rank=1, similarity=0.2, score=0.5),
    evidence("https://c.test/", "Ferries leave from the pier each hour.", rank=2, similarity=0.1, score=0.3),
]


def test_a_statement_that_answers_is_the_answer_with_its_source_and_date() -> None:
    answer = choose(QUESTION, evidence("https://a.test/", HIGH, published="2024-05-03", **SURE), *OTHERS)  # type: ignore[arg-type]  # numbers
    assert answer is not None
    assert (answer.answers[0].text, answer.answers[0].url, answer.answers[0].published) == (
        HIGH,
        "https://a.test/",
        "2024-05-03",
    )
    assert answer.confidence >= MIN_CONFIDENCE
    assert not answer.disagree


@pytest.mark.parametrize(
    "found",
    [
        OTHERS,  # nothing answers
        [],
        [evidence("https://a.test/", HIGH, consent=Consent.of_directives(["nosnippet"]), **SURE), *OTHERS],  # type: ignore[arg-type]  # numbers
        [evidence("https://a.test/", HIGH, consent=Consent.of_directives(["max-snippet:20"]), **SURE), *OTHERS],  # type: ignore[arg-type]  # numbers
        [evidence("https://a.test/", HALF, context=("The Quill tower …",), **SURE), *OTHERS],  # type: ignore[arg-type]  # numbers
    ],
    ids=["unsure", "nothing", "nosnippet", "max-snippet", "half-sentence"],
)
def test_no_answer(found: list[object]) -> None:
    assert choose(QUESTION, *found) is None


@pytest.mark.parametrize(
    ("question", "heading", "text", "is_answer"),
    [
        # The heading repeats the question, and the statement is about something else.
        ("What is a deadlock?", "What is a deadlock?", "See the next chapter for the settings of the server.", False),
        ("How high is the Quill tower?", "How high is the Quill tower?", "Ferries leave from the pier.", False),
        # One term in the statement itself is enough: the heading may have the others.
        ("What is a deadlock?", "What is a deadlock?", "A deadlock is two sessions that wait for each other.", True),
        ("How high is the Quill tower?", "The Quill tower", "It is 120 metres high.", True),
        # Another form of the word is the same term.
        ("What are deadlocks?", "Waiting", "A deadlock is two sessions that wait for each other.", True),
    ],
)
def test_only_a_statement_with_a_term_of_the_question_is_an_answer(
    question: str, heading: str, text: str, is_answer: bool
) -> None:
    found = evidence("https://a.test/", text, context=(heading,), similarity=0.95, score=4.0)
    assert bool(choose(question, found, *OTHERS)) == is_answer


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("When was PostgreSQL 15.7 released?", 2),  # a name and a version
        ("Who created Python?", 1),
        ("what does gc.auto do", 2),  # a code
        ("Who was the first one?", 0),  # the first word has a capital letter in any case
        ("how high is the quill tower", 0),
        ("", 0),
    ],
)
def test_names_numbers_and_codes_of_a_question(question: str, names: int) -> None:
    assert len(names_of(question)) == names


@pytest.mark.parametrize(
    ("text", "context", "title", "lacks"),
    [
        ("It was released in November.", ("Release 15.7",), "PostgreSQL", 0.0),
        ("PostgreSQL 15.7 was released in May.", (), "", 0.0),
        ("It was released in November.", ("Release 15.9",), "PostgreSQL", 1.0),
        ("Release 15.7 came in May.", (), "Python", 1.0),
    ],
)
def test_a_name_of_the_question_is_in_the_statement_or_around_it(
    text: str, context: tuple[str, ...], title: str, lacks: float
) -> None:
    found = evidence("https://a.test/", text, context=context, title=title)
    [features] = features_of("When was PostgreSQL 15.7 released?", [found])
    assert features["lacks_name"] == lacks


def test_of_two_versions_the_one_that_was_asked_for_is_more_probable() -> None:
    def confidence(version: str) -> float:
        text = f"PostgreSQL {version} was released in November 2024."
        answer = choose("When was PostgreSQL 15.9 released?", evidence("https://a.test/", text, **SURE), *OTHERS)  # type: ignore[arg-type]  # numbers
        return answer.confidence if answer else 0.0

    assert confidence("15.9") > confidence("15.7")


def test_a_query_that_asks_nothing_has_no_answer() -> None:
    assert choose("quill tower", evidence("https://a.test/", HIGH, **SURE)) is None  # type: ignore[arg-type]  # numbers


def test_pages_that_disagree_stand_side_by_side() -> None:
    same = evidence("https://b.test/", "The Quill tower is 120 m high.", rank=1, similarity=0.84, score=3.9)
    other = evidence("https://c.test/", "The Quill tower is 118 metres high.", rank=1, similarity=0.84, score=3.9)
    first = evidence("https://a.test/", HIGH, similarity=0.85, score=4.0)
    answer = choose(QUESTION, first, same, other)
    assert answer is not None
    assert answer.disagree
    assert {each.url for each in answer.answers} == {"https://a.test/", "https://c.test/"} or answer.also == 1
    assert len(answer.answers) == 2


def test_the_values_order_statements_of_one_search() -> None:
    found = [*OTHERS, evidence("https://a.test/", HIGH, **SURE)]  # type: ignore[arg-type]  # numbers
    assert judge_statements(QUESTION, found, parameters())[0].evidence.text == HIGH


TABLE = """<h1>Towers</h1><table><thead><tr><th>Tower</th><th>Height</th></tr></thead>
<tbody><tr><td>Quill</td><td>120 m</td></tr><tr><td>Bell</td><td>80 m</td></tr></tbody></table>
<ul><li>Take the stairs.</li><li>Take the lift.</li></ul>"""


def test_a_table_and_a_list_stand_as_in_the_page() -> None:
    document = normalize(TABLE, url="https://a.test/").document
    table = surroundings_of(document, "Tower: Bell | Height: 80 m", "row")
    assert table is not None
    assert (table.header, table.rows, table.place) == (("Tower", "Height"), (("Quill", "120 m"), ("Bell", "80 m")), 1)
    items = surroundings_of(document, "Take the lift.", "item")
    assert items is not None
    assert (items.rows, items.place) == ((("Take the stairs.",), ("Take the lift.",)), 1)
    assert surroundings_of(document, "No such row | 5", "row") is None


def test_the_list_of_an_answer_is_the_one_with_this_item_and_not_one_with_its_words() -> None:
    page = """<h1>Ways up</h1><ul><li>Take the lift. It is slow, and closes at six.</li><li>Wait.</li></ul>
    <ul><li>Take the stairs.</li><li>Take the lift.</li></ul>"""
    items = surroundings_of(normalize(page, url="https://a.test/").document, "Take the lift.", "item")
    assert items is not None
    assert items.rows[items.place] == ("Take the lift.",)


def test_a_page_that_limits_quotations_is_quoted_without_its_context() -> None:
    consent = Consent.of_directives([f"max-snippet:{len(HIGH)}"])
    answer = choose(QUESTION, evidence("https://a.test/", HIGH, context=("Quill",), consent=consent, **SURE), *OTHERS)  # type: ignore[arg-type]  # numbers
    assert answer is not None
    assert (answer.answers[0].text, answer.answers[0].context) == (HIGH, ())


def test_the_item_that_answers_is_whole_and_the_others_are_cut_between_words() -> None:
    long, answer = "Stairs lead up and up, " * 20, f"The lift goes to the terrace{', and then higher' * 15}."
    document = normalize(f"<h1>Towers</h1><ul><li>{long}</li><li>{answer}</li></ul>", url="https://a.test/").document
    items = surroundings_of(document, answer, "item")
    assert items is not None
    [(cut,), (whole,)] = items.rows
    assert whole == answer
    assert len(cut) <= MAX_CELL_CHARS
    assert long.startswith(cut.removesuffix("…"))
    assert cut.split()[-1] in ("Stairs…", "lead…", "up…", "and…")


def test_a_sentence_is_the_answer_and_not_the_one_that_points_back_to_it() -> None:
    first = "The Quill tower is 120 metres high."
    found = [
        evidence("https://a.test/", "It stands on a hill.", context=("The Quill tower", first), similarity=0.8),
        evidence("https://a.test/", first, context=("The Quill tower",), similarity=0.7),
    ]
    for order in (found, found[::-1]):
        answer = choose_answer("How high is the Quill tower?", order, parameters())
        assert answer
        assert answer.answers[0].text == first


STASH = """<h1>git-stash</h1><dl>
<dt>Interrupted workflow</dt><dd>When your boss comes in, make a commit.</dd>
<dt>Saving changes for later</dt><dd>Use git stash push --staged to stash them for future use.</dd>
</dl>"""


def test_a_term_and_its_definition_are_one_row() -> None:
    document = normalize(STASH, url="https://a.test/").document
    items = surroundings_of(document, "Use git stash push --staged to stash them for future use.", "item")
    assert items is not None
    assert items.rows == (
        ("Interrupted workflow", "When your boss comes in, make a commit."),
        ("Saving changes for later", "Use git stash push --staged to stash them for future use."),
    )
    assert items.place == 1


def test_a_sentence_of_a_long_item_is_shown_without_the_list() -> None:
    """The item is an example with its code: the sentence alone answers."""
    example = "Use git stash push --staged to stash them for future use. <pre>$ git add foo\n$ git stash</pre>" * 2
    page = f"<h1>git-stash</h1><ul><li>Do it at once.</li><li>{example}</li></ul>"
    answer = "Use git stash push --staged to stash them for future use."
    assert surroundings_of(normalize(page, url="https://a.test/").document, answer, "item") is None


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(1, 400), min_size=2, max_size=30), st.data())
def test_the_rows_around_an_answer_leave_room_for_the_results(lengths: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(lengths) - 1))
    texts = [f"row {number} " + "w" * length for number, length in enumerate(lengths)]
    page = "<h1>T</h1><ul>" + "".join(f"<li>{text}</li>" for text in texts) + "</ul>"
    items = surroundings_of(normalize(page, url="https://a.test/").document, texts[place], "item")
    assert items is not None
    assert items.rows[items.place] == (texts[place],)
    assert len(items.rows) + items.before + items.after == len(texts)
    others = sum(len(cell) for row in items.rows for cell in row) - len(texts[place])
    assert others <= max(MAX_SHOWN_CHARS - len(texts[place]), 0)


# The question, a statement, and whether the statement has what is asked for.
ASKED = [
    ("what is the default port of quilldb", "The default port of quilldb is 7433.", True),
    ("what is the default port of quilldb", "Otherwise the port is the compiled-in default of quilldb.", False),
    ("what is a port", "A port is the place where a server listens.", True),  # no value is asked for
    ("which port does quilldb use", "Quilldb should use a port that nobody else uses.", False),
    ("what is the command to list ferries in quilldb", "Type quilldb --list to list all ferries.", True),
    ("what is the command to list ferries in quilldb", "The list of ferries is in quilldb.list.", False),
    ("what is a foreign key", "A foreign key is a column that names a row of another table.", True),
    ("what is a foreign key", "A foreign key names a row of another table.", True),
    ("what is a foreign key", "Making use of foreign keys will definitely improve your database.", False),
    ("what is a vacuum", "Small. Fast. Reliable. Choose any three.", False),
    ("what does the vacuum do", "The vacuum command gives space back.", True),
    ("who created quilldb", "Quilldb was created by Ada Byron.", True),
    ("who created quilldb", "Quilldb was created by volunteers.", False),
    ("when was quilldb released", "Quilldb was released in 2019.", True),
    ("when was quilldb released", "Quilldb was released early.", False),
    ("when was quilldb released", "The year 2019 was cold.", False),  # about something else
    ("when was quilldb released", "Quilldb was released with a fix (CVE-2024-10978).", False),
    ("how many ferries are there", "There are 12 ferries.", True),
    ("how many ferries are there", "A ferry has room for 12 cars.", False),  # another noun is counted
    ("how many ferries are there", "There are two or more ferries.", False),
    ("how many ferries are there", "The number of ferries is in section 25.1.3.", False),
    ("what is the maximum number of ferries", "The maximum number of ferries is 30.", True),
    ("what is the maximum number of ferries", "Ask ferry3_limit for the maximum number of ferries.", False),
    ("what is the maximum number of ferries", "The maximum ferry speed is 30.", False),
    ("could not serialize access due to concurrent update", "ERROR: could not serialize access due to update", False),
    ("is the harbour open", "The harbour is open.", False),  # an echo
    ("was ist ein Standardport?", "Ein Standardport ist 7433.", False),  # forms of questions are known in English only
    ("welcher port ist es?", "Der Port ist 7433.", True),  # nouns of values are known in several languages
]


@pytest.mark.parametrize(("question", "text", "has"), ASKED, ids=[f"{q}: {t[:30]}" for q, t, _ in ASKED])
def test_a_quotation_has_what_the_question_asks_for(question: str, text: str, has: bool) -> None:
    assert has_what_is_asked(question, evidence("https://a.test/", text)) is has


def test_code_defines_nothing() -> None:
    question, text = "what does the ferry do", "ferry is [--fast] | do"
    assert has_what_is_asked(question, evidence("https://a.test/", text))
    assert not has_what_is_asked(question, evidence("https://a.test/", text, kind="code"))


@given(st.text(max_size=200))
def test_a_text_that_repeats_a_question_is_no_answer(question: str) -> None:
    found = evidence("https://a.test/", question)
    assert not has_what_is_asked(question, found)
