"""The operators of the query's language: one row for each. Pure.

From this table follow the parsing of a query (`query.py`), the results that meet its conditions, the filters of the
index, and the generated table in docs/reference/retrieval.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from streams.plain_text import message, read_date
from streams.search.query_language.matching import (
    CheckedPage,
    has_all_in_one,
    has_in_url,
    has_phrase,
    keep_searchable,
    of_site,
    read_extension,
    read_language,
    read_page_type,
    read_site,
    read_wish,
    read_words,
)
from streams.stores.protocols import Filters, PageHits
from streams.stores.statement_payload import day_of, extension_of

Conditions = Mapping[str, tuple[str, ...]]
"""The conditions of a query: the values of each of its operators, by the operator's name."""
Values = Sequence[str]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. A result must meet the conditions of all operators of a query."""

    name: str
    """The name in `Conditions`. With a minus before it: the condition excludes results."""
    spellings: tuple[str, ...]
    """The words before the colon, in lower case. Quoted phrases and excluded words have none."""
    read: Callable[[str], str]
    """The reader of a value: it returns the value as pages have it, or an empty string if the value can't be read. Then
    the value is text."""
    is_met: Callable[[CheckedPage, Values], bool]
    """The check: True if a page of results meets the condition."""
    examples: str
    """Examples of its use, in Markdown."""
    meaning: str
    """Its effect on the results, in Markdown."""
    has_words: bool = False
    """True if pages have the value as it was typed: then no result is judged as nonsense."""
    narrow: Callable[[Filters, Values], Filters] | None = None
    """A function that adds the condition to the filters of the index. None: only results are checked."""


def _date_is_met(holds: Callable[[str, str], bool]) -> Callable[[CheckedPage, Values], bool]:
    """Return a check that compares the beginning of a page's date with the last value. A page without a date fails."""
    return lambda page, dates: bool(page.published) and holds(page.published[: len(dates[-1])], dates[-1])


def _as_web_page(extension: str) -> str:
    """Return the extension as the index has it: all forms of web pages are `html`."""
    return extension_of(f"https://host/file.{extension}")


PHRASE = Operator(
    name="phrase",
    spellings=(),
    read=read_words,
    is_met=lambda page, phrases: has_all_in_one(page.texts, phrases),
    examples='`"write-ahead log"`, `“write-ahead log”`',
    meaning=message("only pages with exactly these words in a row, in one statement, its context or the title"),
    has_words=True,
    narrow=lambda filters, phrases: replace(filters, phrases=keep_searchable(phrases)),
)
EXCLUDED = Operator(
    name="-phrase",
    spellings=(),
    read=read_words,
    is_met=lambda page, words: not any(has_phrase(text, word) for text in page.texts for word in words),
    examples='`-word`, `-"two words"`',
    meaning=message("only pages whose found statements don't have it"),
    # Not narrowed: without the statements that have the word, other statements of the same page would be found.
)
SITE = Operator(
    name="site",
    spellings=("site",),
    read=read_site,
    is_met=lambda page, sites: any(of_site(page.url, site) for site in sites),
    examples="`site:example.org`, `site:example.org/docs`, `site:bücher.example`",
    meaning=message("only this host and its subdomains (below this path); several: any of them"),
    # The index has hosts only: the path is checked on the results.
    narrow=lambda filters, sites: replace(filters, sites=tuple(site.partition("/")[0] for site in sites)),
)
OPERATORS: tuple[Operator, ...] = (
    PHRASE,
    EXCLUDED,
    SITE,
    Operator(
        name="-site",
        spellings=("-site",),
        read=read_site,
        is_met=lambda page, sites: not any(of_site(page.url, site) for site in sites),
        examples="`-site:example.org`",
        meaning=message("not this host, nor its subdomains"),
        narrow=lambda filters, sites: replace(filters, exclude_sites=tuple(site for site in sites if "/" not in site)),
    ),
    Operator(
        name="lang",
        spellings=("lang", "language"),
        read=read_language,
        is_met=lambda page, languages: True,  # the filter `language` checks the results, and counts them
        examples="`lang:de`, `language:de`",
        meaning=message("only this language (`und`: not known)"),
        narrow=lambda filters, languages: replace(filters, languages=tuple(languages)),
    ),
    Operator(
        name="filetype",
        spellings=("filetype", "ext"),
        read=read_extension,
        is_met=lambda page, extensions: page.file_type in map(_as_web_page, extensions),
        examples="`filetype:pdf`, `ext:pdf`",
        meaning=message("the type of the file, else the extension in the URL; `html` includes URLs without one"),
        narrow=lambda filters, values: replace(filters, extensions=tuple(map(_as_web_page, values))),
    ),
    Operator(
        name="pagetype",
        spellings=("pagetype",),
        read=read_page_type,
        is_met=lambda page, types: page.page_type.lower() in types,
        examples="`pagetype:recipe`, `pagetype:article`",
        meaning=message("only pages that state this type (schema.org's name); several: any of them"),
        narrow=lambda filters, types: replace(filters, page_types=tuple(types)),
    ),
    Operator(
        name="after",
        spellings=("after",),
        read=read_date,
        is_met=_date_is_met(lambda published, date: published >= date),
        examples="`after:2024-05`",
        meaning=message("published then or later. Pages without a date are left out"),
        narrow=lambda filters, dates: replace(filters, from_day=day_of(dates[-1])),
    ),
    Operator(
        name="before",
        spellings=("before",),
        read=read_date,
        is_met=_date_is_met(lambda published, date: published < date),
        examples="`before:2025`",
        meaning=message("published before it. Pages without a date are left out"),
        narrow=lambda filters, dates: replace(filters, before_day=day_of(dates[-1])),
    ),
    Operator(
        name="prefer",
        spellings=("prefer",),
        read=read_wish,
        is_met=lambda page, wishes: True,  # the pass `wishes` moves pages, and leaves none out
        examples="`prefer:recent`, `prefer:recent3`",
        meaning=message("more recent pages come first; 1 to 3 says how much (2)"),
    ),
    Operator(
        name="intitle",
        spellings=("intitle",),
        read=read_words,
        is_met=lambda page, words: all(has_phrase(page.title, word) for word in words),
        examples='`intitle:word`, `intitle:"two words"`',
        meaning=message("the title has it"),
        has_words=True,
        narrow=lambda filters, words: replace(filters, title_phrases=keep_searchable(words)),
    ),
    Operator(
        name="inurl",
        spellings=("inurl",),
        read=read_words,
        is_met=lambda page, parts: all(has_in_url(page.url, part) for part in parts),
        examples="`inurl:text`",
        meaning=message("the URL has it"),
        has_words=True,
    ),
)
OPERATOR_OF: dict[str, Operator] = {spelling: operator for operator in OPERATORS for spelling in operator.spellings}


def meets(page: PageHits, conditions: Conditions) -> bool:
    """Return True if the page meets all conditions."""
    checked = CheckedPage(page)
    # The words of the statements, first in the table, take the most time, so they are checked last.
    return all(
        operator.is_met(checked, conditions[operator.name])
        for operator in reversed(OPERATORS)
        if operator.name in conditions
    )


def narrow(filters: Filters, conditions: Conditions) -> Filters:
    """Return the filters with the conditions that the index checks before it cuts its lists."""
    for operator in OPERATORS:
        if operator.narrow and operator.name in conditions:
            filters = operator.narrow(filters, conditions[operator.name])
    return filters
