"""Tasks over the text of a document. They run in killable processes (`streams.sandbox`), bytes in and bytes out.

Any text takes linear time. The processes are for what that leaves open: the memory of a very large text, and faults of
a library.
"""

from dataclasses import asdict

import numpy as np

from streams.dedup import frequencies
from streams.dedup.fingerprinting import Prints, fingerprint, text_shingles
from streams.pages.document.codec import decode_document
from streams.sketches.features import Hashes
from streams.stores.packing import pack, unpack

FINGERPRINT = "streams.dedup.sandbox_tasks:make_fingerprint"
SHINGLES = "streams.dedup.sandbox_tasks:make_shingles"
TASKS = (FINGERPRINT, SHINGLES)


def warm_up() -> None:
    """Read the word frequencies before the limits are set."""
    frequencies.load()


def make_fingerprint(document: bytes) -> bytes:
    """Return the fingerprint (`Prints`) of an encoded document."""
    return pack(asdict(fingerprint(decode_document(document).text)))


def make_shingles(document: bytes) -> bytes:
    """Return the distinct shingles of an encoded document, 8 bytes each (little endian)."""
    return text_shingles(decode_document(document).text).astype("<u8").tobytes()


def read_fingerprint(answer: bytes) -> Prints:
    """Return the answer of `make_fingerprint`."""
    return Prints(**unpack(answer))


def read_shingles(answer: bytes) -> Hashes:
    """Return the answer of `make_shingles`."""
    return np.frombuffer(answer, "<u8").astype(np.uint64)
