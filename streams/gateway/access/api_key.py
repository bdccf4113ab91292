"""The keys of the API: their text, what is stored of them, and what they allow. Pure.

A key is `rfl_ID_SECRET`. The secret has 256 random bits, so its SHA-256 is enough: nobody can try all secrets, and a
slow hash would only slow down every request. The prefix lets scanners of repositories find keys that were published.
"""

import base64
import hmac
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, get_args

from streams.stores.protocols import ApiKey

Scope = Literal["search", "pages", "extract", "answer"]
"""The things that a key allows: searches, records and contents of pages, fetching a page now, answers by a model."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "rfl"
ID_BYTES, SECRET_BYTES = 6, 32
_KEY = re.compile(rf"{PREFIX}_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9-]{{43}})", re.ASCII)
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key as a client sends it."""

    id: str
    secret: str


def make_key(key: ApiKey, random: bytes) -> tuple[str, ApiKey]:
    """Return the text of a new key, and what is stored of it. `random` has ID_BYTES and SECRET_BYTES random bytes."""
    key_id = random[:ID_BYTES].hex()
    # The underscore divides the parts of a key, so it stands in none of them.
    secret = base64.b64encode(random[ID_BYTES:], altchars=b"-0").decode().rstrip("=")
    return f"{PREFIX}_{key_id}_{secret}", replace(key, id=key_id, digest=digest_of(secret))


def read_key(text: str) -> GivenKey | None:
    """Return the parts of a key, or None if the text does not have the form of one."""
    found = _KEY.fullmatch(text)
    return GivenKey(found[1], found[2]) if found else None


def digest_of(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def fault_of(given: GivenKey, stored: ApiKey | None, now_micros: int) -> str:
    """Return why a key is refused, in a sentence; empty if it is accepted. Digests are compared in constant time."""
    digest = stored.digest if stored else b""
    if not hmac.compare_digest(digest, digest_of(given.secret)) or stored is None:
        return "The key is not known."
    if stored.revoked:
        return "The key was revoked."
    if stored.expires and now_micros >= stored.expires:
        return "The key has expired."
    return ""


def expires_at(now_micros: int, days: float) -> int:
    return now_micros + int(days * 86_400 * _MICROS)
