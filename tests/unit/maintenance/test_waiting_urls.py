"""The reason why a page waits: what its host waits for, and not only that it waits."""

from dataclasses import replace
from typing import Any

import pytest

from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.robots import parse
from streams.crawl.urls import page_urls
from streams.ledger.descriptions import describe_next_step, describe_status
from streams.ledger.status import PageStatus, with_frontier
from streams.maintenance.frontier_hosts import describe_wait, read_in_frontier
from streams.robot_name import ProductToken
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryBlobs, MemoryFrontier
from streams.stores.protocols import ALL_HOSTS, FrontierUrl, HostOrder, HostRows
from tests.frontier_rows import put_urls

HOST, URL = "a.example", "https://a.example/one"
NOW = 1_800_000_000_000_000  # 2027-01-15 08:00 UTC
HOUR = 3_600_000_000
QUEUED = FrontierUrl(page_id(URL), URL, HOST, "queued", at=1)
ROBOT = ProductToken("riffle")
WAITING = PageStatus(status="waiting", waits_for="frontier", next_step="wait")
LATER = "It is asked again at 2027-01-15 09:00 UTC"
NIGHT = parse(b"User-agent: *\nVisit-time: 0000-0100", ROBOT).windows


def host(**state: Any) -> Host:
    return Host(bucket_of(HOST), HOST, **state)


@pytest.mark.parametrize(
    ("url", "state", "order", "says"),
    [
        pytest.param(QUEUED, host(), None, "Waiting for a.example", id="its turn"),
        pytest.param(QUEUED, None, None, "Waiting for a.example", id="a host without a row"),
        pytest.param(
            QUEUED,
            host(next_at=NOW + HOUR, robots=Robots("unreachable", detail="Domain name not found")),
            None,
            "Waiting: the robots.txt of a.example can't be read (Domain name not found), so nothing else is requested. "
            + LATER,
            id="a host that can't be reached",
        ),
        pytest.param(
            replace(QUEUED, outcome="rate_limited", detail="status 429"),
            host(next_at=NOW + HOUR),
            None,
            f"Waiting: a.example asks for fewer requests (status 429). {LATER}",
            id="a host that asks for a pause",
        ),
        pytest.param(
            replace(QUEUED, outcome="server_error", detail="status 500"),
            host(),
            None,
            "Waiting for a.example (status 500)",
            id="a fetch that failed",
        ),
        pytest.param(
            QUEUED,
            host(robots=Robots("rules", windows=NIGHT)),
            None,
            "Waiting for a.example (its robots.txt allows visits only at some times of day)",
            id="a time of day",
        ),
        pytest.param(
            QUEUED, host(), HostOrder(HOST, blocked=True), "Waiting: an operator has blocked a.example", id="blocked"
        ),
        pytest.param(
            QUEUED, host(), HostOrder(ALL_HOSTS, paused=True), "Waiting: an operator has paused all hosts", id="paused"
        ),
        pytest.param(QUEUED, host(), HostOrder(HOST, delay_seconds=5), "Waiting for a.example", id="only slower"),
    ],
)
async def test_a_page_waits_for_what_its_host_waits_for(
    url: FrontierUrl, state: Host | None, order: HostOrder | None, says: str
) -> None:
    row = state.to_row(None, 1) if state else None
    assert describe_wait(url, row, [order] if order else [], NOW) == says
    store = MemoryFrontier()
    await put_urls(store, [url])
    if row:
        await store.write(HostRows(HOST, row))
    if order:
        await store.put_order(order)
    found = await read_in_frontier(store, MemoryBlobs(), ROBOT, URL, NOW)
    status = with_frontier(WAITING, found.waits, is_asked_for=found.is_asked_for)
    assert (describe_status(status), status.next_step) == (says, "wait")


async def test_a_page_that_only_links_name_waits_for_nothing() -> None:
    found = await read_in_frontier(MemoryFrontier(), MemoryBlobs(), ROBOT, URL, NOW)
    status = with_frontier(WAITING, found.waits, is_asked_for=found.is_asked_for)
    assert describe_status(status) == "Known by links only: no crawl has asked for it"
    assert describe_next_step(status, URL) == f"Crawl it: riffle crawl {URL}"


@pytest.mark.parametrize(
    "status",
    [
        PageStatus(status="indexed", statements=3),
        PageStatus(status="indexed", statements=3, waits_for="frontier"),
        PageStatus(status="waiting", waits_for="embed"),
    ],
)
async def test_a_page_that_does_not_wait_for_the_frontier_keeps_its_status(status: PageStatus) -> None:
    assert with_frontier(status, "Known by links only", is_asked_for=False) == status


@pytest.mark.parametrize(
    ("address", "urls"),
    [
        ("https://a.example/en/index.html", ["https://a.example/en/index.html", "https://a.example/en/"]),
        ("https://a.example/en/index.htm", ["https://a.example/en/index.htm", "https://a.example/en/"]),
        ("https://a.example/en/", ["https://a.example/en/", "https://a.example/en/index.html"]),
        ("https://a.example/en/Index.html", ["https://a.example/en/Index.html"]),  # often an index of terms
        ("https://a.example/en/genindex.html", ["https://a.example/en/genindex.html"]),
        ("https://a.example/en", ["https://a.example/en"]),
        ("https://a.example/?q=index.html", ["https://a.example/?q=index.html"]),
    ],
)
def test_a_folder_and_its_index_file_are_one_page(address: str, urls: list[str]) -> None:
    assert list(page_urls(address)) == urls
