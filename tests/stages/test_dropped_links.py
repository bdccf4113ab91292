"""Links that a page dropped count no more: events of its versions come in any order, with crashes and copies."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Event, LinkFound, PageNormalized
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.crawl.urls import host_of
from streams.errors import StoreUnavailable
from streams.links.agent import LinksAgent
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryHostLinks, MemoryPages
from streams.stores.page_record import Normalized
from streams.stores.protocols import LinkGroup
from tests.stages.test_links_stage import link

PAGES = ("https://a.example/1", "https://b.example/1")
TARGETS = ("https://hub.example/1", "https://hub.example/2", "https://hub.example/3", "https://third.example/")
MOST_LINKS = 2
"""Maximum number of links of one event, so that pages have several for one host."""
Version = dict[str, bool]
"""The links of a page: each target, with True if it is marked nofollow."""


class DyingLinks(MemoryHostLinks):
    """A store that fails at one of its next calls."""

    calls_left: int | None = None

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name.startswith("_") or not callable(value) or self.calls_left is None:
            return value
        self.calls_left -= 1
        if self.calls_left:
            return value
        raise StoreUnavailable("the store is down")


@dataclass
class Queue:
    """A partition: events in order. What a worker read, but did not commit, comes again."""

    events: list[Event] = field(default_factory=list)
    next: int = 0


class Workers:
    """The stage: a worker for the events of each page, and one for those of each linked host."""

    def __init__(self) -> None:
        self.links = DyingLinks()
        self.pages = MemoryPages(links=self.links)
        self.queues: dict[str, Queue] = {}
        self._agents: dict[str, LinksAgent] = {}

    async def read(self, url: str, version: Version, generation: int) -> None:
        """A page was read: its record is written, then the events are sent."""
        record = Normalized.of_row({"url": url, "generation": generation})
        await self.pages.put(page_id(url), record, generation)
        for host in sorted({host_of(target) for target in version}):
            of_host = [target for target in version if host_of(target) == host]
            for first in range(0, len(of_host), MOST_LINKS):
                self.send(host, found(url, of_host[first : first + MOST_LINKS], version, generation))
        self.send(url, normalized(url, generation))

    def send(self, key: str, event: Event) -> None:
        self.queues.setdefault(key, Queue()).events.append(event)

    async def step(self, key: str, calls_left: int | None = None) -> None:
        """The worker of a key takes its next event. With `calls_left`, the store fails and the worker starts again."""
        queue = self.queues[key]
        if queue.next == len(queue.events):
            return
        event = queue.events[queue.next]
        agent = self._agents.setdefault(key, LinksAgent(self.links, self.pages))
        self.links.calls_left = calls_left
        try:
            outputs = await agent.handle(Delivery(event, link(TARGETS[0]).envelope, event.topic, 0, 0))
        except StoreUnavailable:
            del self._agents[key]
            return
        finally:
            self.links.calls_left = None
        for output in outputs:
            self.send(output.key(), output)
        queue.next += 1

    def rewind(self, key: str, events: int) -> None:
        """The worker of a key is killed, and its last events come again."""
        self._agents.pop(key, None)
        self.queues[key].next = max(0, self.queues[key].next - events)

    async def finish(self) -> None:
        while any(queue.next < len(queue.events) for queue in self.queues.values()):
            for key in list(self.queues):
                await self.step(key)

    async def state(self) -> dict[str, Any]:
        """Return all that is stored."""
        hosts = {host_of(target) for target in TARGETS}
        ranks = await self.links.ranks(hosts)
        return {
            "sources": {host: await self.links.sources(host, 99) for host in hosts},
            "counts": {host: ranks[host].in_links if host in ranks else 0 for host in hosts},
            "to pages": {
                url: sorted(map(str, await self.links.page_links(host_of(url), page_id(url), 99))) for url in TARGETS
            },
            "of pages": {url: sorted(map(str, await self.links.links_of(page_id(url)))) for url in PAGES},
        }


def found(url: str, targets: Sequence[str], version: Version, generation: int) -> LinkFound:
    first, *more = (MoreLink(target_url=target, nofollow=version[target]) for target in targets)
    return LinkFound(
        target_page_id=page_id(first.target_url),
        target_host=host_of(first.target_url),
        source_page_id=page_id(url),
        source_url=url,
        generation=generation,
        more=tuple(more),
        **first.model_dump(),
    )


def normalized(url: str, generation: int) -> PageNormalized:
    return PageNormalized.model_validate(
        {
            "page_id": page_id(url),
            "url": url,
            "host": host_of(url),
            "generation": generation,
            "document_ref": "0" * 64,
            "content_hash": "0" * 64,
        }
    )


async def stored(*versions: Version) -> dict[str, Any]:
    """Return what is stored after the versions of the first page were read, each to its end."""
    workers = Workers()
    for generation, version in enumerate(versions, start=1):
        await workers.read(PAGES[0], version, generation)
        await workers.finish()
    return await workers.state()


@pytest.mark.parametrize(
    ("former", "last"),
    [
        ({TARGETS[0]: False}, {}),
        ({TARGETS[0]: False, TARGETS[1]: False}, {TARGETS[0]: False}),
        ({TARGETS[0]: False, TARGETS[1]: False}, {TARGETS[1]: False}),
        ({TARGETS[0]: False, TARGETS[1]: False}, {TARGETS[1]: False, TARGETS[0]: False}),
        ({TARGETS[0]: False, TARGETS[3]: False}, {TARGETS[3]: False}),
        ({TARGETS[0]: False}, {TARGETS[0]: True}),
        ({TARGETS[0]: True}, {TARGETS[0]: False}),
        (dict.fromkeys(TARGETS, False), {TARGETS[2]: False}),
        ({TARGETS[2]: False}, dict.fromkeys(TARGETS, False)),
    ],
)
async def test_the_links_of_the_last_version_are_stored(former: Version, last: Version) -> None:
    after, expected = await stored(former, last), await stored({}, last)
    assert after == expected
    assert await stored(former, last, last, former) == await stored({}, {}, {}, former)


VERSIONS = st.lists(
    st.tuples(st.sampled_from(PAGES), st.dictionaries(st.sampled_from(TARGETS), st.booleans())), min_size=1, max_size=4
)
KEYS = (*PAGES, "hub.example", "third.example")
ACTS = st.tuples(
    st.sampled_from(("read", "step", "step", "step", "crash", "rewind")), st.sampled_from(KEYS), st.integers(1, 4)
)


@given(versions=VERSIONS, acts=st.lists(ACTS, max_size=40))
def test_the_store_has_the_links_of_the_last_versions_after_all(
    versions: list[tuple[str, Version]], acts: list[tuple[str, str, int]]
) -> None:
    asyncio.run(check(versions, acts))


async def check(versions: list[tuple[str, Version]], acts: list[tuple[str, str, int]]) -> None:
    workers, expected = Workers(), Workers()
    waiting = [(url, version, generation) for generation, (url, version) in enumerate(versions, start=1)]
    last = {url: (version, generation) for url, version, generation in waiting}
    for act, key, number in acts:
        if act == "read" and waiting:
            await workers.read(*waiting.pop(0))
        elif key in workers.queues:
            match act:
                case "step":
                    await workers.step(key)
                case "crash":
                    await workers.step(key, calls_left=number)
                case "rewind":
                    workers.rewind(key, number)
    for rest in waiting:
        await workers.read(*rest)
    await workers.finish()
    for url, (version, generation) in last.items():
        await expected.read(url, version, generation)
    await expected.finish()
    assert await workers.state() == await expected.state()


async def test_a_version_that_comes_late_takes_its_links_back() -> None:
    """The same links were stored from the version before it."""
    workers = Workers()
    await workers.read(PAGES[0], {TARGETS[3]: False}, 1)
    await workers.step("third.example")
    await workers.read(PAGES[0], {TARGETS[3]: False}, 2)
    await workers.read(PAGES[0], {}, 3)
    await workers.finish()
    assert await workers.state() == await stored({})


async def test_links_that_come_after_a_later_version_are_not_stored() -> None:
    workers = Workers()
    await workers.read(PAGES[0], {TARGETS[0]: False, TARGETS[3]: False}, 1)
    await workers.read(PAGES[0], {TARGETS[3]: False}, 2)
    for _ in range(2):
        await workers.step(PAGES[0])  # the worker of the page finds nothing yet
    await workers.finish()
    assert (await workers.state())["of pages"][PAGES[0]] == [str(LinkGroup((TARGETS[3],), 2))]
    assert (await workers.state())["counts"] == {"hub.example": 0, "third.example": 1}
