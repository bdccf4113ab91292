"""The keys of the API and the sites in memory."""

from streams.stores.protocols import ApiKey, Site


class MemoryApiKeys:
    """See `ApiKeys`."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[int, ApiKey]] = {}
        self._sites: dict[str, tuple[int, Site | None]] = {}

    async def put(self, key: ApiKey, at: int) -> None:
        if key.id not in self._keys or self._keys[key.id][0] <= at:
            self._keys[key.id] = at, key

    async def get(self, key_id: str) -> ApiKey | None:
        return self._keys[key_id][1] if key_id in self._keys else None

    async def all(self) -> list[ApiKey]:
        return [key for _, (_, key) in sorted(self._keys.items())]

    async def put_site(self, site: Site, at: int) -> None:
        self._write_site(site.name, site, at)

    async def remove_site(self, name: str, at: int) -> None:
        self._write_site(name, None, at)

    async def sites(self) -> list[Site]:
        return [site for _, (_, site) in sorted(self._sites.items()) if site]

    def _write_site(self, name: str, site: Site | None, at: int) -> None:
        if name not in self._sites or self._sites[name][0] <= at:
            self._sites[name] = at, site
