"""Times in other places, for queries such as `time in Tokyo` and `3pm London in New York`. Pure: the clock is given.

The time-zone database, which is read once, has the names of cities.
"""

import re
import zoneinfo
from datetime import datetime, timedelta
from functools import cache

from streams.plain_text import DateText, message
from streams.queries.quick.model import QuickCheck

_REGIONS = (
    *("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"),
    "Arctic",
)
_FURTHER = {
    "utc": "UTC", "gmt": "UTC",
    "beijing": "Asia/Shanghai", "bangalore": "Asia/Kolkata", "barcelona": "Europe/Madrid", "boston": "America/New_York",
    "cape town": "Africa/Johannesburg", "dallas": "America/Chicago", "delhi": "Asia/Kolkata",
    "edinburgh": "Europe/London", "frankfurt": "Europe/Berlin", "geneva": "Europe/Zurich", "hamburg": "Europe/Berlin",
    "hanoi": "Asia/Bangkok", "houston": "America/Chicago", "kyoto": "Asia/Tokyo", "las vegas": "America/Los_Angeles",
    "manchester": "Europe/London", "miami": "America/New_York", "milan": "Europe/Rome", "montreal": "America/Toronto",
    "mumbai": "Asia/Kolkata", "munich": "Europe/Berlin", "new delhi": "Asia/Kolkata", "osaka": "Asia/Tokyo",
    "philadelphia": "America/New_York", "rio de janeiro": "America/Sao_Paulo", "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles", "washington": "America/New_York", "kyiv": "Europe/Kiev",
}  # fmt: skip
"""Large cities that share the zone of another one, and zones without a city."""


@cache
def zones() -> dict[str, str]:
    """Return the names of all time zones, by the cities that give the zones their names, in lower case."""
    cities = {}
    for name in sorted(zoneinfo.available_timezones()):
        region, _, city = name.partition("/")
        if city and region in _REGIONS:
            cities[city.rpartition("/")[2].replace("_", " ").lower()] = name
    return cities | _FURTHER


def find_zone(place: str) -> tuple[str, zoneinfo.ZoneInfo] | None:
    """Return the name of the place for people, and its time zone; None if the place is not known."""
    key = " ".join(place.lower().replace(",", " ").split())
    if not (name := zones().get(key)):
        return None
    return key.upper() if key in ("utc", "gmt") else key.title().replace(" De ", " de "), zoneinfo.ZoneInfo(name)


MAX_CHARS = 100

_PLACE = r"[^\W\d_][\w ,.'-]{1,40}?"
_NOW = re.compile(
    r"(?:what(?:'s| is)(?: the)? |what |current |local )?time(?: is it)?(?: now)? "
    rf"(?:in|at) (?P<place>{_PLACE})(?: now)?\s*\??",
    re.IGNORECASE,
)
_CLOCK = r"(?P<hour>[0-9]{1,2})(?:[:.](?P<minute>[0-9]{2}))? ?(?P<half>[ap]\.?m\.?)?"
_OTHER = re.compile(
    rf"(?:what(?:'s| is) )?{_CLOCK}(?: in)? (?P<place>{_PLACE})(?: time)? "
    rf"(?:in|to) (?P<wanted>{_PLACE})(?: time)?\s*\??",
    re.IGNORECASE,
)


def find_time(text: str, now: datetime) -> QuickCheck | None:
    """Return the time that the text asks for, else None. `now` has its time zone."""
    if len(text) > MAX_CHARS:
        return None
    if match := _NOW.fullmatch(text):
        return _time_now(match["place"], now)
    if match := _OTHER.fullmatch(text):
        return _time_elsewhere(match, now)
    return None


def _time_now(place: str, now: datetime) -> QuickCheck | None:
    if (found := find_zone(place)) is None:
        return None
    name, zone = found
    there = now.astimezone(zone)
    return QuickCheck(
        kind="time",
        asked=message("Time in %(place)s", place=name),
        answer=message("%(time)s, %(day)s", time=f"{there:%H:%M}", day=_day(there)),
        value=there.isoformat(timespec="minutes"),
        note=_offset(there),
    )


def _time_elsewhere(match: re.Match[str], now: datetime) -> QuickCheck | None:
    """Return a time of day at one place as the time at another place, today."""
    first, second = find_zone(match["place"]), find_zone(match["wanted"])
    clock = _read_clock(match)
    if first is None or second is None or clock is None:
        return None
    (place, zone), (wanted, other) = first, second
    here = now.astimezone(zone).replace(hour=clock[0], minute=clock[1], second=0, microsecond=0)
    there = here.astimezone(other)
    days = (there.date() - here.date()).days
    found = {"time": f"{there:%H:%M}", "place": wanted}
    answer = message("%(time)s in %(place)s", **found)
    if days:
        answer = (
            message("%(time)s in %(place)s, the next day", **found)
            if days > 0
            else message("%(time)s in %(place)s, the day before", **found)
        )
    return QuickCheck(
        kind="time",
        asked=message("%(time)s in %(place)s", time=f"{here:%H:%M}", place=place),
        answer=answer,
        value=there.isoformat(timespec="minutes"),
        note=message("On %(day)s in %(place)s.", day=_day(here), place=place),
    )


def _read_clock(match: re.Match[str]) -> tuple[int, int] | None:
    """Return hour and minute; None if they are no time of day, or if a bare number may be something else."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "").lower().replace(".", "")
    if not half and match["minute"] is None:
        return None
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _day(time: datetime) -> DateText:
    return DateText(f"{time:%A}, {time.day} {time:%B %Y}", time.date().isoformat(), "with weekday")


def _offset(time: datetime) -> str:
    minutes = (time.utcoffset() or timedelta()) // timedelta(minutes=1)
    sign = "−" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60}:{abs(minutes) % 60:02}"
