"""The languages of the pages: which one a reader gets, its messages, and its forms of dates and numbers.

The messages of a language are a gettext catalogue in its source form, `streams/gateway/messages/TAG.po`. A process
reads it before its first page in this language, and there is no other form of it. The templates are in English.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton, format_time, format_timedelta
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, format_decimal, format_percent
from babel.support import NullTranslations, Translations
from babel.units import format_unit
from markupsafe import Markup

from streams.pages.text.language import read_accepted
from streams.plain_text import Amount, DateText, LanguageTag, Message, message

ENGLISH = "en"
FOLDER = Path(__file__).parents[1] / "messages"
_JUST_NOW = message("just now")
_MAX_KEPT = 2_048
"""Maximum number of headers, dates and languages whose form is in memory: strangers send any."""
_SKELETONS = {4: "y", 7: "yMMMM"}
"""The parts of a date that is not whole, by the length of its ISO form (CLDR, skeletons of dates)."""
_POWER_OF_TEN, _EXPONENT = "0." + "#" * 12 + "E0", re.compile(r"E(-?[0-9]+)")
"""CLDR's pattern of numbers with a power of ten, and the power that it writes."""
_MINUS = re.compile(r"(?<![^\s^])-(?=[0-9])")
_LENGTHS: tuple[Literal["long", "short", "narrow"], ...] = ("long", "short", "narrow")
"""Lengths of the names of units. Not every language has all of them."""
_UNITS = ((3_600, "duration-hour"), (60, "duration-minute"), (1, "duration-second"))


@cache
def languages() -> dict[str, str]:
    """Return the tag of each language of the pages by its first subtag: `zh` has `zh-Hans`."""
    tags = (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))
    return {tag.partition("-")[0]: tag for tag in tags}


def named_languages() -> list[tuple[str, str]]:
    """Return each language of the pages with its name in itself."""
    return [(tag, str(Locale.parse(tag, sep="-").get_display_name() or tag)) for tag in sorted(languages().values())]


@lru_cache(maxsize=_MAX_KEPT)
def negotiate(accepted: str) -> str:
    """Return the language of the pages that `Accept-Language` wants most (RFC 9110, 12.5.4); English if it has none.

    A range is cut to its first subtag (RFC 4647, 3.4): readers of `pt-BR` read `pt`.
    """
    wanted = (languages().get(language) for language in read_accepted(accepted))
    return next(filter(None, wanted), ENGLISH)


class Wording:
    """The words of one language: its messages, and its forms of dates, numbers and names."""

    def __init__(self, tag: str) -> None:
        """`tag`: one of the values of `languages()`."""
        self.tag = tag
        # A date in English is as in the rest of the code: 1 May 2024.
        self.locale = Locale("en", "GB") if tag == ENGLISH else Locale.parse(tag, sep="-")
        self.direction = str(self.locale.text_direction)
        self._messages = _catalogue(tag)
        for name in ("date", "language_name", "number"):  # CLDR's patterns are slow, and pages have the same values
            setattr(self, name, lru_cache(maxsize=_MAX_KEPT)(getattr(self, name)))

    @classmethod
    @cache
    def of(cls, tag: str) -> "Wording":
        """Return the words of this language, which a process reads once."""
        return cls(tag)

    def translate(self, message: str) -> str:
        """Return the message in this language, as a pattern."""
        return str(self._messages.gettext(message))

    def gettext(self, message: str, **values: Any) -> str:
        """Return a message with its values. It is text, never markup."""
        text = self.translate(message)
        return text % self._shown(values)

    def ngettext(self, one: str, many: str, number: int, **values: Any) -> Markup:
        """Return a message in the form for this number, with its values. The message is markup, the values are not."""
        pattern = str(self._messages.ngettext(one, many, number))
        return Markup(pattern) % self._shown({"num": number, **values})  # noqa: S704  # of the templates

    def say(self, text: str) -> str:
        """Return a sentence that the code made: a `Message` with its values, or one without values by its text."""
        if not isinstance(text, Message):
            return self.translate(text) if text else ""
        found = (
            self._messages.gettext(text.pattern)
            if text.number is None
            else self._messages.ngettext(text.pattern, text.plural, text.number)
        )
        return str(found) % self._shown(text.values)

    def _shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(value) for name, value in values.items()}

    def _value(self, value: Any) -> Any:
        match value:
            case Message():
                return self.say(value)
            case bool():
                return value
            case int():
                return self.number(value)
            case DateText():
                return self._date_in_words(value)
            case LanguageTag():
                return self.language_name(value)
            case Amount():
                return self._amount_in_words(value)
        return value

    def number(self, value: float, pattern: str | None = None) -> str:
        """Return a number: `1,234`. `pattern` as in CLDR, such as `0.00`."""
        return str(format_decimal(value, pattern, locale=self.locale))

    def percent(self, share: float) -> str:
        """Return a share from 0 to 1 in percent."""
        return str(format_percent(share, locale=self.locale))

    def date(self, text: str) -> str:
        """Return an ISO date, or its beginning: `1 May 2024`, `May 2024`, `2024`."""
        whole = date.fromisoformat(f"{text}-01-01"[:10]) if len(text) < 10 else date.fromisoformat(text)
        if len(text) == 10:
            return str(format_date(whole, "long", locale=self.locale))
        return str(format_skeleton(_SKELETONS[len(text)], whole, locale=self.locale))

    def stated_date(self, iso: str, text: str) -> str:
        """Return a date in this language; its own text where that says more, such as a calendar or an era."""
        if self.tag == ENGLISH or "(" in text:
            return text
        try:
            return self.date(iso)
        except ValueError:
            return text

    def _date_in_words(self, value: DateText) -> str:
        if value.form == "date":
            return self.date(value.iso)
        day = date.fromisoformat(value.iso)
        if self.tag == ENGLISH:
            return str(value)
        return str(format_date(day, "EEEE" if value.form == "weekday" else "full", locale=self.locale))

    def _amount_in_words(self, value: Amount) -> str:
        """Return a number with its unit, in the plural that the language has for the number."""
        if self.tag == ENGLISH:
            return str(value)
        places = max(0, -int(value.number.as_tuple().exponent))
        pattern = _POWER_OF_TEN if value.is_scientific else f"#,##0.{'#' * places}"
        if value.unit:
            lengths = _LENGTHS[1:] if value.symbol else _LENGTHS
            forms = (format_unit(value.number, value.unit, each, pattern, self.locale) for each in lengths)
            # Without a form of this length, Babel writes CLDR's name of the unit.
            shown = next((form for form in forms if not form.endswith(value.unit)), str(value))
        else:
            shown = f"{format_decimal(value.number, pattern, self.locale)} {value.symbol}".rstrip()
        return _MINUS.sub("−", _EXPONENT.sub(r" × 10^\1", shown))

    def moment(self, at: Any) -> str:
        """Return a date with its time of day, to the second."""
        day = format_skeleton("yMMMd", at, locale=self.locale)
        return f"{day}, {format_time(at, 'HH:mm:ss', locale=self.locale)}"

    def age(self, seconds: float) -> str:
        """Return an age in its largest unit: `3 hours ago`. CLDR has the words."""
        if seconds < 60:
            return self.say(_JUST_NOW)
        return str(
            format_timedelta(-int(seconds), granularity="minute", threshold=1, add_direction=True, locale=self.locale)
        )

    def price(self, amount: float, currency: str) -> str:
        return str(format_currency(amount, currency, locale=self.locale))

    def duration(self, seconds: int) -> str:
        """Return a duration in its two largest units."""
        parts: list[str] = []
        for length, unit in _UNITS:
            number, seconds = divmod(seconds, length)
            if number and len(parts) < 2:
                parts.append(str(format_unit(number, unit, "short", locale=self.locale)))
        return " ".join(parts)

    def one_of(self, names: Iterable[str]) -> Markup:
        """Return names in bold, with commas and `or`."""
        bold = [str(Markup('<strong dir="auto">{}</strong>').format(name)) for name in names]
        return Markup(format_list(bold, "or", locale=self.locale))  # noqa: S704  # the names are escaped

    def language_name(self, tag: str) -> str:
        """Return the name of a language; the tag itself if it has no name."""
        try:
            return Locale.parse(tag, sep="-").get_display_name(self.locale) or tag
        except (ValueError, UnknownLocaleError):
            return tag


def _catalogue(tag: str) -> NullTranslations:
    path = FOLDER / f"{tag}.po"
    if tag == ENGLISH:
        return NullTranslations()
    compiled = BytesIO()
    with path.open("rb") as source:
        write_mo(compiled, read_po(source, locale=tag.replace("-", "_")))
    compiled.seek(0)
    return Translations(compiled)
