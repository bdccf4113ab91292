"""The outgoing links of a page of results: plain addresses, or links over `/act` where clicks are published."""

import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from streams.caches import RecentCache
from streams.gateway.http.keys import ID_BYTES, Key, derive_keys
from streams.settings import GatewaySettings

Leave = Callable[[str, str], str]
"""Return the link to an address, on the page with this URL."""


def plain_link(address: str, _url: str) -> str:
    """Return the address itself."""
    return address


def click_keys(settings: GatewaySettings) -> tuple[Key, ...]:
    """Return the keys of payloads; none where clicks are not published, or where there is no secret."""
    if not settings.publish_clicks:
        return ()
    return derive_keys([secret.get_secret_value() for secret in settings.keys], "clicks")


class OutgoingLinks:
    """The maker of outgoing links of one gateway process."""

    def __init__(self, keys: Sequence[Key], clock: Callable[[], datetime]) -> None:
        self._keys, self._clock = keys, clock

    def for_results(self, query_hash: str, pages: Mapping[str, tuple[UUID, int]], asked_hash: str = "") -> Leave:
        """Return the maker of links for one page of results. `pages`: page id and rank by the URL of the page.

        `asked_hash`: the hash of the query for counts, empty where queries are not counted.

        The link to a page without a rank, and a link that would be too long, is plain.
        """
        if not self._keys:
            return plain_link
        now = self._clock()

        def leave(address: str, url: str) -> str:
            if not address or url not in pages or len(address.encode()) > MAX_CHARS // 2:
                return address
            page, rank = pages[url]
            click = Click(query_hash, page, rank, now, address, asked_hash)
            return f"/act?c={seal_click(click, self._keys[0], secrets.token_bytes(NONCE_BYTES))}"

        return leave


MAX_AGE = timedelta(hours=24)
"""Time for which a link leads on: as long as a page of results may stay open."""
NONCE_BYTES = 12
MAX_CHARS = 12_000
"""Maximum length of a payload in a link."""
MAX_SPENT = 100_000
"""Number of links that are remembered, those that were used last: 12 MB."""
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
    nonce: bytes = field(default=b"", compare=False)
    """The random part of the payload, of an opened one."""

    @property
    def cause(self) -> str:
        """The cause of its events. A link that two gateways count has one event, which is sent twice."""
        return self.nonce.hex()


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
    asked_hash = "".join(each.hex() for each in asked)
    return Click(digest.hex(), UUID(bytes=page), rank, made, url, asked_hash, rest[:NONCE_BYTES])


class SpentLinks:
    """The links of one gateway process that were counted: each counts once."""

    def __init__(self) -> None:
        self._spent: RecentCache[bytes, bool] = RecentCache(MAX_SPENT)

    def spend(self, click: Click) -> bool:
        """Return True the first time."""
        is_new = self._spent.get(click.nonce) is None
        self._spent.put(click.nonce, True)
        return is_new


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
