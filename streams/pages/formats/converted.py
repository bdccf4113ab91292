"""A converted file: HTML that is all content, and the facts that the file states about itself."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from urllib.parse import unquote

MAX_CHARS = 4_000_000
"""Maximum length of the text that is read of a file (characters)."""
PAGE_ATTRIBUTE = "data-riffle-page"
"""Attribute of the element around a page: the number of the page, from 1."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]+")
_DATE = re.compile(r"(\d{4})-?(\d\d)?-?(\d\d)?")


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as HTML, without boilerplate. Empty facts are not stated."""

    html: str
    title: str = ""
    author: str = ""
    published: str = ""
    """ISO date."""
    modified: str = ""
    """ISO date."""
    language: str = ""
    """As the file states it."""
    description: str = ""
    links: tuple[str, ...] = field(default=())
    """Addresses that are in no text."""


def clean(text: str) -> str:
    """Return a text without control characters."""
    return _CONTROLS.sub("", text)


def element(tag: str, text: str) -> str:
    """Return an element with this text."""
    return f"<{tag}>{escape(clean(text), quote=False)}</{tag}>"


def page(number: int, blocks: Iterable[str]) -> str:
    """Return the blocks of a page, in an element that has its number."""
    return f'<section {PAGE_ATTRIBUTE}="{number}">' + "\n".join(blocks) + "</section>"


def iso_date(text: str) -> str:
    """Return the date at the start of a text as ISO date; empty if there is none."""
    found = _DATE.match(text.strip().removeprefix("D:"))
    if not found or not "1900" <= found[1] <= "2200":
        return ""
    month, day = found[2] or "", found[3] or ""
    if not month or not "01" <= month <= "12":
        return found[1]
    return f"{found[1]}-{month}-{day}" if "01" <= day <= "31" else f"{found[1]}-{month}"


def title_of_url(url: str) -> str:
    """Return the name of the URL's file without its extension: `.../user_guide.pdf` -> `user guide`."""
    name = unquote(url.partition("#")[0].partition("?")[0].rstrip("/").rpartition("/")[2])
    stem = name.rpartition(".")[0] or name
    return " ".join(clean(stem).replace("_", " ").split())
