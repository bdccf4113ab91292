"""The keys of the gateway: one secret of the settings, from which each use has a key of its own (HKDF, RFC 5869). Pure.

The first secret makes new payloads and cookies. The others are former secrets, which still open what they have made, so
that a secret is exchanged without a break.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
ID_BYTES = 4


@dataclass(frozen=True, slots=True)
class Key:
    """The key of one use. Its id says which secret it is of, and nothing else about the secret."""

    id: bytes
    value: bytes


def derive_keys(secrets: Sequence[str], use: str) -> tuple[Key, ...]:
    """Return the key of each secret for this use, in the order of the secrets."""
    return tuple(
        Key(_derive(secret, f"riffle {use} id", ID_BYTES), _derive(secret, f"riffle {use}", KEY_BYTES))
        for secret in secrets
    )


def _derive(secret: str, info: str, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt=None, info=info.encode()).derive(secret.encode())
