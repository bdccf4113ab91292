"""The numbers of a page that its quality needs beside its text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageCounts:
    """The numbers that the parser counted on a page."""

    page_words: int = 0
    """Words that a reader of the page can see, with menus and footers."""
    hidden_words: int = 0
    """Words that no reader sees."""
    ads: int = 0
    """Elements of known networks of advertisers."""


NO_COUNTS = PageCounts()
