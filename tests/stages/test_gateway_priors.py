"""Authority and freshness through the whole gateway, and its cache of ranks."""

from collections.abc import Collection
from typing import Any

import pytest

from streams.errors import StoreUnavailable
from streams.search.deadline import Deadline
from streams.search.readers import REST_SECONDS, TTL_SECONDS, HostRanks
from streams.seen.stores import SeenStores
from streams.stores.memory import MemoryHostLinks
from streams.stores.opener import Stores
from streams.stores.protocols import HostRank
from tests.stages.gateway_fakes import Dead, Hanging, client, gateway, searchable, statement

PAGES = [
    {**statement(f"https://{name}.example/", f"A riffle is {what}.", title=f"Riffle {name}"), "published": published}
    for name, what, published in (
        ("a", "a shallow stretch of a river with fast water over stones", "2011-01-01"),
        ("b", "a place in a stream where water breaks over gravel", "2026-03-01"),
        ("c", "the part of a brook that sounds, as its bed is near", ""),
    )
]


@pytest.fixture
async def stores() -> Stores:
    return await searchable(PAGES)


async def ask(stores: Stores, *, explain: bool = True, **settings: Any) -> list[dict[str, Any]]:
    app = gateway(stores, deadline_seconds=20.0, limits=settings)
    async with client(app) as web:
        response = await web.get("/api/v1/search", params={"q": "riffle", "explain": str(explain).lower()})
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    assert len(results) == len(PAGES)
    return results


NONE: dict[str, Any] = {"authority_weight": 0, "freshness_weight": 0}


async def test_a_host_with_a_rank_rises_as_far_as_its_weight_allows(stores: Stores) -> None:
    last = (await ask(stores, **NONE))[-1]["host"]
    await stores.host_links.put_ranks({last: 10_000.0})
    assert (await ask(stores, **NONE))[-1]["host"] == last, "a weight of 0 changes nothing"
    first = (await ask(stores, authority_weight=10.0, freshness_weight=0))[0]
    assert first["host"] == last
    assert (first["parts"]["authority"], first["parts"].get("freshness")) == (10.0, None)
    assert first["score"] == pytest.approx(sum(first["parts"].values()), abs=1e-3)


async def test_in_links_count_before_the_first_ranking(stores: Stores) -> None:
    await stores.host_links.put_in_links("c.example", 9)
    found = {result["host"]: result["parts"]["authority"] for result in await ask(stores, authority_weight=1.0)}
    assert found == {"a.example": 0.0, "b.example": 0.0, "c.example": 0.25}


async def test_a_recent_page_rises(stores: Stores) -> None:
    results = await ask(stores, authority_weight=0, freshness_weight=10.0, freshness_half_life_days=30)
    assert results[0]["host"] == "b.example"
    assert results[0]["parts"]["freshness"] > 9
    assert {one["host"]: one["parts"]["freshness"] for one in results}["a.example"] == 0


async def test_priors_are_explained_on_request_alone(stores: Stores) -> None:
    assert all("parts" not in result for result in await ask(stores, explain=False))
    assert all(set(result["parts"]) >= {"authority", "freshness"} for result in await ask(stores))


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_without_cassandra_results_have_no_authority(stores: Stores, broken: Any) -> None:
    stores.host_links = broken
    assert {result["parts"]["authority"] for result in await ask(stores)} == {0.0}


class Counting(MemoryHostLinks):
    """A store that counts its look-ups. While `down` it refuses them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[set[str]] = []
        self.down = False

    async def ranks(self, hosts: Collection[str]) -> dict[str, HostRank]:
        self.asked.append(set(hosts))
        if self.down:
            raise StoreUnavailable("down")
        return await super().ranks(hosts)


class Cached:
    """Ranks with a cache of three hosts, and a clock of their own."""

    def __init__(self) -> None:
        self.store, self.now, self.failures = Counting(), 0.0, 0
        stores = Stores(host_links=self.store)
        self.ranks = HostRanks(SeenStores(stores), self._failed, max_cached=3, clock=lambda: self.now)

    def _failed(self, store: str, error: BaseException) -> None:
        self.failures += 1

    async def of(self, *hosts: str) -> dict[str, HostRank]:
        return dict(await self.ranks.of(hosts, Deadline(5.0)))


async def test_hosts_are_asked_for_once_also_those_without_a_rank() -> None:
    cached = Cached()
    await cached.store.put_ranks({"a": 2.0})
    assert await cached.of("a", "b") == {"a": HostRank(0, 2.0), "b": HostRank()}
    await cached.of("a", "b", "c")
    await cached.of("a", "b")
    assert cached.store.asked == [{"a", "b"}, {"c"}]


async def test_a_rank_is_read_again_after_its_time() -> None:
    cached = Cached()
    await cached.of("a")
    await cached.store.put_ranks({"a": 3.0})
    cached.now = TTL_SECONDS - 1
    assert await cached.of("a") == {"a": HostRank()}
    cached.now = TTL_SECONDS
    assert await cached.of("a") == {"a": HostRank(0, 3.0)}


async def test_the_cache_is_bounded() -> None:
    cached = Cached()
    for host in "abcd":
        await cached.of(host)
    await cached.of("b", "c", "d")
    assert len(cached.store.asked) == 4
    await cached.of("a")
    assert len(cached.store.asked) == 5


async def test_a_failure_is_counted_and_rests_and_former_ranks_are_used() -> None:
    cached = Cached()
    await cached.store.put_ranks({"a": 2.0})
    await cached.of("a")
    cached.now, cached.store.down = TTL_SECONDS, True
    assert await cached.of("a") == {"a": HostRank(0, 2.0)}
    await cached.of("a", "b")
    assert (len(cached.store.asked), cached.failures) == (2, 1)
    cached.now, cached.store.down = TTL_SECONDS + REST_SECONDS, False
    assert set(await cached.of("a", "b")) == {"a", "b"}
