"""Reads /.well-known/tdmrep.json: which paths of a host are reserved from text and data mining. Pure, and bounded.

The format is of the TDM Reservation Protocol (W3C community group): a list of objects with `location` (a pattern as in
robots.txt), `tdm-reservation` (1 or 0) and `tdm-policy`. The longest pattern that matches decides; of two as long, the
reservation does not hold, as with `Allow` in robots.txt.
"""

import json
from typing import Any

from streams.crawl.robots_patterns import PatternSet, Rule, escape_pattern

MAX_BYTES = 64 * 1024
"""Maximum size of a file that is read (bytes). A longer one counts as if there were none."""
MAX_RULES = 1_000
RIGHTS_PATH = "/.well-known/tdmrep.json"


class Rights:
    """The reservations of one host."""

    def __init__(self, rules: list[Rule]) -> None:
        self._patterns = PatternSet(rules)

    def reserves(self, path: str) -> bool:
        """Return whether a path with its query is reserved from text and data mining."""
        return not self._patterns.allows(path)


def parse_rights(body: bytes) -> Rights:
    """Read a file. What can't be read is left out. Raises nothing."""
    try:
        found: Any = json.loads(body) if len(body) <= MAX_BYTES else []
    except (ValueError, RecursionError):
        found = []
    rules = []
    for item in found[:MAX_RULES] if isinstance(found, list) else ():
        location = item.get("location") if isinstance(item, dict) else None
        if isinstance(location, str) and location.startswith(("/", "*")):
            is_reserved = str(item.get("tdm-reservation")).strip() == "1"
            rules.append(Rule(escape_pattern(location.encode("utf-8", "replace")), not is_reserved))
    return Rights(rules)
