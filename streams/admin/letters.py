"""The dead letters of a stage and a kind of error, as the pages of operators list them: a page at a time."""

from dataclasses import dataclass

from streams.errors import UsageError
from streams.runtime.dead_letters import DeadLetter, DeadLetters, Selection
from streams.settings import Settings
from streams.topology import STAGES

PAGE_LETTERS = 20
MAX_VALUE_CHARS = 4_000
"""Maximum number of characters of an event that are shown."""


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Some letters, oldest first, of all that wait."""

    total: int
    shown: tuple[DeadLetter, ...]
    is_last: bool

    @property
    def last_id(self) -> str:
        """The id of the last letter that is shown, behind which the next page begins."""
        return self.shown[-1].failure.id if self.shown else ""


def read_letter_page(settings: Settings, stage_name: str, error: str, after: str) -> LetterPage:
    """Return the letters behind the one with the id `after`. Raises UsageError for an unknown one, StoreUnavailable."""
    letters = DeadLetters(settings, selection_of(stage_name, error))
    found = letters.page(PAGE_LETTERS + 1, after)
    return LetterPage(len(letters), tuple(found[:PAGE_LETTERS]), len(found) <= PAGE_LETTERS)


def selection_of(stage_name: str, error: str) -> Selection:
    """Return the letters of a stage with an error. Raises UsageError for an unknown stage."""
    stages = tuple(stage for stage in STAGES if stage.name == stage_name)
    if not stages:
        raise UsageError(f"no stage {stage_name!r}")
    return Selection(stages, error=error)
