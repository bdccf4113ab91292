"""The cursor of a page of results: all that the next page needs to know of the pages before it, as one token. Pure.

No gateway remembers a search between two pages: the link to the next page carries the cursor, and any gateway can
answer it. The cursor has hashes of the results shown, so that none of them is shown twice, whichever parts of the
search answer and whichever pages are indexed between. It also has the depth that was searched, and the parts that
failed on the first page, since later pages leave them out as well.

A cursor comes back from strangers. It is read in one pass, has a maximum length, and is checked for typing errors and
cut ends by a checksum. It isn't signed, since nobody gains by a forged one: it only hides results from the person
who forged it, and asks the index for no more than the parameter `page` does. The hashes are salted, so that nobody can
prepare a page with the hash of another page.
"""

import base64
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import get_args
from uuid import UUID

from streams.errors import InvalidQuery, invalid_parameter
from streams.search.trace import OrderingPart

LIFETIME_SECONDS = 86_400
"""Maximum time between two pages of results (seconds)."""
MAX_HASHES = 640
"""Maximum hashes: one for each of 500 results, and the rest for their copies. With them a link stays below the 8 KiB
that proxies let through as a rule."""
SALT_BYTES = 8
HASH_BYTES = 6
_VERSION = 1
_CHECK_BYTES = 4
_HEAD = struct.Struct(f">B{SALT_BYTES}s8sIHHBB")
"""Version, salt, digest of the search, time, page, results, depth, parts that are left out."""
_MAX_BYTES = _HEAD.size + MAX_HASHES * HASH_BYTES + _CHECK_BYTES
MAX_CHARS = -(-_MAX_BYTES * 4 // 3)
_PARTS: tuple[OrderingPart, ...] = get_args(OrderingPart)
"""The parts by the number of their bit."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The state of a search before one of its pages."""

    salt: bytes
    search: bytes
    """A digest of the query and its parameters: the cursor is valid for this search only."""
    made: int = 0
    """The time when the page before was answered (seconds since 1970 UTC)."""
    page: int = 1
    results: int = 0
    """Number of results on the pages before."""
    depth: int = 0
    """The place of the deepest lists that were read among the depths of the search."""
    left_out: frozenset[OrderingPart] = frozenset()
    """The parts that failed on the first page."""
    shown: tuple[bytes, ...] = ()
    """Hashes of the results on the pages before, and behind them hashes of their copies, as far as there is room."""

    def hash_of(self, page: UUID) -> bytes:
        return blake2b(page.bytes, key=self.salt, digest_size=HASH_BYTES).digest()

    def add_shown(self, pages: Iterable[UUID], copies: Iterable[UUID]) -> "Cursor":
        """Return the cursor with further results, and their copies."""
        results, earlier = self.shown[: self.results], self.shown[self.results :]
        results = (*results, *map(self.hash_of, pages))
        hashes = (*results, *earlier, *map(self.hash_of, copies))
        return replace(self, results=len(results), shown=hashes[:MAX_HASHES])

    def check_age(self, now: datetime) -> None:
        """Raise InvalidQuery if the page before was answered too long ago."""
        if abs(now.timestamp() - self.made) > LIFETIME_SECONDS:
            hours = LIFETIME_SECONDS // 3_600
            raise _invalid(f"The cursor has expired: it is older than {hours} hours.")


def encode(cursor: Cursor) -> str:
    """Return the cursor as a token of letters, digits, `-` and `_`."""
    left_out = sum(1 << bit for bit, part in enumerate(_PARTS) if part in cursor.left_out)
    head = _HEAD.pack(
        _VERSION, cursor.salt, cursor.search, cursor.made, cursor.page, cursor.results, cursor.depth, left_out
    )
    body = head + b"".join(cursor.shown)
    return base64.urlsafe_b64encode(body + _checksum(body)).rstrip(b"=").decode("ascii")


def decode(token: str, search: bytes, max_results: int) -> Cursor:
    """Return the cursor of this token, for the search with this digest. Raises InvalidQuery."""
    if len(token) > MAX_CHARS:
        raise _invalid(f"The cursor has {len(token):,} characters; none is longer than {MAX_CHARS:,}.")
    cursor = _unpack(_read_bytes(token))
    if cursor.search != search:
        raise _invalid("The cursor belongs to a search with another query, or with other parameters.")
    if not (1 <= cursor.page - 1 <= cursor.results <= min(max_results, len(cursor.shown))):
        raise _damaged()
    return cursor


def digest_search(*parts: object) -> bytes:
    """Return the digest of a search, by its query and all parameters that its results follow from."""
    return blake2b(repr(parts).encode(), digest_size=8).digest()


def _read_bytes(token: str) -> bytes:
    """Return the bytes before the checksum."""
    try:
        content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _damaged() from None
    body, checksum = content[:-_CHECK_BYTES], content[-_CHECK_BYTES:]
    if len(body) < _HEAD.size or (len(body) - _HEAD.size) % HASH_BYTES or checksum != _checksum(body):
        raise _damaged()
    return body


def _unpack(body: bytes) -> Cursor:
    version, salt, search, made, page, results, depth, bits = _HEAD.unpack_from(body)
    if version != _VERSION or bits >= 1 << len(_PARTS):
        raise _damaged()
    left_out = frozenset(part for bit, part in enumerate(_PARTS) if bits & (1 << bit))
    hashes = tuple(body[start : start + HASH_BYTES] for start in range(_HEAD.size, len(body), HASH_BYTES))
    return Cursor(salt, search, made, page, results, depth, left_out, hashes)


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=_CHECK_BYTES).digest()


def _damaged() -> InvalidQuery:
    return _invalid("The cursor is damaged: no answer of this release had it.")


def _invalid(detail: str) -> InvalidQuery:
    hint = "Search again: the first page has a new link to the next one."
    return invalid_parameter("cursor", detail, hint)
