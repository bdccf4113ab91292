"""The numbers of a workbook as people read them: dates, times, shares, and decimals without rounding errors. Pure.

ISO/IEC 29500-1, 18.8.30 and 18.8.31, defines the formats.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from streams.pages.formats.office.package import child, is_on
from streams.pages.formats.zipped import attribute, local_name, number

_DATES = frozenset({*range(14, 18), 22, *range(27, 32), 34, 35, 36, *range(50, 59)})
_TIMES = frozenset({18, 19, 20, 21, 32, 33, 45, 46, 47})
_SHARES = frozenset({9, 10})
_QUOTED = re.compile(r'"[^"]{0,100}"|\\.|_.|\*.|\[[^\]]{0,100}\]')
"""The text that a format shows as it is, and its conditions, colours and currencies."""
_ELAPSED = re.compile(r"\[(?:h{1,4}|m{1,4}|s{1,4})\]")
"""Hours, minutes or seconds that go on beyond a day."""
_MAX_DAYS = 2_958_465
"""31 December 9999."""
_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Value:
    """A cell as it is shown."""

    text: str
    is_bold: bool = False


class NumberFormats:
    """The formats of a workbook's cells, by the number of their style."""

    def __init__(self, styles: Any, *, begins_1904: bool) -> None:
        """`begins_1904`: day 0 is 1 January 1904, as in old workbooks of the Mac."""
        self._day_0 = datetime(1904, 1, 1) if begins_1904 else datetime(1899, 12, 30)
        codes = child(styles, "numFmts")
        named = {
            number(node, "numFmtId"): attribute(node, "formatCode") for node in (codes if codes is not None else ())
        }
        fonts = child(styles, "fonts")
        bold = [is_on(node, "b") for node in (fonts if fonts is not None else ())]
        cells = child(styles, "cellXfs")
        formats = [node for node in (cells if cells is not None else ()) if local_name(node) == "xf"]
        self._kinds = [_kind(number(node, "numFmtId"), named) for node in formats]
        self._bold = [at < len(bold) and bold[at] for at in (number(node, "fontId") for node in formats)]

    def is_bold(self, style: int) -> bool:
        return style < len(self._bold) and self._bold[style]

    def show(self, text: str, style: int) -> str:
        """Return a number as text: `45292` with the format of a date is `2024-01-01`."""
        try:
            value = float(text)
        except ValueError:
            return text.strip()
        kind = self._kinds[style] if style < len(self._kinds) else ""
        if kind == "share" and abs(value) < 1e12:
            return f"{value * 100:.10g} %"
        if kind in ("date", "time") and 0 <= value <= _MAX_DAYS:
            return self._moment(value, has_day=kind == "date")
        return f"{value:.15g}" if abs(value) < 1e15 else text.strip()

    def _moment(self, value: float, *, has_day: bool) -> str:
        seconds = round(value % 1 * _SECONDS)
        days, seconds = (int(value) + seconds // _SECONDS, seconds % _SECONDS)
        if not has_day:
            hours = days * 24 + seconds // 3_600
            return f"{hours}:{seconds // 60 % 60:02}" + (f":{seconds % 60:02}" if seconds % 60 else "")
        day = (self._day_0 + timedelta(days=min(days, _MAX_DAYS - 1_500))).strftime("%Y-%m-%d")
        return day + (f" {seconds // 3_600:02}:{seconds // 60 % 60:02}" if seconds else "")


def _kind(format_id: int, named: dict[int, str]) -> str:
    """Return `date`, `time`, `share`, or nothing for a plain number."""
    if format_id not in named:
        return (
            "date"
            if format_id in _DATES
            else "time"
            if format_id in _TIMES
            else "share"
            if format_id in _SHARES
            else ""
        )
    stated = named[format_id].partition(";")[0].lower()
    if _ELAPSED.search(stated):
        return "time"
    code = _QUOTED.sub("", stated)
    if "general" in code:
        return ""
    if "y" in code or "d" in code:
        return "date"
    if "h" in code or "s" in code:
        return "time"
    # Without hours and seconds, `m` is the month.
    return "date" if "m" in code else "share" if "%" in code else ""
