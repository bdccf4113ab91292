"""Where a page stands, in a word for programs and in sentences for people. Pure; the ledger's words are the source."""

from dataclasses import dataclass
from typing import Literal

from streams.gateway.page.lookup import Known
from streams.ledger.status import next_step, status_of

Mood = Literal["good", "bad", "open"]

_STATUSES: tuple[tuple[str, str, Mood], ...] = (
    # how the ledger's sentence begins, the word for programs, whether it is what most people hope for
    ("Indexed", "indexed", "good"),
    ("Duplicate", "duplicate", "open"),
    ("Redirects", "redirected", "open"),
    ("Waiting", "waiting", "open"),
    ("Removed", "removed", "bad"),
    ("Refused", "refused", "bad"),
    ("Blocked", "refused", "bad"),
    ("Not indexed", "not_indexed", "bad"),
    ("Not modified", "waiting", "open"),
)
STATUSES = tuple(dict.fromkeys([*(status for _, status, _ in _STATUSES), "unknown"]))


@dataclass(frozen=True, slots=True)
class Story:
    """Where a page stands."""

    status: str
    says: str
    next_step: str
    mood: Mood


def tell(known: Known) -> Story:
    """The page's standing. A page that stands for this one is called by its address where that is known."""
    says = status_of(known.history)
    status, mood = status_word(says)
    if known.canonical and known.canonical.url:
        says = says.replace(f"page {known.canonical.page_id}", known.canonical.url)
    return Story(status, _sentence(says), _sentence(next_step(known.history)), mood)


def status_word(says: str) -> tuple[str, Mood]:
    for beginning, status, mood in _STATUSES:
        if says.startswith(beginning):
            return status, mood
    return "unknown", "open"


def _sentence(words: str) -> str:
    """With a full stop, but not right after an address, of which it would seem a part."""
    return words if "://" in words.rpartition(" ")[2] or words.endswith((".", "?", "!")) else f"{words}."
