"""Pages that answer a question with different values. Pure.

Only questions that ask for a time or a number have values that can be compared: `1.2 million` of one page and `1.4
million` of another one are shown side by side, and nobody decides for the reader. Only values of one kind are compared:
dates with dates, lengths with lengths, amounts with amounts in the same unit. So two pages that share the year in which
a tower was built still differ about its height.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from streams.answers.answer_form import form_of, has_form
from streams.answers.confidence import Judged
from streams.answers.quantities import MAX_CHARS, Quantity, quantities_of
from streams.language.months import ENGLISH_MONTHS
from streams.language.units import factor_of
from streams.pages.text.tokens import words

ROUNDING = Decimal("0.01")
"""Maximum difference of two values in different units, as a share of the greater one: `300 m` and `984 ft`."""
_DATE = re.compile(
    r"\b(?:(?P<iso>\d{4})-(?P<iso_month>0[1-9]|1[0-2])-(?P<iso_day>0[1-9]|[12]\d|3[01])"
    r"|(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?P<month>[A-Za-z]{3,9}),? (?P<year>\d{4})"
    r"|(?P<us_month>[A-Za-z]{3,9}) (?P<us_day>\d{1,2})(?:st|nd|rd|th)?,? (?P<us_year>\d{4})"
    r"|(?P<short_month>[A-Za-z]{3,9}),? (?P<short_year>\d{4})"
    r"|(?P<only>1\d{3}|2[01]\d{2}))(?![\d.,]?\d)"
)

Date = tuple[int, int, int]
"""Year, month and day; 0 for a part that is not stated."""


@dataclass(frozen=True, slots=True)
class Stated:
    """The values of a statement that the question doesn't have."""

    dates: frozenset[Date]
    amounts: Mapping[str, frozenset[tuple[Decimal, str]]]
    """Values with their units, by dimension: `[length]`, or the unit where it has none; empty for bare numbers."""

    def __bool__(self) -> bool:
        return bool(self.dates or self.amounts)


def stated_in(text: str, question: str) -> Stated:
    """Return the dates and amounts of a statement, without what the question has."""
    asked = {each.value for each in quantities_of(question)}
    given = quantities_of(text)
    found = [place for place in _DATE.finditer(text[:MAX_CHARS]) if not _has_amount(place, given)]
    amounts: dict[str, set[tuple[Decimal, str]]] = {}
    for each in given:
        is_of_date = any(place.start() <= each.start < place.end() for place in found)
        if not is_of_date and each.value not in asked:
            factor = factor_of(each.unit)
            amounts.setdefault(factor[0] if factor else each.unit, set()).add(each.key)
    dates = frozenset(date for date in map(_date_of, found) if Decimal(date[0]) not in asked)
    return Stated(dates, {kind: frozenset(values) for kind, values in amounts.items()})


def _has_amount(place: re.Match[str], given: Iterable[Quantity]) -> bool:
    """Return whether a number of the place has a unit, as in `1200 m`: then it is no year."""
    return any(each.unit not in ("", "#") and place.start() <= each.start < place.end() for each in given)


def is_same(one: Stated, other: Stated, form: str) -> bool | None:
    """Return whether two statements give the same value; None if they have no values of one kind.

    `form`: `time` or `number`, what the question asks for.
    """
    if form == "time" and one.dates and other.dates:
        return any(_agree(first, second) for first in one.dates for second in other.dates)
    amounts, further = _amounts_of(one), _amounts_of(other)
    common = amounts.keys() & further.keys()
    # A bare number says less than an amount with a unit.
    kinds = [kind for kind in common if kind] or list(common)
    if not kinds:
        return None
    return any(_is_close(first, second) for kind in kinds for first in amounts[kind] for second in further[kind])


def _amounts_of(stated: Stated) -> Mapping[str, frozenset[tuple[Decimal, str]]]:
    """Return the amounts. Where there are no others, what looks like a year may be one: `has 1500 members`."""
    return stated.amounts or {"": frozenset((Decimal(year), "") for year, *_ in stated.dates)}


def _agree(one: Date, other: Date) -> bool:
    """Return whether two dates may be the same day. A part that one of them lacks counts for nothing."""
    return all(a == b or not a or not b for a, b in zip(one, other, strict=True))


def _is_close(one: tuple[Decimal, str], other: tuple[Decimal, str]) -> bool:
    """Return whether two amounts of a kind are equal, or nearly equal in different units."""
    (value, unit), (further, further_unit) = one, other
    if unit == further_unit:
        return value == further
    factor, further_factor = factor_of(unit), factor_of(further_unit)
    if factor is None or further_factor is None:
        return False
    first, second = value * factor[1], further * further_factor[1]
    return abs(first - second) <= ROUNDING * max(abs(first), abs(second))


def _date_of(found: re.Match[str]) -> Date:
    if found["iso"]:
        return int(found["iso"]), int(found["iso_month"]), int(found["iso_day"])
    if found["only"]:
        return int(found["only"]), 0, 0
    prefix = next(prefix for prefix in ("", "us_", "short_") if found[f"{prefix}month"])
    month = ENGLISH_MONTHS.get(found[f"{prefix}month"].lower(), 0)
    day = int(found[f"{prefix}day"]) if month and prefix != "short_" else 0
    return int(found[f"{prefix}year"]), month, day  # the word before a year is often no month: `built 1889`


MAX_BEHIND = 2.0
"""Maximum distance of a statement's value below the best one's (logit) at which it is an answer, too."""
MAX_ANSWERS = 3
COMPARED_FORMS = ("time", "number")


def differ(question: str, texts: Sequence[str]) -> bool:
    """Return whether two texts, each of another page, give different values of the kind that the question asks for."""
    form = form_of(question)
    stated = [stated_in(text, question) for text in texts] if form in COMPARED_FORMS else []
    return any(is_same(one, other, form) is False for one, other in combinations(stated, 2))


def side_by_side(question: str, judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """Return the best statement, statements of other hosts with other values, and the number of equal ones."""
    best = judged[0]
    form, asked = form_of(question), frozenset(words(question))
    own = stated_in(best.evidence.text, question)
    if form not in COMPARED_FORMS or not own:
        return [best], 0
    shown, hosts, agreeing = [(best, own)], {best.evidence.host}, 0
    for each in judged[1:]:
        is_near = each.value >= best.value - MAX_BEHIND and each.evidence.host not in hosts
        if not is_near or not has_form(each.evidence.text, form, asked):
            continue
        values = stated_in(each.evidence.text, question)
        compared = [is_same(known, values, form) for _, known in shown]
        if all(same is None for same in compared):
            continue  # values of another kind say nothing about these
        hosts.add(each.evidence.host)
        if True in compared:
            agreeing += 1
        elif len(shown) < MAX_ANSWERS:
            shown.append((each, values))
    return [each for each, _ in shown], agreeing
