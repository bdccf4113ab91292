"""Time zones by the names of cities, from the time-zone database. Pure, apart from reading that database once."""

import zoneinfo
from functools import cache

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
