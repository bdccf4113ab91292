"""Choices of a form as operators of a query: a choice replaces the operators of the same kind. Pure.

So each choice is seen in the query, can be changed there, and needs no parameter of its own.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from streams.plain_text import read_date
from streams.search.query_language.operator_values import read_extension, read_page_type, read_wish
from streams.search.query_language.query import find_operators

WITHIN_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""The times of publication that can be chosen, with their days. A page of today is in all of them."""
ANY = "any"
_CHOSEN = ("after", "before", "pagetype", "filetype", "prefer")
"""The operators that the form's choices replace."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a form, as they were sent: not checked."""

    published: str = ""
    """`day`, `week`, `month` or `year`; anything else: the dates count."""
    after: str = ""
    before: str = ""
    filetype: str = ""
    pagetype: str = ""
    wishes: Mapping[str, int] = field(default_factory=dict)
    """The steps of each wish, from 0 to 3."""


def apply_choices(query: str, choices: Choices, today: date) -> str:
    """Return the query with the choices as operators. A value that can't be read is left out."""
    after, before = read_date(choices.after), read_date(choices.before)
    if days := WITHIN_DAYS.get(choices.published):
        after, before = (today - timedelta(days)).isoformat(), ""
    extension = "" if choices.filetype == ANY else read_extension(choices.filetype)
    page_type = "" if choices.pagetype == ANY else read_page_type(choices.pagetype)
    chosen = {"after": after, "before": before, "pagetype": page_type, "filetype": extension}
    added = [f"{name}:{value}" for name, value in chosen.items() if value]
    wishes = (read_wish(f"{name}{steps}") for name, steps in choices.wishes.items() if steps)
    added += [f"prefer:{wish.replace(':', '')}" for wish in wishes if wish]
    return " ".join([remove_operators(query, _CHOSEN), *added]).strip()


def remove_operators(query: str, names: Collection[str]) -> str:
    """Return the query without the operators of these names."""
    while found := next((each for each in find_operators(query) if each.operator.name in names), None):
        query = found.query_without
    return query
