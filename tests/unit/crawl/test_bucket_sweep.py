"""Hosts that are due soon are in memory, and all others are read again in time."""

from streams.crawl.frontier.hosts.due_hosts import (
    BUCKETS_AT_ONCE,
    HORIZON_MICROS,
    LEAD_MICROS,
    MIN_PASS_MICROS,
    BucketSweep,
)
from streams.crawl.frontier.policy import SECOND

DAY = 86_400 * SECOND


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


def read_all(sweep: BucketSweep) -> list[int]:
    found: list[int] = []
    while taken := sweep.take():
        assert len(taken) <= BUCKETS_AT_ONCE
        found += taken
    return found


def test_each_bucket_is_read_once_and_again_before_a_host_that_was_left_out_is_due() -> None:
    clock = Clock()
    sweep, buckets = BucketSweep(clock), list(range(0, 4_096, 3))
    sweep.begin(buckets)
    sweep.begin(buckets[:5])
    assert sorted(read_all(sweep)) == buckets
    assert sweep.next_at() is None, "no host was left out"
    due = clock.now + DAY
    assert sweep.keeps(clock.now + HORIZON_MICROS)
    assert not sweep.keeps(due + DAY)
    assert not sweep.keeps(due)
    assert sweep.next_at() == due - LEAD_MICROS
    clock.now = due - LEAD_MICROS
    assert sorted(read_all(sweep)) == buckets
    assert sweep.keeps(due)


def test_readings_keep_their_distance() -> None:
    clock = Clock()
    sweep = BucketSweep(clock)
    sweep.begin([1])
    assert read_all(sweep) == [1]
    sweep.keeps(clock.now + HORIZON_MICROS + 1)
    clock.now += HORIZON_MICROS
    assert read_all(sweep) == [1]
    assert not sweep.keeps(clock.now + HORIZON_MICROS + 1)
    clock.now += MIN_PASS_MICROS
    assert read_all(sweep) == []


def test_lost_buckets_are_not_read_and_failed_ones_are_read_again() -> None:
    sweep = BucketSweep(Clock())
    sweep.begin([1, 2, 3])
    sweep.keep([2, 3, 4])
    assert sweep.take() == [2, 3]
    sweep.give_back([2, 3])
    assert sorted(read_all(sweep)) == [2, 3]
    sweep.give_back([1])
    assert read_all(sweep) == []
