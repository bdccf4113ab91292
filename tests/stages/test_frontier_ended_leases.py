"""Leases that ended: a host is written once for a page where the next one follows, and no row keeps such a lease."""

import itertools
from typing import Any

from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.maintenance.frontier_hosts import change_order
from streams.settings import CrawlSettings
from streams.stores.protocols import HostRows
from tests.stages.frontier_world import SECOND, Site, World

HOST, PAGES, LEASE_SECONDS = "a.example", 20, 600
STEP_HOURS = 0.05 / 3_600


def world() -> World:
    paths = [f"/{n}" for n in range(PAGES)]
    links = {"/": [f"https://{HOST}{path}" for path in paths], **{path: list[str]() for path in paths}}
    settings = CrawlSettings(delay_seconds=1, lease_seconds=LEASE_SECONDS)
    web = World({HOST: Site(links=links)}, settings, seed=1, kill_probability=0)
    web.seed(f"https://{HOST}/")
    return web


async def stored_leases(web: World) -> list[Any]:
    row = await web.frontier_store.host(HOST)
    assert row is not None
    return list(row.state.get("leases", ()))  # a row leaves out what is empty


async def run_until_a_lease_ended(web: World) -> LiveHost:
    """Run until an answer was taken, and the stored row still has its lease."""
    while True:
        await web.run(hours=STEP_HOURS)
        live = web.in_memory(HOST)
        if live and live.has_ended_lease:
            assert not live.host.leases
            assert len(await stored_leases(web)) == 1
            return live


async def test_the_row_is_written_once_for_each_page_while_others_follow() -> None:
    web, writes = world(), list[HostRows]()
    write = web.frontier_store.write

    async def count(rows: HostRows) -> None:
        writes.append(rows)
        await write(rows)

    web.frontier_store.write = count  # type: ignore[method-assign]  # of this object only
    await web.run()
    assert len(web.pages()) == PAGES + 1
    assert len([rows for rows in writes if rows.state]) <= PAGES + 8, (
        "robots.txt, the first page and the end cost a few more"
    )
    assert await stored_leases(web) == []


async def test_the_next_worker_drops_the_lease_and_keeps_the_delay() -> None:
    web = world()
    await run_until_a_lease_ended(web)
    web.restart()
    restarted = web.now
    await web.run()
    requests = sorted(web.fetches[HOST])
    assert len(web.pages()) == len(set(web.pages())) == PAGES + 1, "each page is fetched once"
    following = next(begin for begin, _, _ in requests if begin >= restarted)
    assert SECOND <= following - restarted < 2 * SECOND, "the delay begins anew, and nobody waits for the lease's end"
    assert all(begin - end >= SECOND for (_, end, _), (begin, _, _) in itertools.pairwise(requests))
    assert await stored_leases(web) == []


async def test_an_order_for_the_host_outlives_the_worker_that_took_the_answer() -> None:
    """A worker reads the delay of an order before it sets the pace of a host whose lease it drops."""
    web = world()
    await run_until_a_lease_ended(web)
    await change_order(web.frontier_store, HOST, web.now, delay_seconds=60)
    web.restart()
    restarted = web.now
    await web.run()
    following = next(begin for begin, _, _ in sorted(web.fetches[HOST]) if begin >= restarted)
    assert following - restarted >= 60 * SECOND


async def test_the_row_loses_the_lease_where_the_next_url_does_not_follow_after_all() -> None:
    web = world()
    await run_until_a_lease_ended(web)
    await change_order(web.frontier_store, HOST, web.now, blocked=True)
    await web.run(hours=10 / 3_600)
    assert len(web.pages()) < PAGES, "URLs still wait"
    assert await stored_leases(web) == []


async def test_the_backoff_of_a_host_in_trouble_and_the_time_that_it_asks_for_are_written_at_once() -> None:
    trouble = {"outcome": "server_error", "retryable": True}
    asks = {"outcome": "ok", "status": 200, "headers": {"retry-after": "4"}}
    for answer in (trouble, asks):
        web = world()
        web.sites[HOST].script["/3"] = [answer]
        while not any(fetched.url.endswith("/3") for fetched in web.answers):
            await web.run(hours=STEP_HOURS)
        await web.run(hours=STEP_HOURS)  # the answer that arrived is handled
        live = web.in_memory(HOST)
        assert live is not None
        assert not live.has_ended_lease
        row = await web.frontier_store.host(HOST)
        assert row is not None
        assert (row.state["next_at"], row.state.get("leases", [])) == (live.host.next_at, [])
