"""The payload of an outgoing link: which result of which query it is, sealed with AES-256-GCM (NIST SP 800-38D). Pure.

    1 byte    version: 1, or 2 where queries are counted
    4 bytes   id of the key
    12 bytes  nonce, random for each link
    rest      sealed: 16 bytes query hash, 16 bytes page id, 2 bytes rank, 4 bytes time (seconds),
              in version 2: 16 bytes hash of the query for counts; the address (UTF-8)

Version and key id are authenticated with the rest. So nobody else can make a link that leads anywhere:
`/act` is no open redirect. A payload says nothing of a person, and is not kept.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from streams.gateway.http.keys import ID_BYTES, Key

MAX_AGE = timedelta(hours=24)
"""Time for which a link leads on: as long as a page of results may stay open."""
NONCE_BYTES = 12
MAX_CHARS = 12_000
"""Maximum length of a payload in a link."""
_HEADS = {1: struct.Struct(">16s16sHI"), 2: struct.Struct(">16s16sHI16s")}
"""The fields before the address, by version."""
_CLOCK_SKEW = timedelta(minutes=5)

Fault = Literal["tampered", "foreign", "expired"]


class InvalidLink(Exception):
    """A payload that leads nowhere, and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault: Fault = fault


@dataclass(frozen=True, slots=True)
class Click:
    """One outgoing link of a page of results."""

    query_hash: str
    """32 hexadecimal digits."""
    page_id: UUID
    rank: int
    """Place of the result, from 1."""
    made: datetime
    url: str
    asked_hash: str = ""
    """32 hexadecimal digits: the query's hash for counts. Empty where queries are not counted."""


def seal_click(click: Click, key: Key, nonce: bytes) -> str:
    """Return the payload. The nonce is random, and used once."""
    version = 2 if click.asked_hash else 1
    head = bytes([version]) + key.id
    fields = (bytes.fromhex(click.query_hash), click.page_id.bytes, click.rank, int(click.made.timestamp()))
    packed = _HEADS[version].pack(*fields, *([bytes.fromhex(click.asked_hash)] if click.asked_hash else []))
    sealed = AESGCM(key.value).encrypt(nonce, packed + click.url.encode(), head)
    return urlsafe_b64encode(head + nonce + sealed).rstrip(b"=").decode()


def open_click(payload: str, keys: Sequence[Key], now: datetime) -> Click:
    """Return the click of a payload. Raises InvalidLink."""
    content = _decode(payload)
    head, rest = content[: 1 + ID_BYTES], content[1 + ID_BYTES :]
    if len(rest) < NONCE_BYTES or head[0] not in _HEADS:
        raise InvalidLink("tampered")
    key = next((key for key in keys if key.id == head[1:]), None)
    if key is None:
        raise InvalidLink("foreign")
    try:
        packed = AESGCM(key.value).decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], head)
    except InvalidTag:
        raise InvalidLink("tampered") from None
    fields = _HEADS[head[0]]
    digest, page, rank, seconds, *asked = fields.unpack_from(packed)
    made = datetime.fromtimestamp(seconds, now.tzinfo)
    if not -_CLOCK_SKEW <= now - made <= MAX_AGE:
        raise InvalidLink("expired")
    url = packed[fields.size :].decode()
    return Click(digest.hex(), UUID(bytes=page), rank, made, url, "".join(each.hex() for each in asked))


def _decode(payload: str) -> bytes:
    if len(payload) > MAX_CHARS or not payload.isascii():
        raise InvalidLink("tampered")
    try:
        content = urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    except ValueError:
        raise InvalidLink("tampered") from None
    if not content:
        raise InvalidLink("tampered")
    return content
