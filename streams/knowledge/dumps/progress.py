"""The file in which an import notes how far it is. The next import of the same dump goes on there."""

import json
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from streams.knowledge.dumps.reading import Place

_HEAD_BYTES = 1 << 20


@dataclass(slots=True)
class Saved:
    """The place of an import. All items before `place` are delivered."""

    dump: str
    """The fingerprint of the dump and of the options."""
    salt: str
    place: Place = field(default_factory=Place)
    in_array: bool = False
    items: int = 0
    """Number of items that were read."""
    sent: int = 0
    """Number of entities that are new or changed."""
    unchanged: int = 0
    removed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    is_read: bool = False
    """True once all items are delivered: then the missing ones are removed."""
    walk: int = 0
    """Position in the walk over stored parts."""
    is_done: bool = False

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + count


def fingerprint(path: Path, *options: str) -> str:
    """Return a hash of a dump's size, time and beginning, and of the options of its import."""
    stat = path.stat()
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    content = json.dumps([stat.st_size, stat.st_mtime_ns, *options]).encode()
    return blake2b(content + head, digest_size=16).hexdigest()


def save(file: Path, saved: Saved) -> None:
    """Replace the file at once: after a crash there is the former one or this one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(saved)))
    unfinished.replace(file)


def load(file: Path, dump: str) -> Saved | None:
    """Return how far the import of this dump is, or None if the file is about another one, or is not there."""
    try:
        content: dict[str, Any] = json.loads(file.read_text())
        saved = Saved(**{**content, "place": Place(**content["place"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return saved if saved.dump == dump else None
