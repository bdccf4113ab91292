"""The owner of a host, asked in one place, and the budget of an owner's new hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.domains import may_be_one_owner, owner_of, surely_independent, surely_one_owner
from streams.crawl.frontier.hosts.new_hosts import EVERY_SECONDS, MAX_AT_ONCE, PART, NewHostBudget
from streams.crawl.frontier.policy import SECOND

# Two hosts -> whether they surely have one owner, may have one, and are surely independent.
PAIRS = [
    ("example.com", "example.com", True, True, False, "itself"),
    ("www.example.com", "example.com", True, True, False, "with and without www"),
    ("www.example.co.uk", "example.co.uk", True, True, False, "below a suffix with two labels"),
    ("www.xn--bcher-kva.example", "xn--bcher-kva.example", True, True, False, "in another script"),
    ("a.example.com", "b.example.com", False, True, False, "below one registrable domain"),
    ("example.com", "shop.example.com", False, True, False, "a domain and a name below it"),
    ("www.shop.example.com", "www.example.com", False, True, False, "both with www"),
    (
        "me.wordpress.com",
        "you.wordpress.com",
        False,
        True,
        False,
        "a platform that no list names",
    ),
    ("wordpress.com", "you.wordpress.com", False, True, False, "the platform itself"),
    ("me.github.io", "you.github.io", False, False, False, "a platform that it names"),
    ("me.pages.dev", "you.pages.dev", False, False, False, "another one"),
    ("www.pages.dev", "pages.dev", False, False, False, "somebody who is called www there"),
    ("x.me.github.io", "you.github.io", False, False, False, "a name below a name of a platform"),
    ("me.uk.com", "you.uk.com", False, False, False, "a company that sells names below its own"),
    ("bucket.s3.amazonaws.com", "other.s3.amazonaws.com", False, False, False, "a server with folders of many people"),
    ("a.co.uk", "b.co.uk", False, False, True, "a registry's suffix is no owner"),
    ("www.co.uk", "co.uk", False, False, True, "somebody who is called www there"),
    ("example.com", "example.org", False, False, True, "another domain"),
    ("a.example.com", "example.org", False, False, True, "names that two people registered"),
    ("10.0.0.1", "10.0.0.1", True, True, False, "an address"),
    ("10.0.0.1", "10.1.0.1", False, False, True, "addresses with one end"),
    ("[2001:db8::1]", "[2001:db8::2]", False, False, True, "addresses of IPv6"),
    ("wiki.corp", "shop.corp", False, False, True, "names of the operator's own network"),
    ("localhost", "localhost", True, True, False, "a name of one label"),
]


@pytest.mark.parametrize(("host", "other", "surely", "maybe", "apart", "why"), PAIRS, ids=[row[-1] for row in PAIRS])
def test_who_owns_two_hosts(host: str, other: str, surely: bool, maybe: bool, apart: bool, why: str) -> None:
    for one, two in ((host, other), (other, host)):
        found = (surely_one_owner(one, two), may_be_one_owner(one, two), surely_independent(one, two))
        assert found == (surely, maybe, apart), why
    assert (owner_of(host) == owner_of(other)) is maybe, "the key says the same"
    assert surely <= maybe <= (not apart), "what is sure may be, and who may be one owner is not independent"


HOSTS = st.lists(st.sampled_from(["www", "a", "b", "github", "io", "com", "co", "uk", "pages", "dev", "1"]), min_size=1)


@given(HOSTS.map(".".join), HOSTS.map(".".join))
def test_no_two_answers_contradict_each_other(host: str, other: str) -> None:
    assert surely_one_owner(host, other) <= may_be_one_owner(host, other)
    assert not (may_be_one_owner(host, other) and surely_independent(host, other))


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
