"""The owner of a host, asked in one place, and the budget of an owner's new hosts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import streams
from streams.crawl.domains import may_be_one_owner, owner_of
from streams.crawl.frontier.hosts.new_hosts import EVERY_SECONDS, MAX_AT_ONCE, PART, NewHostBudget
from streams.crawl.frontier.policy import SECOND

OWNERS = [
    ("a.example.com", "b.example.com", True, "below one registrable domain"),
    ("example.com", "example.com", True, "itself"),
    ("a.co.uk", "b.co.uk", False, "a public suffix is no owner"),
    ("me.github.io", "you.github.io", False, "nor is a platform that the list names"),
    ("example.com", "example.org", False, "another domain"),
    ("10.0.0.1", "10.0.0.2", False, "addresses"),
]


@pytest.mark.parametrize(("host", "other", "is_one", "why"), OWNERS, ids=[row[-1] for row in OWNERS])
def test_whether_two_hosts_may_have_one_owner(host: str, other: str, is_one: bool, why: str) -> None:
    assert may_be_one_owner(host, other) is may_be_one_owner(other, host) is is_one, why
    assert (owner_of(host) == owner_of(other)) is is_one, "the key says the same"


ASKS_FOR_NAMES = {"crawl/domains.py", "search/ranking/named_pages.py"}
"""The modules that ask for a registrable domain as a name, and not as an owner: the second one reads its words."""


def test_nobody_takes_a_registrable_domain_for_an_owner() -> None:
    assert set(_users_of("registrable_domain")) == ASKS_FOR_NAMES


def _users_of(name: str) -> Iterator[str]:
    root = Path(streams.__file__).parent
    for path in root.rglob("*.py"):
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(path.read_bytes()))):
            yield path.relative_to(root).as_posix()


class Clock:
    """A clock that a test sets (seconds)."""

    now = 1_800_000_000

    def __call__(self) -> int:
        return self.now * SECOND


def begin(budget: NewHostBudget, owner: str, finder: str = "") -> bool:
    may_begin = budget.may_begin(owner, finder)
    if may_begin:
        budget.begin(owner, finder)
    return may_begin


def taken(budget: NewHostBudget, owner: str = "a.example", tries: int = 1_000, finder: str = "") -> int:
    return sum(begin(budget, owner, finder) for _ in range(tries))


def test_who_only_asks_spends_nothing() -> None:
    budget = NewHostBudget(Clock())
    assert all(budget.may_begin("a.example", "evil.example") for _ in range(1_000))
    assert taken(budget) == MAX_AT_ONCE


def test_links_of_strangers_spend_a_budget_of_their_own_and_each_stranger_a_part_of_it() -> None:
    clock = Clock()
    budget = NewHostBudget(clock)
    assert taken(budget, finder="evil.example") == MAX_AT_ONCE // PART
    assert taken(budget, "b.example", finder="evil.example") == MAX_AT_ONCE // PART, "hosts of another owner"
    for _ in range(2 * PART):
        clock.now += EVERY_SECONDS
        assert taken(budget, finder="evil.example") <= 1
    assert taken(budget, finder="good.example") == MAX_AT_ONCE // PART
    others = sum(taken(budget, finder=f"s{n}.example") for n in range(100))
    assert others <= MAX_AT_ONCE - MAX_AT_ONCE // PART, "all strangers together"
    assert taken(budget) == MAX_AT_ONCE, "the owner's own links"
    clock.now += EVERY_SECONDS
    assert taken(budget, finder="evil.example") + taken(budget, finder="last.example") == 1


def test_an_owner_begins_some_hosts_at_once_and_one_more_now_and_then() -> None:
    clock = Clock()
    budget = NewHostBudget(clock)
    assert taken(budget) == MAX_AT_ONCE
    assert taken(budget, "b.example") == MAX_AT_ONCE, "another owner"
    clock.now += EVERY_SECONDS
    assert taken(budget) == 1
    clock.now += 30 * 86_400
    assert taken(budget) == MAX_AT_ONCE, "never more"


@pytest.mark.parametrize("jump", [-86_400, 30 * 86_400], ids=["a day back", "a month forward, and back"])
def test_a_clock_that_jumps_stops_no_owner_for_long(jump: int) -> None:
    clock = Clock()
    budget = NewHostBudget(clock)
    taken(budget)
    clock.now += jump
    taken(budget)
    clock.now -= max(jump, 0)
    taken(budget)
    clock.now += EVERY_SECONDS
    assert taken(budget) == 1


def test_the_memory_of_owners_is_bounded() -> None:
    budget = NewHostBudget(Clock(), max_owners=2)
    assert [taken(budget, owner) for owner in ("a", "b", "c", "c", "a")] == [64, 64, 64, 0, 64]
