"""The keys of the API and the sites in Cassandra."""

from typing import Any

import msgpack

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import ApiKey, Site

_PUT_KEY = "INSERT INTO api_keys (part, id, value) VALUES (0, :id, :value) USING TIMESTAMP :at"
_GET_KEY = "SELECT value FROM api_keys WHERE part = 0 AND id = :id"
_KEYS = "SELECT value FROM api_keys WHERE part = 0"
_PUT_SITE = "INSERT INTO api_sites (part, name, value) VALUES (0, :name, :value) USING TIMESTAMP :at"
_REMOVE_SITE = "DELETE FROM api_sites USING TIMESTAMP :at WHERE part = 0 AND name = :name"
_SITES = "SELECT value FROM api_sites WHERE part = 0"


class CassandraApiKeys:
    """See `ApiKeys`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, key: ApiKey, at: int) -> None:
        fields = (
            key.id, key.name, key.digest, key.scopes, key.created, key.expires, key.revoked, key.per_minute,
            key.per_day, key.site,
        )  # fmt: skip
        await self._session.execute(_PUT_KEY, {"id": key.id, "value": _packed(fields)}, at=at)

    async def get(self, key_id: str) -> ApiKey | None:
        rows = await self._session.execute(_GET_KEY, {"id": key_id})
        return _key_of(rows[0][0]) if rows else None

    async def all(self) -> list[ApiKey]:
        return [_key_of(value) for (value,) in await self._session.execute(_KEYS)]

    async def put_site(self, site: Site, at: int) -> None:
        value = _packed((site.name, site.title, site.hosts, site.is_private))
        await self._session.execute(_PUT_SITE, {"name": site.name, "value": value}, at=at)

    async def remove_site(self, name: str, at: int) -> None:
        await self._session.execute(_REMOVE_SITE, {"name": name}, at=at)

    async def sites(self) -> list[Site]:
        return [Site(*msgpack.unpackb(value, use_list=False)) for (value,) in await self._session.execute(_SITES)]


def _key_of(value: bytes) -> ApiKey:
    return ApiKey(*msgpack.unpackb(value, use_list=False))


def _packed(fields: tuple[Any, ...]) -> bytes:
    packed = msgpack.packb(fields)
    assert isinstance(packed, bytes)
    return packed
