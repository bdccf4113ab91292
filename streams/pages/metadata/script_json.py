"""The JSON of a page's scripts, with the faults mended that pages often have: comments, commas, control characters."""

import re
from typing import Any

import orjson

MAX_SCRIPT_CHARS = 500_000
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_COMMENT = re.compile(
    r"^\s*+(?:<!--|//<!\[CDATA\[|/\*<!\[CDATA\[\*/|<!\[CDATA\[)|(?:-->|//\]\]>|/\*\]\]>\*/|\]\]>)\s*+;?\s*+$"
)
_CODE_COMMENT = re.compile(r'("(?:[^"\\]++|\\.)*+"?+)|//[^\n]*+|/\*(?:.*?\*/|.*)|<!--(?:.*?-->|.*)', re.DOTALL)
"""Comments of JavaScript and HTML. Strings are matched, too, so that nothing inside them is taken for a comment."""
_CONTROL = re.compile("[\x00-\x1f]")


def parse_json(text: str) -> Any:
    """Parse a script's JSON, with some common faults mended; None if it is no JSON."""
    written = text[:MAX_SCRIPT_CHARS].strip()
    text = _COMMENT.sub("", written) if written[:1] in "/<" or written[-1:] in ">/;" else written
    for attempt, of in ((str, text), (_mend, text), (_remove_comments, written)):
        try:
            return orjson.loads(attempt(of).encode("utf-8", "replace"))
        except (orjson.JSONDecodeError, RecursionError):
            continue
    return None


def _mend(text: str) -> str:
    return _TRAILING_COMMA.sub(r"\1", _CONTROL.sub(" ", text))


def _remove_comments(text: str) -> str:
    """Remove comments, and mend the rest."""
    return _mend(_CODE_COMMENT.sub(lambda found: found[1] or " ", text).strip().removesuffix(";"))
