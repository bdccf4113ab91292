"""The table of first results: the first statement of each query, and the place of its first right page."""

from benchmarks.search.first_results import Shown, rows


def test_the_table_has_a_row_for_each_query_and_the_shares() -> None:
    found = [
        Shown("ferries", 1, "/ropes.html", "and a | b", "no_start", False),
        Shown("ferries", 2, "/ferries.html", "The ferry leaves at noon.", "", True),
        Shown("masts", 1, "/masts.html", "A mast is long. " * 9, "", False),
    ]
    _, _, ferries, masts, _, shares = rows(found)
    assert ferries == "| ferries | `ropes.html` | and a \\| b | no_start | place 2 |"
    assert masts.startswith("| masts | `masts.html` | A mast is long. ")
    assert masts.endswith("… | yes | no |")
    assert shares == "2 of 3 first statements read alone; 1 of 2 have a right page."
