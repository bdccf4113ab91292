"""The texts of pages that are suggested: titles, headings, and phrases of sentences; and who chose a page. Pure.

Everything is bounded, since a page may be hostile: texts, phrases of a page, and the length of each.
"""

import re
from collections.abc import Iterator

from streams.plain_text import clean_line
from streams.queries.suggestions.normal_form import normalize_query
from streams.statements.statement import PageStatements
from streams.stores.page_record import Fetched, PageRecord

MIN_CHARS, MAX_CHARS = 3, 60
"""Length of a suggested text (characters)."""
MAX_WORDS = 8
MAX_STATEMENTS = 200
"""Maximum statements of a page that are read."""
MAX_PHRASES = 400
"""Maximum phrases of a page."""
PHRASE_WORDS = (2, 3, 4)
_SEPARATOR = re.compile(r" [|·»–—:-]{1,2} | \| ?|: ")
"""Characters between the title of a page and the name of its site."""
_WORD = re.compile(r"[^\W\d_][\w'’+#.-]{0,30}")
_PART = re.compile(r"[.,;:!?()\[\]{}\"“”«»/|<>=\n\t]+")
_READ_CHARS = 400
_MIN_END = 4
"""Minimum length of the first and last word of a phrase (letters): shorter ones are mostly articles or prepositions."""


def is_chosen(record: PageRecord) -> bool:
    """Return whether the operator chose the page: a seed, a page of a crawl that stays on its seeds' hosts, or a file.

    A page that links led to from host to host, or that an archive brought, is not chosen: anybody may have made it.
    """
    found = record.rows.get(Fetched.PART, {})
    if found.get("source") != "crawl":
        return found.get("source") == "html"
    return is_of_chosen_host(record) or found.get("depth") == 0


def is_of_chosen_host(record: PageRecord) -> bool:
    """Return whether the page is of a crawl that stays on its seeds' hosts, which chooses all pages of its host."""
    found = record.rows.get(Fetched.PART, {})
    return found.get("source") == "crawl" and bool(found.get("same_host"))


def title_text(title: str) -> str:
    """Return the part of a title that names the page, in its normal form; empty if it is too short or too long.

    It is the first part with two words or more. Otherwise it is the longest part: a single word is mostly the site.
    """
    parts = [part.strip() for part in _SEPARATOR.split(clean_line(title[:_READ_CHARS])) if part.strip()]
    naming = [part for part in parts if " " in part or "-" in part] or sorted(parts, key=len, reverse=True)
    return _fitting(naming[0]) if naming else ""


def heading_texts(page: PageStatements) -> set[str]:
    """Return the headings of a page, in their normal form. A lead-in, which ends with a colon or a dot, is none."""
    parts = {part for each in page.statements[:MAX_STATEMENTS] for part in each.context}
    return {text for part in parts if part[-1:] not in ".:;?!," and (text := _fitting(part))}


def phrase_texts(page: PageStatements) -> set[str]:
    """Return the phrases of the sentences of a page: two to four words in a row, in their normal form."""
    found: set[str] = set()
    for statement in page.statements[:MAX_STATEMENTS]:
        if statement.kind == "code" or statement.doubtful:
            continue
        for part in _PART.split(statement.text[:2_000]):
            for phrase in _phrases(_words(part)):
                if len(found) >= MAX_PHRASES:
                    return found
                found.add(phrase)
    return found


def _words(part: str) -> list[str]:
    return [normalize_query(word.strip(".-'’")) for word in part.split()]


def _phrases(words: list[str]) -> Iterator[str]:
    for first, word in enumerate(words):
        if not _is_end(word):
            continue
        for length in PHRASE_WORDS:
            phrase = words[first : first + length]
            if len(phrase) == length and _is_end(phrase[-1]) and all(_WORD.fullmatch(each) for each in phrase):
                text = " ".join(phrase)
                if len(text) <= MAX_CHARS:
                    yield text


def _is_end(word: str) -> bool:
    """Return True if a phrase may begin or end with the word. In scripts with few letters a word, any may."""
    return len(word) >= _MIN_END or not word.isascii()


def _fitting(text: str) -> str:
    line = clean_line(text[:_READ_CHARS]).strip(" .:;,–—-|")
    normal = normalize_query(line)
    is_fitting = MIN_CHARS <= len(normal) <= MAX_CHARS and len(normal.split()) <= MAX_WORDS
    return normal if is_fitting and any(char.isalpha() for char in normal) else ""
