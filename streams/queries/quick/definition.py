"""A definition among the statements that were found, for queries such as `define riffle` and `what is a riffle`. Pure.

Only a statement in English of the form "X is a/an/the ..." is a definition, with exactly the words that were asked for.
Nothing is made up: the answer is the statement, word for word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from streams.queries.quick.model import QuickCheck

MAX_WORDS = 6
"""Maximum words of what is defined."""
MAX_CHARS = 400
"""Maximum length of a definition: a longer one is no short answer."""

_ASKED = re.compile(
    r"""(?:define|definition\ of|meaning\ of|what(?:'s|\ is)(?:\ the\ (?:definition|meaning)\ of)?)\s+
    (?:an?\s+|the\s+)?(?P<subject>[^?"]{2,60}?)\s*\?*""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FoundStatement:
    """A statement of a result, with its page."""

    text: str
    url: str
    title: str


def definition_subject(text: str) -> str:
    """Return the words whose definition the text asks for; empty if it asks for none."""
    match = _ASKED.fullmatch(text)
    subject = " ".join(match["subject"].split()) if match else ""
    return subject if 0 < len(subject.split()) <= MAX_WORDS else ""


def find_definition(text: str, statements: Iterable[FoundStatement]) -> QuickCheck | None:
    """Return the first statement that defines what the text asks for, else None."""
    subject = definition_subject(text)
    if not subject:
        return None
    words = r"\s+".join(map(re.escape, subject.split()))
    form = re.compile(
        rf"(?:an?\s+|the\s+)?[\"“‘']?{words}[\"”’']?(?:\s+\([^()]{{1,60}}\))?,?\s+is\s+(?:an?|the)\s+\S", re.IGNORECASE
    )
    for statement in statements:
        if len(statement.text) <= MAX_CHARS and form.match(statement.text):
            return QuickCheck(
                kind="definition", asked=subject, answer=statement.text, url=statement.url, title=statement.title
            )
    return None
