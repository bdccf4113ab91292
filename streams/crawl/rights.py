"""Reads /.well-known/tdmrep.json: which paths of a host are reserved from text and data mining. Pure, and bounded.

The format is of the TDM Reservation Protocol (W3C community group): a list of objects with `location` (a pattern as in
robots.txt), `tdm-reservation` (1 or 0) and `tdm-policy`. The longest pattern that matches decides; of two as long, the
reservation does not hold, as with `Allow` in robots.txt. A file with another form of the same reserves as well.
"""

import json
from typing import Any

from streams.crawl.robots_grammar import PatternSet, Rule, escape_pattern

MAX_BYTES = 64 * 1024
"""Maximum size of a file that is read (bytes). A longer one counts as if there were none."""
MAX_RULES = 1_000
_RESERVED = frozenset({"1", "1.0", "true"})
"""The values of `tdm-reservation` that reserve: the number, and how files in the wild write it."""
RIGHTS_PATH = "/.well-known/tdmrep.json"


class Rights:
    """The reservations of one host."""

    def __init__(self, rules: list[Rule]) -> None:
        self._patterns = PatternSet(rules, allow_folders=False)

    @property
    def chars(self) -> int:
        """The number of characters of all patterns."""
        return self._patterns.chars

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
    for item in [found] if isinstance(found, dict) else found[:MAX_RULES] if isinstance(found, list) else ():
        if isinstance(item, dict) and (rule := _rule(item.get("location"), item.get("tdm-reservation"))):
            rules.append(rule)
    return Rights(rules)


def _rule(location: Any, reservation: Any) -> Rule | None:
    """Return the rule of an object. A reservation without a path that can be read holds for the whole host."""
    is_reserved = str(reservation).strip().lower() in _RESERVED
    path = location.strip() if isinstance(location, str) else ""
    if "://" in path:
        path = f"/{path.partition('://')[2].partition('/')[2]}"
    if not path.startswith(("/", "*")):
        if not is_reserved:
            return None
        path = f"/{path}"
    return Rule(escape_pattern(path.encode("utf-8", "replace")), not is_reserved)
