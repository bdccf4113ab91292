"""The files of a followed folder: which ones changed or are gone since the last look. Pure.

A file is known by its stamp: time of change and size. So a look needs to read no file. A changed file gets the time of
the look as its generation: an older copy that is put back is as new as its coming back.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from streams.crawl.archives.readers import Limits
from streams.crawl.url_patterns import belongs
from streams.crawl.urls import InvalidUrl, canonicalize

Stamp = tuple[int, int]
"""Time of the last change (nanoseconds since 1970 UTC), and size (bytes)."""
Stamps = Mapping[str, Stamp]
"""Stamp of each file by its path below the folder."""
UNREAD: Stamp = (0, -1)
"""Stamp of a file that could not be read: no look finds the same, so each one tries it again."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two looks at a folder."""

    changed: tuple[str, ...]
    """Paths of files that are new or were changed."""
    gone: tuple[str, ...]
    """Paths of files that were there and are not any more."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def compare(before: Stamps, now: Stamps) -> Changes:
    """Return the differences, in the order of the paths."""
    changed = sorted(path for path, stamp in now.items() if before.get(path) != stamp)
    return Changes(tuple(changed), tuple(sorted(before.keys() - now.keys())))


def url_of(path: str, limits: Limits) -> str | None:
    """Return the canonical URL of a file, or None if it is left out."""
    parts: Sequence[str] = PurePosixPath(path).parts
    try:
        url = canonicalize(limits.place.of_file(parts), limits.place)
    except InvalidUrl:
        return None
    return url if belongs(url, limits.patterns) else None


def twins_of(gone: Sequence[str], there: Iterable[str], limits: Limits) -> list[str]:
    """Return the files that have the URL of a deleted file: `index.htm` is the page of its folder, as `index.html`."""
    urls = {url_of(path, limits) for path in gone} - {None}
    return [path for path in there if url_of(path, limits) in urls] if urls else []


def write_stamps(stamps: Stamps) -> str:
    """Return the stamps as JSON, for the next start."""
    return json.dumps({path: list(stamp) for path, stamp in sorted(stamps.items())})


def read_stamps(text: str) -> dict[str, Stamp]:
    """Return the stamps of a JSON text. A damaged text has none: then each file counts as changed."""
    try:
        found = json.loads(text)
        return {str(path): (int(changed), int(size)) for path, (changed, size) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
