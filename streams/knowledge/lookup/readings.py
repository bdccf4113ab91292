"""The readings of a query: which of its words may be the name of an entity, and which words are left. Pure.

"when was douglas adams born" may name "douglas adams" (left: "born") or "adams born", and so on. Words of the question
itself are never a part of a reading at its edges.
"""

from dataclasses import dataclass

from streams.knowledge.names import name_key
from streams.language.function_words import FUNCTION_WORDS
from streams.language.questions import QUESTION_WORDS
from streams.pages.text.tokens import stored_words

MAX_WORDS = 10
"""Maximum words of a query that is looked up: longer ones are about more than one thing."""
MAX_NAME_WORDS = 8
_FRAMES_WORDS = (
    "a an the is was are were do does did define definition meaning of about tell me information on explain describe "
    "whats whos s"
)
_FRAMES = frozenset(_FRAMES_WORDS.split()) | QUESTION_WORDS - {"why", "whom"}
"""Words around a name that ask for the thing itself."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A name that the query may have, and the other words."""

    name: str
    """The key of the name."""
    rest: tuple[str, ...] = ()
    words: int = 1
    """Number of words of the name."""


def read_query(text: str, language: str = "") -> list[Reading]:
    """Return the readings of a query, the longest name first; none for an empty or long query.

    `language`: the query's, if it is sure. Its function words ask, too: `wer war`.
    """
    frames = _FRAMES | FUNCTION_WORDS.get(language, frozenset()) if language != "en" else _FRAMES
    found = stored_words(text)
    if not found:
        key = name_key(text)  # signs without words
        return [Reading(key)] if key and len(key) <= 20 else []
    if len(found) > MAX_WORDS:
        return []
    inner = _strip_frames(found, frames)
    readings = {name_key(text): Reading(name_key(text), words=len(found))}
    for length in range(len(inner), 0, -1):
        if length > MAX_NAME_WORDS:
            continue
        for start in {0, len(inner) - length}:
            name = name_key(" ".join(inner[start : start + length]))
            rest = tuple(word for word in (*inner[:start], *inner[start + length :]) if word not in frames)
            if name and any(word not in frames for word in inner[start : start + length]):
                readings.setdefault(name, Reading(name, rest, length))
    return list(readings.values())


def _strip_frames(found: list[str], frames: frozenset[str]) -> list[str]:
    """Return the words without the words of the question at both ends. A name of such words stays whole (`the who`)."""
    first, last = 0, len(found)
    while first < last and found[first] in frames:
        first += 1
    while last > first and found[last - 1] in frames:
        last -= 1
    return found[first:last] or found
