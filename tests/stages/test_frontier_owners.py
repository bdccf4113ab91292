"""Two frontier workers, of which one has lost its partition."""

import pytest

from schemas import PageScheduled
from schemas.ids import page_id
from streams.crawl.frontier.agent import FrontierAgent, MovedHost
from streams.crawl.frontier.fence import LostPartition
from streams.errors import TransientError
from streams.settings import CrawlSettings
from streams.stores.host_buckets import partition_of
from streams.stores.memory import MemoryFrontier, MemoryHostLinks
from streams.stores.opener import Stores
from tests.stages.frontier_world import SECOND, START, World, delivery, discovered
from tests.stages.test_frontier import all_rows
from tests.stages.test_frontier_outages import hosts


async def worlds_agents() -> tuple[World, FrontierAgent]:
    """Return a world whose crawl the second worker has finished, and the first worker, stopped in the middle of it."""
    web = World(hosts(4, 6), CrawlSettings(delay_seconds=1, lease_seconds=30), seed=1, kill_probability=0)
    for name in web.sites:
        web.seed(f"https://{name}/")
    await web.run(hours=3 / 3_600)
    stopped = web.agent
    assert stopped.state.hosts.leased or len(stopped.state.hosts.due)
    web.restart()
    web.now += 60 * SECOND
    await web.run()
    assert len(web.pages()) == 24
    return web, stopped


async def test_a_worker_that_lost_its_partition_changes_nothing() -> None:
    web, stopped = await worlds_agents()
    before, requests = all_rows(web), len(web.pages())
    await stopped.dispatcher.visit_due()
    await stopped.dispatcher.visit_due()
    assert all_rows(web) == before
    await web.run()
    assert len(web.pages()) == requests
    assert stopped.state.hosts.owned == frozenset(), "it does not claim the partition again by itself"


async def test_an_event_of_a_lost_partition_is_not_handled() -> None:
    web, stopped = await worlds_agents()
    event = discovered("https://h0.example/new")
    with pytest.raises(LostPartition):
        await stopped.handle(delivery(event, page_id("x"), web.now))
    assert await web.frontier_store.url(event.host, event.page_id) is None


async def test_an_event_before_the_first_round_is_fenced_against_the_former_owner() -> None:
    """The former owner was held, and knows nothing of the assignment. It would write over what the event writes."""
    web, former = await worlds_agents()
    web.restart()
    new = web.agent  # its partitions are assigned, and its dispatcher has had no round yet
    owner = (await web.frontier_store.owners())[0]
    await new.handle(delivery(discovered("https://h0.example/new"), page_id("x"), web.now))
    assert (await web.frontier_store.owners())[0] != owner
    with pytest.raises(LostPartition):
        await former.handle(delivery(discovered("https://h0.example/late"), page_id("y"), web.now))


async def test_an_event_of_a_partition_that_is_not_assigned_is_not_handled() -> None:
    store = MemoryFrontier()
    agent = FrontierAgent(
        CrawlSettings(), Stores(frontier=store, host_links=MemoryHostLinks()), now=lambda: START, random=lambda: 0.5
    )
    event = discovered("https://a.example/", why="seed", force=True)
    with pytest.raises(TransientError):
        await agent.handle(delivery(event, page_id("x"), START))
    assert await store.url(event.host, event.page_id) is None
    assert await store.owners() == {}


async def test_a_partition_that_comes_back_at_once_is_read_again() -> None:
    """The dispatcher may have no round between two assignments, if its store answers late."""
    web = World(hosts(4, 6), CrawlSettings(delay_seconds=1, lease_seconds=30), seed=1, kill_probability=0)
    for name in web.sites:
        web.sites[name].script["/"] = [None]  # its first lease ends without an answer
        web.seed(f"https://{name}/")
    await web.run(hours=3 / 3_600)
    away = web.agent
    assert away.state.hosts.leased
    await away.revoked()
    await away.assigned(frozenset())
    web.restart()
    await web.run()
    await web.agent.revoked()
    await web.agent.assigned(frozenset())
    before, requests = all_rows(web), len(web.pages())
    await away.assigned(frozenset({0}))
    assert away.state.hosts.leased == 0, "another worker has ended the leases since"
    web.agent = away
    await web.run()
    assert all_rows(web) == before
    assert len(web.pages()) == requests


async def test_a_partition_that_is_still_assigned_is_claimed_again_after_a_while() -> None:
    """Otherwise a late claim of a former owner would leave the partition without any."""
    web, stopped = await worlds_agents()
    await stopped.dispatcher.visit_due()
    await stopped.dispatcher.visit_due()
    web.now += 61 * SECOND
    await stopped.dispatcher.visit_due()
    assert stopped.state.hosts.owned == frozenset({0})


async def test_nothing_is_scheduled_between_revoke_and_the_next_assignment() -> None:
    sent: list[PageScheduled] = []

    async def emit(event: object, _: str) -> None:
        if isinstance(event, PageScheduled):
            sent.append(event)

    stores = Stores(frontier=MemoryFrontier(), host_links=MemoryHostLinks())
    agent = FrontierAgent(CrawlSettings(), stores, now=lambda: START, random=lambda: 0.5)
    agent.connect(emit)
    await agent.assigned(frozenset({0}))
    await agent.handle(delivery(discovered("https://a.example/", why="seed", force=True), page_id("x"), START))
    await agent.revoked()
    await agent.dispatcher.visit_due()
    assert sent == []
    await agent.assigned(frozenset({0}))
    await agent.dispatcher.visit_due()
    assert [event.url for event in sent] == ["https://a.example/robots.txt"]


@pytest.mark.parametrize("is_owner", [True, False])
async def test_an_event_of_a_former_partition_is_handled_by_todays_owner_of_the_host_alone(is_owner: bool) -> None:
    """The topics had 4 partitions when it was sent, and have 6 now."""
    store = MemoryFrontier()
    agent = FrontierAgent(
        CrawlSettings(), Stores(frontier=store, host_links=MemoryHostLinks()), now=lambda: START, random=lambda: 0.5
    )
    agent.partition_count = 6
    event = discovered("https://b.example/", why="seed", force=True)
    former, today = partition_of("b.example", 4), partition_of("b.example", 6)
    assert former != today
    await agent.assigned(frozenset({former, today}) if is_owner else frozenset({former}))
    late = delivery(event, page_id("x"), START, partitions=4)
    if not is_owner:
        with pytest.raises(MovedHost):
            await agent.handle(late)
        assert await store.url(event.host, event.page_id) is None
        return
    agent.connect(nothing)
    await agent.handle(late)
    await agent.dispatcher.visit_due()
    assert agent.state.hosts.leased == 1, "the host is scheduled"


async def nothing(_event: object, _cause: str) -> None: ...


@pytest.mark.parametrize("after", [2, 8, 4_096, *(pytest.param(after, marks=pytest.mark.night) for after in (3, 12))])
async def test_a_crawl_continues_after_the_number_of_partitions_was_changed(after: int) -> None:
    web = World(hosts(10, 8), CrawlSettings(delay_seconds=1), seed=1, kill_probability=0)
    web.partitions = 8 if after != 8 else 1
    web.restart()
    for name in web.sites:
        web.seed(f"https://{name}/")
    await web.run(hours=4 / 3_600)
    assert 0 < len(web.pages()) < 80
    web.partitions = after
    web.restart()
    await web.run()
    assert sorted(web.pages()) == sorted(set(web.pages()))
    assert len(web.pages()) == 80
    for requests in web.fetches.values():
        assert [url for *_, url in requests if url.endswith("/robots.txt")] == [requests[0][2]]
