"""Suggestions by prefix, and what the tasks of a build hand on."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

MAX_ROWS = 64
"""Maximum rows of a prefix that are read. Writers remove what is above it."""

PartKind = Literal["sums", "list", "word sums", "words", "current", "statements", "hidden"]


@dataclass(frozen=True, slots=True)
class StoredSuggestion:
    """A suggestion of a prefix."""

    text: str
    language: str = ""
    weight: float = 0.0
    """The long-term weight. Below 0: the text is hidden until a build replaces the row."""
    recent: float = 0.0
    """The count of the last two hours at the time of the write."""
    quarter: int = 0
    """The number of the quarter of an hour since 1970 (UTC) in which `recent` was counted."""


@dataclass(frozen=True, slots=True)
class PrefixRow:
    """A suggestion in the list of a prefix: of one language, or of all (empty)."""

    language: str
    prefix: str
    suggestion: StoredSuggestion


class Suggestions(Protocol):
    """Suggestions by language and prefix. An older write never replaces a newer one."""

    async def of_prefix(self, language: str, prefix: str) -> list[StoredSuggestion]:
        """Return the rows of a prefix, at most MAX_ROWS, in no order."""

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        """Return the rows of each of a few prefixes of a language, each as `of_prefix` does, with one request."""

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        """Write rows, each of which replaces the row with its text."""

    async def replace(self, rows: Sequence[PrefixRow], at: int) -> None:
        """Write all rows of one or several prefixes, and remove the older rows of these prefixes."""

    async def remove(self, rows: Iterable[PrefixRow], at: int) -> None:
        """Remove rows, by their texts."""

    async def purge(self) -> None:
        """Delete all suggestions, also the parts of builds."""

    async def put_part(self, build: str, kind: PartKind, shard: int, part: str, value: bytes) -> None: ...

    async def parts(self, build: str, kind: PartKind, shard: int) -> list[bytes]:
        """Return the values of all parts of a shard, by part."""

    async def drop_parts(self, build: str, kind: PartKind, shard: int) -> None: ...
