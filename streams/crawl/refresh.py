"""The value of a refresh, as browsers read it from the header `Refresh` and from `<meta http-equiv=refresh>`. Pure.

Source: the HTML Standard, "shared declarative refresh steps".
"""

import re

MAX_REDIRECT_SECONDS = 10
"""Maximum time until a refresh that is a redirect (seconds). A page that waits longer is meant to be read."""
_TIME = re.compile(r"\s*+(?:(\d++)[\d.]*+|\.[\d.]*+)(?:\s*+[;,]\s*+|\s++|\Z)", re.ASCII)
_URL_NAME = re.compile(r"url\s*+=\s*+", re.IGNORECASE)


def read_refresh(content: str) -> tuple[int, str] | None:
    """Return the seconds and the address of a refresh; None if it names no address."""
    found = _TIME.match(content)
    if found is None:
        return None
    rest = content[found.end() :].strip()
    if name := _URL_NAME.match(rest):
        rest = rest[name.end() :]
    if rest[:1] in ("'", '"'):
        rest = rest[1:].partition(rest[0])[0]
    return (int((found[1] or "0")[:9]), rest.strip()) if rest.strip() else None
