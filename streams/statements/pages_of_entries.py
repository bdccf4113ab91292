"""The pages that hold little but entries: the index of a book, the map of a site, a list of all commands. Pure.

A reader wants the page to which such an entry leads. A table of contents has numbered lines, and is the first page of
its book or chapter: it is no page of entries.
"""

from collections.abc import Sequence

from streams.statements.sentences.reading_alone import is_entry, is_line_of_contents
from streams.statements.statement import Statement

MIN_ENTRIES = 60
"""Minimum number of entries of such a page. Of 1,100 pages of manuals, other pages had up to 26, these from 92 on."""
MIN_SHARE = 0.75
"""Minimum share of entries among the statements of such a page. The pages of entries had .85 to .95."""


def entries_of_page(statements: Sequence[Statement]) -> frozenset[int]:
    """Return the ordinals of the entries if the page holds little else; else an empty set."""
    entries = frozenset(one.ordinal for one in statements if _is_entry(one))
    return entries if len(entries) >= max(MIN_ENTRIES, MIN_SHARE * len(statements)) else frozenset()


def _is_entry(statement: Statement) -> bool:
    text, kind = statement.text, statement.kind
    return is_entry(text, kind, statement.context) and not is_line_of_contents(text, kind)
