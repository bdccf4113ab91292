"""The status of an answer by a model is about the statements that are shown."""

import asyncio
import time
from collections.abc import Sequence

from streams.answers.evidence import Evidence
from streams.answers.prompts import key_of
from streams.answers.writer import MAX_SHOWN_OF_PAGE, Outcome
from streams.gateway.answers.html import reason_of
from streams.models.chat import Message, ModelUnavailable, OpenAIChat
from tests.loop_turns import counted_turns
from tests.model_server import model_server
from tests.unit.answers.world import Written, evidence, writer

QUESTION = "Who paints the Quill tower?"
METALS = ("osmium", "hafnium", "rhenium")
BESIDE = [evidence("https://metals.test/", f"Workers keep {metal} in boxes of wood.") for metal in METALS]
ABOUT = evidence("https://metals.test/", "Ann Lee paints the Quill tower in spring.")


def quote(messages: Sequence[Message]) -> str:
    """Choose all statements by their numbers."""
    return "\n".join(line.partition(" ")[0] for line in messages[-1].content.split("\n") if line.startswith("["))


async def answer(statements: Sequence[Evidence]) -> tuple[list[str], Outcome]:
    outcome = Outcome(())
    found = writer(Written(quote)).answer(QUESTION, statements, "a person", outcome)
    return [sentence.text async for sentence in found], outcome


async def test_statements_beside_the_question_are_no_answer() -> None:
    """They are left out, so the page had neither a sentence nor a reason."""
    texts, outcome = await answer(BESIDE)
    assert (texts, outcome.status, outcome.dropped) == ([], "unknown", len(BESIDE))


async def test_statements_beside_the_question_take_no_place_of_the_answer() -> None:
    assert len(BESIDE) == MAX_SHOWN_OF_PAGE
    texts, outcome = await answer([*BESIDE, ABOUT])
    assert (texts, outcome.status) == ([ABOUT.text], "answered")


async def test_a_cut_text_loses_its_last_number_and_is_asked_for_again() -> None:
    """The number would have had a second digit."""
    page = [ABOUT, evidence("https://metals.test/", "The paint of the tower is safe in mice, if they are old.")]
    chat, outcome = Written(lambda _: "1\n2", is_cut=True), Outcome(())
    made = writer(chat)
    shown = [each.text async for each in made.answer(QUESTION, page, "a person", outcome)]
    assert (shown, outcome.status, outcome.lacks, outcome.dropped) == ([ABOUT.text], "answered", "cut", 0)
    assert reason_of(outcome).startswith("The answer may be incomplete.")
    assert [each.text async for each in made.answer(QUESTION, page, "a person", Outcome(()))] == shown
    assert len(chat.asked) == 2


async def test_a_cut_quotation_is_a_choice() -> None:
    page = [evidence("https://metals.test/", "Ann Lee paints the Quill tower, if it is not too cold in spring.")]
    made = writer(Written(lambda _: '1 "Ann Lee paints the Quill', is_cut=True))
    shown = [each.text async for each in made.answer(QUESTION, page, "a person", Outcome(()))]
    assert shown == [page[0].text], "with its condition"


async def test_a_model_that_has_chosen_enough_is_stopped_and_kept() -> None:
    page = [evidence("https://metals.test/", f"Ann Lee paints the Quill tower number {n}.") for n in range(5)]
    chat, outcome = Written(lambda _: "5\n4\n3\n" + "and so on " * 1_000, is_cut=True), Outcome(())
    made = writer(chat)
    for cached in (0, 1):
        outcome = Outcome(())
        shown = [each.text async for each in made.answer(QUESTION, page, "a person", outcome)]
        assert shown == [page[n].text for n in (4, 3, 2)], "in the order of the model"
        assert (outcome.lacks, outcome.cached) == ("", cached)
    assert len(chat.asked) == 1


async def test_a_model_writes_in_its_own_words_only_where_the_operator_allows_it() -> None:
    written = "Ann Lee painted the Quill tower in 1931. [1]\nEach spring, Ann Lee paints it. [1]"
    for tokens, expected in ((0, [("statement", ABOUT.text)]), (200, [("prose", "Each spring, Ann Lee paints it.")])):
        made, outcome = writer(Written(lambda _: written), prose_tokens=tokens), Outcome(())
        shown = [(each.form, each.text) async for each in made.answer(QUESTION, [ABOUT], "a person", outcome)]
        assert shown == expected
        assert outcome.dropped == (1 if tokens else 0)


async def test_an_answer_that_lacks_a_page_says_so() -> None:
    def write(messages: Sequence[Message]) -> str:
        if "Bob Ray" in messages[-1].content:
            raise ModelUnavailable("gone")
        return quote(messages)

    pages, outcome = [ABOUT, evidence("https://other.test/", "Bob Ray paints the Quill tower in autumn.")], Outcome(())
    shown = [each.text async for each in writer(Written(write)).answer(QUESTION, pages, "a person", outcome)]
    assert (shown, outcome.status, outcome.lacks) == ([ABOUT.text], "answered", "unavailable")
    assert reason_of(outcome) == "The answer may be incomplete. The language model does not answer at the moment."


async def test_an_answer_has_one_end_time_for_its_slots_and_its_requests() -> None:
    """Each page takes .6 s, one after the other. The second page waits for its slot, and has only the rest."""
    pages = [evidence(f"https://{metal}.test/", ABOUT.text) for metal in METALS]
    async with model_server("quote", piece_chars=1_000, pause_seconds=0.6) as server:
        chat = OpenAIChat(server.url, "test")
        outcome, begun = Outcome(()), time.monotonic()
        made = writer(chat, deadline_seconds=1.0, max_at_once=1)
        found = [sentence.text async for sentence in made.answer(QUESTION, pages, "a person", outcome)]
        took = time.monotonic() - begun
        related = await made.related(QUESTION, pages, "a person", Outcome(()), outcome)
        await chat.close()
    assert (found[:1], related) == ([ABOUT.text], [])
    assert took < 1.4
    assert len(server.requests) <= 2, "an answer whose time is over asks nothing more"


async def test_a_wait_for_a_slot_ends_with_the_answer() -> None:
    """Another answer has the slot. The wait and the request have the same end."""
    async with model_server("silent") as server:
        chat = OpenAIChat(server.url, "test")
        made = writer(chat, deadline_seconds=1.0, max_at_once=1)

        async def ask() -> Outcome:
            outcome = Outcome(())
            assert [each async for each in made.answer(QUESTION, [ABOUT], "a person", outcome)] == []
            return outcome

        async with counted_turns() as turns:
            first = asyncio.create_task(ask())
            await asyncio.sleep(0.5)
            second = await ask()
        await chat.close()
    assert ((await first).status, second.status) == ("late", "late")
    assert turns.count < 190, (
        "0.5 s until it began, and 1 s for the wait and the request, in turns: a machine may stand still"
    )


def test_each_list_of_audiences_has_texts_of_its_own() -> None:
    lists = [(), ("",), ("a", "b"), ("a b",), ("a",), ("a", ""), ('a", "b',)]
    assert len({key_of("model", [], audiences) for audiences in lists}) == len(lists)
