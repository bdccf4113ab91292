"""The first sentence that is shown of a page where nothing that matched makes sense by itself."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid5

import pytest

from streams.search.deadline import Deadline
from streams.search.extras import (
    MIN_FOOT_ORDINAL,
    FirstSentences,
    choose_first_sentences,
    show_first_sentences,
)
from streams.seen.stores import SeenStores
from streams.statements.sentences.reading_alone import LEAD_OF_LIST, reads_alone
from streams.stores.protocols import EVERYTHING, Hit, PageHits
from streams.stores.statement_payload import StatementPayload

PAGES = UUID("6f1c3a52-7d0e-4b7e-9a35-0d6c1b8f2e44")
SENTENCE = "The ferry leaves the northern pier at eight every morning."


def hit(text: str, ordinal: int = 0, kind: str = "sentence", page: str = "a") -> Hit:
    row: Mapping[str, Any] = {"page_id": str(uuid5(PAGES, page)), "text": text, "ordinal": ordinal, "kind": kind}
    return Hit(uuid5(PAGES, f"{page} {ordinal}"), 0.0, StatementPayload.of_row(row))


def texts(*hits: Hit) -> dict[UUID, str]:
    return {page: found.payload.text for page, found in choose_first_sentences(hits).items()}


@pytest.mark.parametrize(
    "before",
    [
        hit("Prev | Up | Next"),
        hit("2.1. The Harbour", kind="heading"),
        hit("Last modified on Tuesday by one of the four keepers of the pier."),
        hit("Welcome to us!"),  # too short to say something about the page
        hit("The timetable of the ferry in winter lists these departures:"),
        hit("leaves the northern pier at nine every evening and comes back."),
    ],
)
def test_the_first_sentence_is_behind_what_is_none(before: Hit) -> None:
    assert texts(hit("Another sentence about the ferry follows below.", 2), hit(SENTENCE, 1), before) == {
        uuid5(PAGES, "a"): SENTENCE
    }


@pytest.mark.parametrize(
    ("replaced", "matched"),
    [
        (False, [hit(SENTENCE)]),
        (False, [hit("free tea on each ferry", kind="item")]),
        (False, [hit("Port: Oban | Time: noon", kind="row")]),
        (True, [hit("Leaving and coming back in the same week")]),  # a title
        (True, [hit("The ferries of the north", kind="link")]),  # a link says what another page is about
        (False, [hit("The ferries of the north", kind="link"), hit(SENTENCE, 1)]),
    ],
)
async def test_a_title_or_a_link_to_another_page_is_replaced(replaced: bool, matched: list[Hit]) -> None:
    asked: list[UUID] = []

    async def first_statements(pages: Sequence[UUID], _max_ordinal: int) -> list[Hit]:
        asked.extend(pages)
        return [hit(SENTENCE, 2)]

    stores: Any = SimpleNamespace(vectors=SimpleNamespace(first_statements=first_statements))
    page = PageHits(uuid5(PAGES, "a"), tuple(matched), 0.9)
    found = await FirstSentences(SeenStores(stores), lambda *_: None).of([page], EVERYTHING, Deadline(9.0))
    assert (bool(found), asked) == (replaced, [page.page_id] if replaced else [])


def test_a_line_of_the_frame_is_no_first_sentence() -> None:
    line = hit("The harbour office wrote all the pages of this site.")
    assert choose_first_sentences([line, hit(SENTENCE, 1)], {line.id}) == {uuid5(PAGES, "a"): hit(SENTENCE, 1)}


def test_a_text_on_several_pages_is_not_the_first_sentence_of_any() -> None:
    line = "All the departures of this season are listed by their harbours."
    found = texts(hit(line, page="a"), hit(SENTENCE, 1, page="a"), hit(line, page="b"))
    assert found == {uuid5(PAGES, "a"): SENTENCE}


def test_a_page_shows_only_its_first_sentence_with_the_score_of_its_best_statement() -> None:
    title, other = Hit(uuid5(PAGES, "t"), 0.7, hit("Ferries").payload), hit("Piers", page="b")
    pages = [PageHits(uuid5(PAGES, "a"), (title,), 0.9), PageHits(uuid5(PAGES, "b"), (other,), 0.8)]
    shown = list(show_first_sentences(pages, choose_first_sentences([hit(SENTENCE, 1)])))
    assert [(page.score, [(each.payload.text, each.score) for each in page.hits]) for page in shown] == [
        (0.9, [(SENTENCE, 0.7)]),
        (0.8, [("Piers", 0.0)]),
    ]


SHORT = hit("Ferries of wood, iron and steel.", 1)
NOTICE = hit("Last modified on Tuesday.", MIN_FOOT_ORDINAL)
BELOW = hit("The keepers of the pier answer letters in the summer.", MIN_FOOT_ORDINAL + 1)


@pytest.mark.parametrize(
    ("chosen", "statements"),
    [
        (SHORT.payload.text, [SHORT, NOTICE, BELOW]),  # short, and above the foot of the page
        (SENTENCE, [SHORT, hit(SENTENCE, 2), NOTICE, BELOW]),
        (BELOW.payload.text, [hit("Ferries", 1), NOTICE, BELOW]),  # nothing else is a sentence
        (SENTENCE, [hit("Last modified on Tuesday.", 1), hit(SHORT.payload.text, 2), hit(SENTENCE, 3)]),  # a byline
        ("", [hit("Ferries", 1), NOTICE, hit("Write to us soon.", MIN_FOOT_ORDINAL + 2)]),
    ],
)
def test_a_short_sentence_of_the_page_is_better_than_its_foot(chosen: str, statements: list[Hit]) -> None:
    assert texts(*statements) == ({uuid5(PAGES, "a"): chosen} if chosen else {})


LISTED = "Ropes and knots of the north"


@pytest.mark.parametrize(
    ("shown", "matched"),
    [
        ([(LISTED, (LEAD_OF_LIST,))], [hit(LISTED, kind="link")]),
        ([("7.1. Ropes; 7.2. Knots", (LEAD_OF_LIST,))], [hit("7.1. Ropes; 7.2. Knots", kind="list")]),
        ([("7.1. Ropes of the north", (LEAD_OF_LIST,))], [hit("7.1. Ropes of the north", kind="item")]),
        ([("free tea on each ferry", ())], [hit("free tea on each ferry", kind="item")]),  # it is understood
        ([("Ferries", ())], [hit("Ferries", kind="heading")]),
        ([(LISTED, (LEAD_OF_LIST,))], [hit("Copyright 2019 by the keepers"), hit(LISTED, 1, kind="link")]),
        ([("Copyright 2019 by the keepers", ())], [hit("Copyright 2019 by the keepers")]),  # nothing else matched
    ],
)
def test_entries_of_a_list_have_a_lead_in_where_the_page_has_no_sentence(
    shown: list[tuple[str, tuple[str, ...]]], matched: list[Hit]
) -> None:
    (page,) = show_first_sentences([PageHits(uuid5(PAGES, "a"), tuple(matched), 0.9)], {})
    assert [(each.payload.text, each.payload.context) for each in page.hits] == shown
    entries = [each.payload for each in page.hits if LEAD_OF_LIST in each.payload.context]
    assert not any(reads_alone(each.text, each.kind, each.context) for each in entries), "an entry is no answer"
