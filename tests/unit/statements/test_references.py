"""Lines that only name pages of a site, and sentences that have addresses, too."""

import pytest

from streams.statements.sentences.references import has_only_addresses


@pytest.mark.parametrize(
    ("found", "text"),
    [
        # A term with the addresses of its pages.
        (True, "page size pragma - pragma.html#page_size"),
        (True, "anchor chains → ships.html#chains ropes/knots.html harbour.php?place=3"),
        (True, "ships.html ropes.html masts.html"),
        (True, "See also: ropes.html masts.html sails.html"),
        (False, "Rename ropes.html to knots.php"),
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
