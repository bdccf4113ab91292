"""Sentences that a page divides between two of its blocks: the beginning is the lead-in of the end."""

import pytest

from streams.pages.document.model import Block, Container, Document
from streams.statements.contexts import MAX_LEAD_WORDS, cut_before_words
from streams.statements.drafting import draft_statements
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.open_texts import beginning_of, ends_open, goes_on, mark_open
from streams.statements.sentences.reading_alone import reads_alone
from tests.sentence_splitter import SPLITTER

LIST = (Container("ul"), *(Container("li", 0) for _ in range(3)))
HELD_UP = "A ferry that has left arrives even if it is held up by"


def contexts_of(*blocks: Block, containers: tuple[Container, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    document = Document(url="https://a.test/", title="Guide", language="en", containers=containers, blocks=blocks)
    return [(draft.context[1:], draft.text) for draft in draft_statements(document, SPLITTER)[0]]


@pytest.mark.parametrize(
    ("is_open", "text"),
    [
        (True, HELD_UP),
        (True, "If a storm comes,"),
        (True, "Die Fähre wartet auf den Sturm und"),
        (False, "The ferry leaves at noon."),
        (False, "The ferry leaves after:"),
        (False, "Ferries and their times"),
        (True, "Sold by"),
        (False, ","),
        (False, ""),
    ],
)
def test_ends_open(is_open: bool, text: str) -> None:
    assert ends_open(text) is is_open


@pytest.mark.parametrize(
    ("found", "before", "text"),
    [
        (True, HELD_UP, "a storm, or a leak."),
        (True, "The additional line makes it so that the master", "of the harbour sees all ships."),
        (True, "The ferry leaves early on all days of the week", "because the tide is high."),
        (True, "The ferry leaves:", "and never comes back."),  # behind a colon, by its first word only
        (True, "If you put the line of the second table", "into the file, it leaves."),
        (False, "If you put", "Nothing is left."),
        (False, "The ferry leaves:", "ferryd runs on the bridge."),
        (False, "The ferry leaves at noon.", "and never comes back."),
        (False, "Save 27% on this ferry", "compared to $44.95"),  # a label, by its few words
        (False, "ALTERNATIVE ferryctl", "ferryctl is an older tool."),
        (False, "4 stars", "and up"),
        (False, "The ferry leaves early on all days of the week", "Ropes"),
        (False, "", "and never comes back."),
        (False, HELD_UP, ""),
    ],
)
def test_goes_on(found: bool, before: str, text: str) -> None:
    assert goes_on(before, text) is found


def test_a_lead_in_without_an_end_mark_gets_an_ellipsis_by_which_its_end_finds_it() -> None:
    assert mark_open("It leaves after:") == "It leaves after:"
    assert mark_open("") == ""
    context = ("Ferries", mark_open("It is held up by"), "A storm came.")
    assert beginning_of("and never leaves.", context) == "It is held up by …"
    assert beginning_of("The ferry leaves.", context) == ""
    assert beginning_of("and never leaves.", ("Ferries",)) == ""
    listing = ("Ferries", "We might try to sail:")
    assert beginning_of("but this does not work.", listing) == "We might try to sail:"
    assert beginning_of("ferry-ls lists the ferries.", listing) == ""  # a name in small letters


def test_a_list_that_ends_the_sentence_before_it_has_its_beginning_as_lead_in() -> None:
    items = [Block("p", text, place) for place, text in enumerate(("a storm,", "a fire, or", "a leak in it."), 1)]
    [_, led] = contexts_of(Block("p", f"Ropes are ready. {HELD_UP}"), *items, containers=LIST)
    assert led == ((f"{HELD_UP} …",), "a storm, a fire, or a leak in it.")
    [_, label] = contexts_of(Block("p", "On this ferry"), *items, containers=LIST)
    assert label == ((), "a storm, a fire, or a leak in it.")
    assert reads_alone(led[1], "list", led[0])
    assert not reads_alone(label[1], "list", label[0])


def test_a_paragraph_goes_on_with_the_one_before_a_listing_and_only_its_first_sentence_does() -> None:
    found = contexts_of(
        Block("p", "Ropes are ready. In general, a call such as"),
        Block("pre", "ferry --leave now"),
        Block("p", "is a lot safer than a long wait. The captain knows it."),
    )
    assert found[-2:] == [
        (("In general, a call such as …",), "is a lot safer than a long wait."),
        ((), "The captain knows it."),
    ]
    assert ((("In general, a call such as …",)), "ferry --leave now") in found


def test_a_paragraph_goes_on_with_the_one_before_it_below_the_same_heading_only() -> None:
    begun, end = Block("p", "The captain waits for the tide and"), Block("p", "then leaves the old harbour.")
    assert contexts_of(begun, end)[-1] == (("The captain waits for the tide and …",), end.text)
    assert contexts_of(begun, Block("h2", "Tides"), end)[-1] == (("Tides",), end.text)
    quote = (Container("blockquote"),)
    assert contexts_of(begun, end._replace(parent=0), containers=quote)[-1] == ((), end.text)


def test_the_end_of_a_long_lead_in_is_kept() -> None:
    text = " ".join(f"word{number}" for number in range(60))
    cut = cut_before_words(text, MAX_LEAD_WORDS)
    assert cut.startswith("… word")
    assert cut.endswith("word59")
    assert word_count(cut) == MAX_LEAD_WORDS
    assert cut_before_words("It leaves after:", MAX_LEAD_WORDS) == "It leaves after:"
    assert word_count(cut_before_words("x" * 9_000, MAX_LEAD_WORDS)) <= MAX_LEAD_WORDS
