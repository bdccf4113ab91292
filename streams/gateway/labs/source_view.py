"""A page's HTML as text for people. Head, scripts, styles, drawings and data: URLs are folded.

Pure, and linear in the page's length: it searches for tags one by one and builds no tree.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streams.plain_text import is_unsafe

MIN_FOLDED_CHARS = 200
"""Minimum characters of a part that is folded."""
MAX_PIECE_CHARS = 4_000
"""Maximum characters shown of a folded part when it is opened."""
MAX_PIECES = 2_000
"""Maximum pieces shown."""

_START = re.compile(
    r"<(head|script|style|svg|template)(?=[\s/>])|data:[a-z]{1,20}/[a-z0-9.+-]{1,40}[;,]", re.IGNORECASE
)
_ENDS = {
    name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in ("head", "script", "style", "svg", "template")
}
_DATA = re.compile(r"[A-Za-z0-9+/=%;,_.~-]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of the source. A run with a `label` is folded, and its `text` may be cut: the label says its length."""

    text: str
    label: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    pieces: tuple[Piece, ...]
    shown_chars: int
    """Number of characters of the source that are shown, including folded characters."""
    chars: int


def read_source(source: str, max_chars: int) -> Source:
    """Return the start of the source, in pieces. Folded characters don't count for `max_chars`."""
    pieces: list[Piece] = []
    shown = left = 0
    for start, end, label in _folds(source):
        plain = source[shown:start]
        if left + len(plain) > max_chars or len(pieces) + 2 > MAX_PIECES:
            break
        folded = source[start:end]
        pieces += [Piece(_clean(plain)), Piece(_clean(folded[:MAX_PIECE_CHARS]), label, len(folded) > MAX_PIECE_CHARS)]
        left += len(plain)
        shown = end
    rest = source[shown : shown + max_chars - left]
    pieces.append(Piece(_clean(rest)))
    pieces[0] = replace(pieces[0], text=pieces[0].text.lstrip("\n"))
    return Source(tuple(piece for piece in pieces if piece.text), shown + len(rest), len(source))


def _folds(source: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and label of each part to fold."""
    position = 0
    tag_ends = _Next(re.compile(">"), source)
    ends = {name: _Next(pattern, source) for name, pattern in _ENDS.items()}
    while match := _START.search(source, position):
        position = match.end()
        name = (match[1] or "").lower()
        if name:
            start, end = tag_ends.after(position) + 1, ends[name].after(position)
            if name == "head" and end == len(source):  # its end tag may be left out
                continue
        else:
            run = _DATA.match(source, position)
            start, end = position, run.end() if run else position
        if end - start >= MIN_FOLDED_CHARS:
            yield start, end, f"{name or 'data'}, {end - start:,} characters"
            position = end


class _Next:
    """Finds the next match of a pattern after a growing position. The source is read only once."""

    def __init__(self, pattern: re.Pattern[str], source: str) -> None:
        self._pattern = pattern
        self._source = source
        self._found = -1

    def after(self, position: int) -> int:
        """Return the start of the next match, or the end of the source if there is none."""
        if self._found < position:
            match = self._pattern.search(self._source, position)
            self._found = match.start() if match else len(self._source)
        return self._found


def _clean(text: str) -> str:
    """Return the text without runs of blank lines. Controls and direction overrides become U+FFFD."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = [
        line
        for number, line in enumerate(lines)
        if line.strip() or number in (0, len(lines) - 1) or lines[number - 1].strip()
    ]
    return "".join("\ufffd" if is_unsafe(char) and char not in "\n\t" else char for char in "\n".join(kept))
