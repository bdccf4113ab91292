"""The texts of pages that are suggested: titles, headings, and the names in both; and who chose a page. Pure.

A name is a word or a few words in a row: `vacuum`, `foreign keys`. Sentences give none, since a few words of a sentence
are mostly no subject: `rust will`, `write this`.

Everything is bounded, since a page may be hostile: texts, names of a page, and the length of each.
"""

import re
from collections.abc import Iterable, Sequence

from streams.language.function_words import is_function_word
from streams.plain_text import clean_line
from streams.queries.suggestions.normal_form import normalize_query
from streams.statements.statement import PageStatements
from streams.stores.page_record import Fetched, PageRecord

MIN_CHARS, MAX_CHARS = 3, 60
"""Length of a suggested text (characters)."""
MAX_WORDS = 8
MAX_STATEMENTS = 200
"""Maximum statements of a page that are read."""
MAX_NAMES = 400
"""Maximum names of a page."""
NAME_WORDS = (1, 2, 3)
_SEPARATOR = re.compile(r" [|·»–—:-]{1,2} | \| ?|: ")
"""Characters between the title of a page and the name of its site."""
_WORD = re.compile(r"[^\W\d_][\w'’+#.-]{0,30}")
_PART = re.compile(r"[.,;:!?()\[\]{}\"“”«»/|<>=\n\t]+")
_NUMBER = re.compile(r"(?:\d{1,3}\.|[A-Z]\.(?=\d))[\d.]{0,20} ")
"""The number of a heading: `8.2.14. `, `A.1 `."""
_SIGNATURE = re.compile(r"[^\s(<\[={]+(?=[(<\[={]| [(<\[={])")
"""The name in a signature: `decode(object)`, `branch <name>`, `work_mem (integer)`."""
_READ_CHARS = 400


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
    texts = {text for part in parts if part[-1:] not in ".:;!," and (text := _fitting(part))}
    return {text for text in texts if _ends_well(text.split(), page.language)}


def name_texts(texts: Iterable[str], language: str) -> set[str]:
    """Return the names in the titles and headings of a page: one to three words in a row, none at their ends a function
    word of the language."""
    found: set[str] = set()
    for text in texts:
        for part in _PART.split(text):
            words = [word.strip(".-'’") for word in part.split()]
            for length in NAME_WORDS:
                for first in range(len(words) - length + 1):
                    if len(found) >= MAX_NAMES:
                        return found
                    name = words[first : first + length]
                    if all(map(_WORD.fullmatch, name)) and _begins_well(name, language) and _ends_well(name, language):
                        found.add(" ".join(name))
    return {name for name in found if MIN_CHARS <= len(name) <= MAX_CHARS}


def _begins_well(words: Sequence[str], language: str) -> bool:
    return not is_function_word(words[0], language.partition("-")[0])


def _ends_well(words: Sequence[str], language: str) -> bool:
    """Return False for a text that ends with a function word: something is missing."""
    return not is_function_word(words[-1], language.partition("-")[0])


def _fitting(text: str) -> str:
    line = clean_line(text[:_READ_CHARS])
    number = _NUMBER.match(line)
    text = line[number.end() :] if number else line
    name = _SIGNATURE.match(text)
    normal = normalize_query(name[0] if name else text).strip(" .:;,–—-|?")
    is_fitting = MIN_CHARS <= len(normal) <= MAX_CHARS and len(normal.split()) <= MAX_WORDS
    return normal if is_fitting and any(char.isalpha() for char in normal) else ""
