"""The licence that a file of weights in the format GGUF names.

The first part of a file has facts by name (the GGUF specification of ggml): a string is its length (8 bytes) and its
bytes, a list the type and the number of its values. Facts behind the first `MAX_BYTES` are not read: there are the
words of the vocabulary. A file that is cut or wrong has no facts behind the fault.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"GGUF"
"""First bytes of a file of weights."""
MAX_BYTES = 64 * 1024
"""Maximum bytes of a file that are read."""
MAX_TEXT_BYTES = 1_000
"""Maximum bytes of a fact's name, or of a licence."""
OPEN_LICENCES = frozenset(
    ("apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "isc", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "unlicense")
)
"""Licences that let everybody use, change and share a work for each purpose, by their names in lower case."""
_TEXT, _LIST = 8, 9
_BYTES_OF_TYPES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Lengths of the values of a type that all have one length."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The beginning of a file, and the place that is read next."""

    content: bytes
    place: int

    def number(self, form: str) -> tuple[int, "_Part"]:
        """Return a number. Raises struct.error at the end."""
        (value,) = struct.unpack_from(form, self.content, self.place)
        return int(value), _Part(self.content, self.place + struct.calcsize(form))

    def text(self) -> tuple[bytes, "_Part"]:
        length, rest = self.number("<Q")
        return rest.content[rest.place : rest.place + min(length, MAX_TEXT_BYTES)], rest.skip(length)

    def skip(self, count: int) -> "_Part":
        if count > len(self.content) - self.place:
            raise struct.error("the value goes beyond the part that is read")
        return _Part(self.content, self.place + count)


def licence_of(file: Path) -> str:
    """Return the licence that the file names, in lower case, or an empty text."""
    with file.open("rb") as opened:
        content = opened.read(MAX_BYTES)
    found = dict(_texts(content)) if content.startswith(MAGIC) else {}
    return found.get(b"general.license", b"").decode("utf-8", "replace").strip().lower()


def _texts(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the facts that are texts, as far as they can be read."""
    try:
        _, part = _Part(content, len(MAGIC)).number("<I")  # the version
        _, part = part.number("<Q")  # the number of tensors
        count, part = part.number("<Q")
        for _ in range(min(count, MAX_BYTES)):
            name, part = part.text()
            kind, part = part.number("<I")
            if kind == _TEXT:
                value, part = part.text()
                yield name, value
            else:
                part = _behind(part, kind)
    except struct.error:
        return


def _behind(part: _Part, kind: int) -> _Part:
    """Return the part behind a value that is no text. Raises struct.error for a list of lists, and at the end."""
    if kind != _LIST:
        return part.skip(_BYTES_OF_TYPES.get(kind, MAX_BYTES))
    kind, part = part.number("<I")
    count, part = part.number("<Q")
    if kind != _TEXT:
        return part.skip(count * _BYTES_OF_TYPES.get(kind, MAX_BYTES))
    for _ in range(min(count, MAX_BYTES)):
        _, part = part.text()
    return part
