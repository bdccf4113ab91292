"""Tasks over the text of a document. They run in killable processes (`streams.sandbox`), bytes in and bytes out.

Any text takes linear time. The processes are for what that leaves open: the memory of a very large text, and faults of
a library.
"""

from dataclasses import asdict

import numpy as np

from streams.dedup import fingerprinting
from streams.dedup.counter_lines import differ_by_counters, load_patterns
from streams.dedup.fingerprinting import Prints, fingerprint, text_shingles
from streams.pages.document.codec import decode_document
from streams.sketches import Hashes
from streams.stores.packing import pack, unpack

FINGERPRINT = "streams.dedup.sandbox_tasks:make_fingerprint"
SHINGLES = "streams.dedup.sandbox_tasks:make_shingles"
COMPARISON = "streams.dedup.sandbox_tasks:compare_documents"
TASKS = (FINGERPRINT, SHINGLES, COMPARISON)


def warm_up() -> None:
    """Read the word frequencies and the patterns of counters before the limits are set."""
    fingerprinting.load_frequencies()
    load_patterns()


def make_fingerprint(document: bytes) -> bytes:
    """Return the fingerprint (`Prints`) of an encoded document."""
    return pack(asdict(fingerprint(decode_document(document).text)))


def make_shingles(document: bytes) -> bytes:
    """Return the distinct shingles of an encoded document, 8 bytes each (little endian)."""
    return text_shingles(decode_document(document).text).astype("<u8").tobytes()


def compare_documents(pair: bytes) -> bytes:
    """Return a byte that is 1 if the two encoded documents of `pack_pair` differ by counters only, or else 0.

    A document of another version is never kept: a replay would not replace it.
    """
    asked = unpack(pair)
    former, present = (decode_document(asked[name]) for name in ("former", "present"))
    is_same_version = former.version == present.version
    return bytes([is_same_version and differ_by_counters(former, present, asked["seconds"])])


def pack_pair(former: bytes, present: bytes, seconds: float) -> bytes:
    """Return the question for `compare_documents`. `seconds`: between the visits that found the documents."""
    return pack({"former": former, "present": present, "seconds": seconds})


def read_fingerprint(answer: bytes) -> Prints:
    """Return the answer of `make_fingerprint`."""
    found = unpack(answer)
    return Prints(**{**found, "bands": tuple(found["bands"])})


def read_shingles(answer: bytes) -> Hashes:
    """Return the answer of `make_shingles`."""
    return np.frombuffer(answer, "<u8").astype(np.uint64)
