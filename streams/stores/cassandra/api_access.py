"""The keys of the API, their webhooks and the sites in Cassandra."""

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import ApiKey, Hook, Site
from streams.stores.rows import pack_row, unpack_row

_PUT_KEY = "INSERT INTO api_keys (part, id, value) VALUES (0, :id, :value) USING TIMESTAMP :at"
_GET_KEY = "SELECT value FROM api_keys WHERE part = 0 AND id = :id"
_KEYS = "SELECT value FROM api_keys WHERE part = 0"
_PUT_HOOK = "INSERT INTO api_hooks (part, id, value) VALUES (0, :id, :value) USING TIMESTAMP :at"
_REMOVE_HOOK = "DELETE FROM api_hooks USING TIMESTAMP :at WHERE part = 0 AND id = :id"
_HOOKS = "SELECT value FROM api_hooks WHERE part = 0"
_PUT_SITE = "INSERT INTO api_sites (part, name, value) VALUES (0, :name, :value) USING TIMESTAMP :at"
_REMOVE_SITE = "DELETE FROM api_sites USING TIMESTAMP :at WHERE part = 0 AND name = :name"
_SITES = "SELECT value FROM api_sites WHERE part = 0"


class CassandraApiKeys:
    """See `ApiKeys`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, key: ApiKey, at: int) -> None:
        await self._session.execute(_PUT_KEY, {"id": key.id, "value": pack_row(key)}, at=at)

    async def get(self, key_id: str) -> ApiKey | None:
        rows = await self._session.execute(_GET_KEY, {"id": key_id})
        return unpack_row(ApiKey, rows[0][0]) if rows else None

    async def all(self) -> list[ApiKey]:
        return [unpack_row(ApiKey, value) for (value,) in await self._session.execute(_KEYS)]

    async def put_hook(self, hook: Hook, at: int) -> None:
        await self._session.execute(_PUT_HOOK, {"id": hook.id, "value": pack_row(hook)}, at=at)

    async def remove_hook(self, hook_id: str, at: int) -> None:
        await self._session.execute(_REMOVE_HOOK, {"id": hook_id}, at=at)

    async def hooks(self) -> list[Hook]:
        return [unpack_row(Hook, value) for (value,) in await self._session.execute(_HOOKS)]

    async def put_site(self, site: Site, at: int) -> None:
        await self._session.execute(_PUT_SITE, {"name": site.name, "value": pack_row(site)}, at=at)

    async def remove_site(self, name: str, at: int) -> None:
        await self._session.execute(_REMOVE_SITE, {"name": name}, at=at)

    async def sites(self) -> list[Site]:
        return [unpack_row(Site, value) for (value,) in await self._session.execute(_SITES)]
