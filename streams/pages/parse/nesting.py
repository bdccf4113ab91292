"""Refuses pages with elements that nest too deep for the parser, before they are parsed.

The parser's time grows with the square of the depth: 50,000 open elements take it 12 seconds. The count only looks at
tags, so it is never lower than the real depth. It takes linear time.
"""

import re

from streams.errors import Refused

MAX_DEPTH = 5_000
"""Maximum number of elements that are open at once."""
SAFE_TAGS = 10_000
"""Maximum number of tags of a page that needs no count: the parser takes 0.5 seconds if all of them nest."""

_TAGS = re.compile(rb"<(?:(/?)([a-zA-Z]++)|!--)")
_RAW_TEXT = frozenset({b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"})
"""Elements with only text up to their end tag. Behind a FOREIGN element they are counted like all others."""
_FOREIGN = frozenset({b"svg", b"math"})
_COMMENT_END = re.compile(rb"(?<=<!--)-?>|--!?>")
_RAW_TEXT_ENDS = {name: re.compile(rb"</" + name + rb"(?![a-zA-Z])", re.IGNORECASE) for name in _RAW_TEXT}
_UNCLOSED = frozenset(
    b"area base br circle col dd dt ellipse embed hr image img input li line link meta option p param path polygon "
    b"polyline rect source stop tbody td th thead tr track use wbr".split()
)
"""Elements without content, or that the next element of the same kind ends."""


def refuse_nesting(html: bytes, *, safe_tags: int = 0) -> None:
    """Raise Refused for a page that nests deeper than MAX_DEPTH. Pages of at most `safe_tags` tags pass."""
    if html.count(b"<") > safe_tags and deepest(html, MAX_DEPTH) > MAX_DEPTH:
        raise Refused("nesting", f"elements nest deeper than {MAX_DEPTH}")


def deepest(html: bytes, limit: int) -> int:
    """Return the largest number of elements that are open at once; `limit` + 1 if there are more than `limit`."""
    depth = most = at = 0
    is_foreign = False
    skipper = _TextSkipper(html)
    while found := _TAGS.search(html, at):
        closing, name = found.groups()
        name = name.lower() if name else None
        at = found.end()
        is_foreign = is_foreign or name in _FOREIGN
        if name is None:
            at = skipper.behind_comment(at)
        elif closing:
            depth = max(depth - 1, 0)
        elif name in _RAW_TEXT and not is_foreign:
            at = skipper.behind_raw_text(name, at)
        elif name not in _UNCLOSED:
            depth += 1
            most = max(most, depth)
            if depth > limit:
                break
    return most


class _TextSkipper:
    """Finds the ends of comments and raw texts. A missing end is only searched once."""

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._without_end: set[bytes] = set()

    def behind_comment(self, at: int) -> int:
        end = _COMMENT_END.search(self._html, at)
        return end.start() if end else len(self._html)

    def behind_raw_text(self, name: bytes, at: int) -> int:
        """Return the end of the text that begins at `at`; `at` itself if there is no end tag."""
        if name in self._without_end:
            return at
        end = _RAW_TEXT_ENDS[name].search(self._html, at)
        if end is None:
            self._without_end.add(name)
            return at
        return end.end()
