"""Statements that a reader of results understands, and statements that only a reader of the page does."""

import pytest

from streams.statements.sentences.reading_alone import (
    is_complete,
    is_line_of_contents,
    reads_alone,
)

LEAD = ("Ferries", "The ferry does not leave after:")
OPEN_LEAD = ("Ferries", "The ferry leaves, unless it is held up by …")
HEADINGS = ("Ferries", "Timetable")
SEE_ALSO = ("Ferries", "See also:")


@pytest.mark.parametrize(
    ("text", "kind", "context"),
    [
        ("The ferry leaves at noon.", "sentence", HEADINGS),
        ("All ships are painted at the pier.", "sentence", ()),
        ("These are all painted at the pier.", "sentence", LEAD),
        ("This is a harbour for ships of all kinds, and one with a pier.", "sentence", ()),
        ("(It takes an hour.)", "sentence", ()),
        ("The following ferries stop here: the blue and the red one.", "sentence", HEADINGS),
        ("Ropes are available in the harbour of the north.", "sentence", HEADINGS),
        ("What is a ferry? It is a ship that comes back.", "sentence", HEADINGS),
        ("la marée est haute à midi et basse à minuit", "sentence", ()),
        ("渡船在中午离开港口。", "sentence", ()),
        ("a storm on the open sea, or", "item", LEAD),
        ("Two sailors", "item", LEAD),
        ("Free tea, even in a storm", "item", HEADINGS),
        ("a storm, a fire, or a leak in the hull", "list", LEAD),
        ("free tea; a warm cabin; good ropes", "list", HEADINGS),
        ("a storm, a fire, or a leak in the hull.", "list", OPEN_LEAD),
        ("and never comes back.", "sentence", OPEN_LEAD),
        ("Port: Oban | Time: noon", "row", HEADINGS),
        ("Oban | 12 km | one hour", "row", HEADINGS),
        ("[ ] | the ferry [a > b] leaves | noon", "row", HEADINGS),
        ("ferry --list\nferry --leave", "code", ()),
        ("a | b | c", "code", ()),
        ("A free cup of tea on each ferry", "item", HEADINGS),
        ("Two sailors", "link", LEAD),
        ("The timetable is in ships.html, and J. Mast wrote it in 1987.", "sentence", HEADINGS),
        ("Port: Oban | Direction: up | Time: noon", "row", ()),
        ("President | John F. Mast", "row", HEADINGS),
        ("Address | No. 10 Harbour Street", "row", HEADINGS),
        ("ISBN of the timetable | 978-0-201-96426-0", "row", HEADINGS),
        ("Director: J. J. Mast", "row", HEADINGS),
        ("Director: J. J. Mast", "item", HEADINGS),
        ("Rename ropes.html to knots.php", "item", LEAD),
        ("The harbour was founded c. 1540.", "sentence", HEADINGS),
        ("这本书的编号是 ISBN 978-7-100.", "sentence", HEADINGS),
        ("The content is available under Settings > Storage.", "sentence", HEADINGS),
        ("The content is available under Storage. The terms of the harbour are below.", "sentence", HEADINGS),
        ("The text is distributed under commit 4f2, and ccache keeps it.", "sentence", HEADINGS),
        ("It is set to noon.", "sentence", HEADINGS),
        ("Ship A and Ship B sail together.", "sentence", HEADINGS),
        ("Ropes are released under a licence that the harbour wrote.", "sentence", HEADINGS),
        ("This page is about ferries that are licensed under the law of the sea.", "sentence", HEADINGS),
        ("Contents of the hold are listed at the pier.", "sentence", HEADINGS),
        ("3.5 million people used the ferries of this harbour last year.", "sentence", ()),
        ("This page is for captains who sail with Ferry 3.5 in the winter.", "sentence", ()),
        ("This page is for captains.", "sentence", ()),
        ("See the harbour before the ferry leaves.", "sentence", HEADINGS),
        ("See a doctor if it hurts.", "sentence", HEADINGS),
        ("Otherwise, the ferry waits at the pier.", "sentence", ("Ferries", "It leaves in good weather.")),
        ("Check the ropes before the ferry leaves.", "sentence", HEADINGS),
        ("A knot can hold the ship (also in a storm.)", "sentence", HEADINGS),
        ("Second mates tie the ropes to the pier.", "sentence", HEADINGS),
        ("On the left side of the harbour is the pier.", "sentence", HEADINGS),
        ("The ropes of all ships are kept there.", "item", LEAD),
        ("The pier is above the harbour.", "sentence", HEADINGS),
        ("For examples of knots, the sailors have a book.", "sentence", HEADINGS),
        ("The ferry is number 7: 12.", "row", HEADINGS),
        ("See how the ropes are tied in the harbour above.", "sentence", HEADINGS),
        ("The names of ferries follow the syntax explained in Section 4.1.1.", "sentence", HEADINGS),
        ("Ferries of the northern line that leave in the winter carry the lamps and ropes that are listed in Table 3.",
         "sentence", HEADINGS),
        ("The ferry came back on the following day.", "sentence", HEADINGS),
        ("Tie the ropes now, so that you have something to work with in the following steps.", "sentence", HEADINGS),
        ("The same applies to ships.", "sentence", OPEN_LEAD),
        ("if a > b:\n    leave()", "code", HEADINGS),
        ("The harbour's own timetable lists each ferry that leaves in the winter, with the names of its captains.",
         "item", SEE_ALSO),
        ("Copyright law protects the drawings of a ship, and the heirs of who drew it hold it for seventy years "
         "after the death of the person in most countries.", "sentence", ()),
    ],
)  # fmt: skip
def test_reads_alone(text: str, kind: str, context: tuple[str, ...]) -> None:
    assert reads_alone(text, kind, context)


@pytest.mark.parametrize(
    ("text", "kind", "context"),
    [
        ("a storm on the open sea, or", "item", HEADINGS),
        ("a storm on the open sea,", "item", ()),
        ("and the ferry leaves again at midnight.", "sentence", ()),
        ("a storm, a fire, or a leak in the hull.", "list", HEADINGS),  # the end of a sentence
        ("describes a ship that lies in the harbour, while", "sentence", OPEN_LEAD),  # the middle of one
        ("Prev | Up | Next", "row", HEADINGS),
        ("Prev | Up | Next", "sentence", LEAD),
        ("Home » Ships » Ferries", "sentence", ()),
        ("Chapter 66. Ropes of the large ships | Home | 67.1. Introduction", "row", ()),
        ("Created using Sails 5.3.0.", "sentence", ()),
        ("New in version 3.7.", "sentence", LEAD),
        ("30.4. Ropes; 30.5. Sails of the ships; Masts Of Large Ships; anchors", "list", HEADINGS),
        ("ferry *", "code", LEAD),
        ("30.5. Ferry Configuration", "item", HEADINGS),
        ("This page last modified on 2021-02-12", "sentence", ()),
        ("Last updated: 3 May, by the harbour's office.", "sentence", ()),
        ("Copyright 2020 the harbour and its friends. All rights reserved.", "sentence", ()),
        ("ferry *", "item", HEADINGS),
        ("ferry", "code", ()),
        ("***  ---", "code", ()),
        ("Ferries and their times", "heading", ("Ferries",)),
        ("For example:", "sentence", HEADINGS),
        ("The captain wrote the following rules for all of the people on the ship:", "sentence", ()),
        ("Chapter 7. Ropes: Prev | Up | Part II. Ships | Home | Next", "row", ()),
        ("will leave the harbour at noon.", "sentence", HEADINGS),
        ("", "sentence", ()),
        (
            "This page is licensed under the Harbour Licence Version 2. Examples, recipes, and other code in the "
            "documentation are additionally licensed under the Ferry Licence.",
            "sentence",
            HEADINGS,
        ),
        ("This work is licensed under the ODbL.", "sentence", HEADINGS),
        ("The text is available under CC BY-SA 4.0.", "sentence", HEADINGS),
        ("This document is released under version 2.0 of the Harbour License.", "sentence", HEADINGS),
        ("The content is also made available under the LGPL.", "sentence", HEADINGS),
        ("The content of this page, as the timetable,", "sentence", HEADINGS),
        ("You can leave it at:", "item", LEAD),  # a lead-in below a lead-in
        ("A knot can hold the ship in the storm.)", "sentence", HEADINGS),
        ("The ferry sinks in two ways: 1.", "sentence", HEADINGS),
        ("Categories: Ferries of the north · Harbours ·", "item", HEADINGS),
        ("Ferries · Harbours ·", "link", HEADINGS),
        ("Section 8.23, “Channel Ferries”", "item", HEADINGS),
        ("15.4. Masts | 16.2. Ropes", "row", ()),
        ("2.1. Leaving the harbour . . . . . 12", "item", HEADINGS),
        ("Table of Contents", "sentence", ()),
        ("[ << ] | [ < ] | [ Up ] | [Top]", "row", HEADINGS),
        ("[ << Ropes of large ships ] | [ Sails >> ]", "row", HEADINGS),
        ("[ < Ropes ] | [ Up : Ropes and Sails ] | [ Basic sails > ]", "row", HEADINGS),
        ("anchor chains → ships.html#chains ropes.html", "item", HEADINGS),
        ("anchor chains - ships.html#chains", "item", LEAD),
        ("ships.html#chains | ropes.html | knots.html", "row", HEADINGS),
        ("This page is for Ferry-2.24.1 (stable-branch).", "sentence", ()),
        ("This manual applies to the Ferry version 4.0.", "sentence", HEADINGS),
        ("Other languages: Deutsch, Español, Français.", "sentence", ()),
        ("We welcome your aid; please help us by reporting errors to our list.", "sentence", ()),
        ("If you see anything in the documentation that is not correct, please write to us.", "sentence", HEADINGS),
        ("Was this page helpful?", "sentence", HEADINGS),
        ("Found a bug on this page?", "sentence", ()),
        ("Section 38.15.", "sentence", HEADINGS),
        (", a rope (of hemp) , an anchor", "item", HEADINGS),
        ("What does a place in the harbour cost?", "sentence", HEADINGS),
        ("Where do ferries wait?", "item", LEAD),
        ("2.7.11. Who owns the ferry?", "item", HEADINGS),
        ("where port can be one of:", "code", HEADINGS),
    ],
)
def test_needs_the_page(text: str, kind: str, context: tuple[str, ...]) -> None:
    assert not reads_alone(text, kind, context)


@pytest.mark.parametrize(
    ("complete", "text", "kind", "context"),
    [
        (True, "The ferry leaves at noon.", "sentence", HEADINGS),
        (True, "渡船在中午离开港口 我们在船上喝茶", "sentence", HEADINGS),
        (True, "Two sailors", "item", LEAD),
        (True, "Port: Oban | Time: noon", "row", HEADINGS),
        (True, "Default: 12 knots an hour", "row", HEADINGS),
        (False, "Oban | 12 km | one hour", "row", HEADINGS),  # without the names of its columns
        (False, "la marée est haute à midi et basse à minuit", "sentence", ()),  # it may be a title
        (False, "TIP Leaving and coming back at the same time", "sentence", HEADINGS),
        (False, "Free tea, even in a storm", "item", HEADINGS),
        (False, "Free tea, even in a storm", "link", HEADINGS),
        (True, "Two sailors", "link", LEAD),
        (False, "You can leave it at:", "item", LEAD),
        (False, "but this does not work in a storm.", "sentence", LEAD),  # behind a listing
        (True, "It does not work in a storm.", "sentence", LEAD),
        (True, "and never comes back.", "sentence", OPEN_LEAD),
    ],
)
def test_is_complete(complete: bool, text: str, kind: str, context: tuple[str, ...]) -> None:
    assert is_complete(text, kind, context) is complete


@pytest.mark.parametrize(
    ("found", "text", "kind"),
    [
        (True, "30.5. Ferry Configuration", "item"),
        (True, "30.4. Ropes; 30.5. Sails of the ships", "list"),
        (True, "15.4. Masts | 16.2. Ropes", "row"),
        (True, "Chapter 7. The large ships", "sentence"),
        (False, "30.5. Ferry Configuration", "heading"),  # of its own page
        (False, "30.4. Ropes; sails of the ships", "list"),
        (False, "3 ships of the line", "item"),
        (False, "1.5. It leaves at noon.", "sentence"),
        (False, "5.1. Ferries | 12 km", "row"),
        (False, "1.0. " + "long " * 12, "item"),
    ],
)
def test_is_line_of_contents(found: bool, text: str, kind: str) -> None:
    assert is_line_of_contents(text.strip(), kind) is found
