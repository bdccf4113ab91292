"""The queue head of a host, and the due hosts."""

import random
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.frontier.hosts import due_hosts
from streams.crawl.frontier.hosts.due_hosts import SPARE_ENTRIES, DueHosts
from streams.crawl.frontier.hosts.live_host import HEAD_ENTRIES, Head
from streams.stores.protocols import QueueEntry


def entry(position: int) -> QueueEntry:
    return QueueEntry(position, UUID(int=position))


@given(st.lists(st.integers(0, 500), unique=True), st.lists(st.integers(0, 500), unique=True))
def test_a_head_gives_the_queue_in_order(stored: list[int], pushed: list[int]) -> None:
    """Entries that are stored before and pushed later all come out, in order, of head and store together."""
    queue = {entry(position) for position in stored}
    head, taken, cursor = Head(), [], -1
    later = [position for position in pushed if position not in stored]
    for position in [*later, None]:
        if position is not None and position > cursor:
            queue.add(entry(position))
            head.push(entry(position))
        for _ in range(1 if position is not None else 2_000):
            if not head.known:
                head.fill(sorted(e for e in queue if e.position > cursor)[:HEAD_ENTRIES])
            if head.first() is None:
                break
            cursor = head.take().position
            taken.append(cursor)
    assert taken == sorted(taken)
    assert set(taken) == {e.position for e in queue}


def test_a_head_is_bounded() -> None:
    head = Head()
    head.fill([])
    for position in reversed(range(1_000)):
        head.push(entry(position))
    assert len(head.pages()) == HEAD_ENTRIES
    assert head.first() == entry(0)
    assert not head.complete


@pytest.mark.parametrize("spare", [0, SPARE_ENTRIES])
@given(puts=st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.integers(0, 20))), now=st.integers(0, 20))
def test_hosts_are_due_by_the_last_time_put(spare: int, puts: list[tuple[str, int | None]], now: int) -> None:
    due, last = DueHosts(), dict[str, int | None]()
    with patch.object(due_hosts, "SPARE_ENTRIES", spare):
        for host, when in puts:
            due.put(host, when)
            last[host] = when
    rng = random.Random(1)
    popped = []
    while (found := due.pop(now, rng.random)) is not None:
        popped.append(found)
    assert sorted(popped) == sorted(host for host, when in last.items() if when is not None and when <= now)
    later = [when for when in last.values() if when is not None and when > now]
    assert due.next_at() == min(later, default=None)
    assert len(due) == len(later)


def test_the_next_of_the_due_hosts_is_random() -> None:
    firsts = set()
    for seed in range(50):
        due = DueHosts()
        for host in "abc":
            due.put(host, 0)
        firsts.add(due.pop(1, random.Random(seed).random))
    assert firsts == {"a", "b", "c"}


def test_better_hosts_come_earlier_and_no_host_waits_for_ever() -> None:
    due, rng = DueHosts(), random.Random(1)
    for host in range(100):
        due.put(f"host{host:02}", 0, priority=host / 100)
    order = [due.pop(1, rng.random) for _ in range(100)]
    assert sorted(map(str, order)) == [f"host{host:02}" for host in range(100)]
    places = {host: place for place, host in enumerate(order)}
    mean = [sum(places[f"host{host:02}"] for host in span) / 50 for span in (range(50), range(50, 100))]
    assert mean[1] < mean[0] - 10


def test_former_times_of_hosts_are_dropped() -> None:
    """A host whose time changes with each event would else leave an entry for each of them, until that time comes."""
    due, hosts = DueHosts(), [f"h{number}.example" for number in range(10)]
    for number in range(20_000):
        due.put(hosts[number % 10], 1_000_000 - number)
        if not number % 7:
            due.put(hosts[number % 10], None)
    assert len(due._heap) <= 2 * len(hosts) + SPARE_ENTRIES
    for number, host in enumerate(hosts):
        due.put(host, 100 + number)
    assert [due.pop(100 + number, lambda: 0.0) for number in range(10)] == hosts
    assert due.next_at() is None
