"""Lines that only name other texts, and sentences that have names, years and addresses, too."""

import pytest

from streams.statements.references import has_only_addresses, is_bibliographic, is_reference


@pytest.mark.parametrize(
    ("found", "text"),
    [
        # A term with the addresses of its pages.
        (True, "page size pragma - pragma.html#page_size"),
        (True, "anchor chains → ships.html#chains ropes/knots.html harbour.php?place=3"),
        (True, "ships.html ropes.html masts.html"),
        (True, "See also: ropes.html masts.html sails.html"),
        (True, "(ropes.html), masts.html"),
        (False, "The timetable is in ships.html, and the prices are in prices.html."),
        (False, "Copy it to ships.html"),
        (False, "Source: https://example.org/ships.html"),  # it may be what was asked for
        (False, "ships.html"),  # the name of a file
        (False, "the order of the long ropes on each one of the larger ships - ropes.html"),
        (False, "A ferry leaves at noon - and at midnight"),
        (False, "→ ropes.html → a knot"),
        (False, ""),
    ],
)
def test_has_only_addresses(found: bool, text: str) -> None:
    assert has_only_addresses(text) is found
    assert is_reference(text) is found


@pytest.mark.parametrize(
    ("found", "text"),
    [
        # Entries, and the parts that a splitter of sentences makes of them.
        (True, "[rope87] The long ropes of short ships. Second Edition."),
        (True, "[ROPE87b] “The long ropes”. J. Mast."),
        (True, "[HARBOUR] Knots and Ropes. Jane Mast."),
        (True, "J. Mast and A. B. Rope. ISBN 0-201-96426-0. Harbour Press. 1997."),
        (True, "Conference on the Harbours of the North, June 1995."),
        (True, "M. Mast, L. A. Rope, and P. van der Sail."),
        (True, "Part 6: How a rope is made for a ship. First Edition. 2017."),
        (True, "Digest of Papers SHIPS Spring 1992. 1992. 383–388."),
        (True, "Mast, J., and Rope, A. (2023). How a knot holds a rope. Journal of Knots, 42(1), 1–35."),
        (True, "“How a rope is made”, Jane Mast and Allan Rope (8th Edition). Harbour Press."),
        # Sentences, labels and facts.
        (False, "J. Mast wrote the book of knots in 1987."),
        (False, "The rope was made in June 1995."),
        (False, "It was first seen on Aug. 17, 2000."),
        (False, "See pp. 4–11 of the book, which Harbour Press has printed."),
        (False, "[1] The rope holds ten tons."),
        (False, "[rope] holds ten tons."),
        (False, "Open the Rope Dialog."),
        (False, "Built: 2012-10-04 19:37:12 091570e46d04"),
        (False, "DEFAULT_ROPES=<0-3>"),
        (False, "Range: 1024–2048"),
        (False, "Harbour RGB (1998)"),
        (False, "Press Enter."),
        (False, "Community Edition"),
        (False, "Availability: Linux, Unix, Windows."),
        (False, "THE KNOT MAY CHANGE."),
        (False, "渡船在中午离开港口。"),
        (False, "Harbour University Press. " * 30),  # no entry is so long
        (False, ""),
    ],
)
def test_is_bibliographic(found: bool, text: str) -> None:
    assert is_bibliographic(text) is found
    assert is_reference(text) is found
