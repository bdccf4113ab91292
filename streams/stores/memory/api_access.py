"""The keys of the API, the sites, and what clients spent, in memory."""

from streams.stores.protocols import ApiKey, Site, Spending


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


class MemoryApiSpending:
    """See `ApiSpending`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], dict[str, Spending]] = {}

    async def put(self, client: str, day: int, gateway: str, spending: Spending) -> None:
        rows = self._rows.setdefault((client, day), {})
        if gateway not in rows or rows[gateway].at <= spending.at:
            rows[gateway] = spending

    async def of_day(self, client: str, day: int) -> dict[str, Spending]:
        return dict(self._rows.get((client, day), {}))
