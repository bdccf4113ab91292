"""The progress of an import: a file that the next import of the same dump goes on from, and the entities seen so far.

Entities that were seen are bits of a file, to find those that a later dump no longer has: a Bloom filter (Bloom, 1970).
An entity that was seen is always found. Of 17 million titles (the English Wikipedia) 1 in 10,000 that was not seen is
found all the same, and of 60 million items 1 in 250: such an entity is removed by the next import, since each import
has a salt of its own.
"""

import json
import mmap
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import xxhash

from streams.crawl.archives.regular_files import open_regular
from streams.knowledge.dumps.reading import Place

_HEAD_BYTES = 1 << 20
MAX_REASONS = 50
"""Maximum reasons that are counted by themselves: a damaged file has another one on each line."""
OTHER_REASONS = "other reasons"
MAX_TEMPLATES = 1_000
"""Maximum templates that are counted by themselves."""
OTHER_TEMPLATES = "other templates"


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
    lost: dict[str, int] = field(default_factory=dict)
    """Number of summaries that lost a sentence by a template that can't be shown, by its name."""
    is_read: bool = False
    """True once all items are delivered: then the missing ones are removed."""
    walk: int = 0
    """Position in the walk over stored parts."""
    is_done: bool = False
    boot: str = ""
    """The id of the machine's start under which the import runs."""
    flushed: Place = field(default_factory=Place)
    """The place before which all seen entities are on disk. Behind it, they are lost if the machine ends."""
    flushed_items: int = 0

    def skip(self, reason: str, count: int = 1) -> None:
        _count(self.skipped, reason, count, MAX_REASONS, OTHER_REASONS)

    def lose(self, template: str, count: int) -> None:
        _count(self.lost, template, count, MAX_TEMPLATES, OTHER_TEMPLATES)

    def note_flush(self) -> None:
        """Note that all seen entities are on disk now."""
        self.flushed, self.flushed_items = self.place, self.items

    def go_on_under(self, boot: str) -> None:
        """Go on. After another start of the machine, or an unknown one, from where the seen entities are on disk."""
        if not boot or boot != self.boot:
            self.place, self.items = self.flushed, self.flushed_items
        self.boot = boot


def _count(counts: dict[str, int], name: str, count: int, limit: int, rest: str) -> None:
    """Count under a name, or together with the rest if there are too many names."""
    named = name if name in counts or len(counts) < limit else rest
    counts[named] = counts.get(named, 0) + count


def fingerprint(path: Path, *options: str) -> str:
    """Return a hash of a dump's size, time and beginning, and of the options of its import."""
    stat = path.stat()
    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
    content = json.dumps([stat.st_size, stat.st_mtime_ns, *options]).encode()
    return blake2b(content + head, digest_size=16).hexdigest()


def day_of(path: Path) -> str:
    """Return the day on which a dump was written, as far as its file shows (`2024-05-01`)."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


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
        places = {name: Place(**content.get(name, {})) for name in ("place", "flushed")}
        saved = Saved(**{**content, **places})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return saved if saved.dump == dump else None


BITS = 1 << 30
"""Number of bits: a file of 128 MiB, of which only written parts take space."""
HASHES = 3


class Seen:
    """A set of keys in a file. It is in the system's cache, and outlives the process."""

    def __init__(self, path: Path, salt: str) -> None:
        self._seed = xxhash.xxh32_intdigest(salt.encode())
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.truncate(BITS // 8)
        with path.open("r+b") as file:
            self._bits = mmap.mmap(file.fileno(), BITS // 8)

    def add(self, key: str) -> None:
        for place in self._places(key):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: str) -> bool:
        return all(self._bits[place >> 3] & 1 << (place & 7) for place in self._places(key))

    def flush(self) -> None:
        """Write the bits to disk."""
        self._bits.flush()

    def close(self) -> None:
        self._bits.close()

    def _places(self, key: str) -> list[int]:
        digest = xxhash.xxh3_128_intdigest(key.encode("utf-8", "replace"), seed=self._seed)
        return [(digest >> 30 * number) & (BITS - 1) for number in range(HASHES)]
