"""Lines that only name other texts, and sentences that have names, years and addresses, too."""

import pytest

from streams.statements.sentences.references import has_only_addresses, is_bibliographic, is_reference


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
    assert is_reference(text) is found


@pytest.mark.parametrize(
    ("found", "text"),
    [
        # Entries, and the parts that a splitter of sentences makes of them.
        (True, "[rope87] The long ropes of short ships. Second Edition."),
        (True, "[ROPE87b] “The long ropes”. J. Mast."),
        (True, "[HARBOUR] Knots and Ropes. Jane Mast."),
        (True, "[HARBOUR] Harbour - The Port of the North. https://harbour.example/en/ ."),
        (True, "J. Mast and A. B. Rope. ISBN 0-201-96426-0. Harbour Press. 1997."),
        (True, "ISBN 0-201-96426-0. https://harbour.example/book ."),
        (True, "Mast and van Rope, et al."),
        (False, "The book is at https://harbour.example/book ."),
        (True, "Conference on the Harbours of the North, June 1995."),
        (True, "M. Mast, L. A. Rope, and P. van der Sail."),
        (True, "Part 6: How a rope is made for a ship. First Edition. 2017."),
        (True, "Digest of Papers SHIPS Spring 1992. 1992. 383–388."),
        (True, "Mast, J., and Rope, A. (2023). How a knot holds a rope. Journal of Knots, 42(1), 1–35."),
        (True, "“How a rope is made”, Jane Mast and Allan Rope (8th Edition). Harbour Press."),
        (True, "Mast, Jane: The Long Ropes of Short Ships. ISBN 0-201-96426-0."),
        (True, "Ropes: A Study of Knots. Proc. of the Conference on Harbours, 1997."),
        (True, "A talk on how a rope is made. 1997."),
        (True, "Jane Mast, in a talk, “How a rope is made.” 1997. 4–11."),
        (True, "A. Mast, of the harbour, “How a rope is made” 1997. pp. 4–11."),
        # Sentences, labels and facts.
        (False, "J. Mast wrote the book of knots in 1987."),
        (False, "The rope was made in June 1995."),
        (False, "It was first seen on Aug. 17, 2000."),
        (False, "See pp. 4–11 of the book, which Harbour Press has printed."),
        (False, "[1] The rope holds ten tons."),
        (False, "[rope] holds ten tons."),
        (False, "[Harbour] The ferry is paid for at https://harbour.example/pay today."),
        (False, "Open the Rope Dialog."),
        (False, "Built: 2012-10-04 19:37:12 091570e46d04"),
        (False, "DEFAULT_ROPES=<0-3>"),
        (False, "Range: 1024–2048"),
        (False, "Harbour RGB (1998)"),
        (False, "Press Enter."),
        (False, "Director: J. J. Mast"),
        (False, "Address: No. 10 Harbour Street"),
        (False, "ISBN: 978-0-201-96426-0"),
        (False, "Directrice : J. J. Mast (1998)"),
        (False, "The harbour was founded c. 1540."),
        (False, "The harbour was founded by Mast et al. 1540."),
        (False, "The Harbour Office was incorporated in Sept. 1998."),
        (False, 'It won the prize "Best Rope" 2015.'),
        (False, "J. Mast won the prize “Best Rope” 2015."),
        (False, "Community Edition"),
        (False, "Availability: Linux, Unix, Windows."),
        (False, "THE KNOT MAY CHANGE."),
        (False, "渡船在中午离开港口。"),
        # Scripts without capitals: nothing shows that these are names.
        (False, "这本书的编号是 ISBN 978-7-100."),
        (False, "「この本」の番号は ISBN 978-4-00 です。"),
        (False, "이 책의 번호는 ISBN 978-89-100 이다."),
        (False, "رقم الكتاب هو ISBN 978-1-100."),
        (False, "מספר הספר הוא ISBN 978-965-100."),
        (False, "इस पुस्तक की संख्या ISBN 978-81-100 है।"),
        (True, "J. Mast. 2ª Edición. Núñez."),  # this mark is a small letter
        (False, "Harbour University Press. " * 30),  # no entry is so long
        (False, ""),
    ],
)
def test_is_bibliographic(found: bool, text: str) -> None:
    assert is_bibliographic(text) is found
    assert is_reference(text) is found
