"""The budgets of answers that gateways share: of a person and the hour, and what happens without a store."""

import asyncio
from datetime import UTC, datetime, timedelta

from streams.answers.budgets import Limits, Refusal
from streams.errors import StoreUnavailable
from streams.gateway.answers.shared_budgets import SharedBudgets
from streams.stores.memory import MemoryNotes
from streams.stores.opener import Stores, memory_stores

START = datetime(2026, 3, 4, 5, 30, tzinfo=UTC)


class Gateways:
    """Gateways over one store, with a clock that is moved by hand."""

    def __init__(self, limits: Limits, stores: Stores | None = None) -> None:
        self.stores, self._limits, self.now = stores or memory_stores(), limits, START
        self.failures = 0
        self._all: list[SharedBudgets] = []

    def fail(self) -> None:
        self.failures += 1

    def start(self, name: str) -> SharedBudgets:
        secret = b"k" * 32
        made = SharedBudgets(
            self._limits, secret, self.stores, lambda: self.now, self.fail, gateway=name, sync_seconds=0.0
        )
        self._all.append(made)
        return made

    async def take(self, gateway: SharedBudgets, person: str = "1.2.3.4") -> Refusal:
        found = await gateway.take(person, self.now)
        for _ in range(50):  # the exchange in the background, with stores in memory
            await asyncio.sleep(0)
        return found

    async def close(self) -> None:
        for gateway in self._all:
            await gateway.close()


async def test_all_gateways_spend_one_budget_of_the_hour() -> None:
    all_of_them = Gateways(Limits(per_person=0, per_hour=4))
    one, two = all_of_them.start("one"), all_of_them.start("two")
    given = [await all_of_them.take(gateway, f"10.0.0.{at}") for at, gateway in enumerate([one, two] * 3)]
    await all_of_them.close()
    assert given.count("") in (4, 5), "the last exchange may be one answer old"
    assert given[-1] == "installation"
    all_of_them.now += timedelta(hours=1)
    assert await all_of_them.take(all_of_them.start("three")) == ""
    await all_of_them.close()


async def test_all_gateways_spend_one_budget_of_a_person() -> None:
    all_of_them = Gateways(Limits(per_person=4, per_hour=0))
    one, two = all_of_them.start("one"), all_of_them.start("two")
    given = [await all_of_them.take(gateway) for gateway in [one, two] * 3]
    assert given.count("") in (4, 5), "the last exchange may be one answer old"
    assert given[-1] == "person"
    assert await all_of_them.take(one, "1.2.3.5") == "", "somebody else"
    await all_of_them.close()
    started_anew = all_of_them.start("one, started anew")
    assert [await all_of_them.take(started_anew) for _ in range(2)][-1] == "person", "a row may be one answer old"
    all_of_them.now += timedelta(minutes=31)
    assert await all_of_them.take(started_anew) == "", "half of the answers are there again after half an hour"
    await all_of_them.close()


async def test_the_store_has_no_address_of_a_person_and_another_hash_on_the_next_day() -> None:
    stores, names = memory_stores(), []
    put = stores.notes.put

    async def noted(shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        names.append(shelf.rsplit(" ", 1)[1])
        await put(shelf, name, value, seconds=seconds, at=at)

    stores.notes.put = noted  # type: ignore[method-assign]  # to look at what is stored
    all_of_them = Gateways(Limits(per_person=4, per_hour=0), stores)
    for _ in range(2):
        gateway = all_of_them.start("one")
        assert [await all_of_them.take(gateway) for _ in range(2)] == ["", ""]
        await gateway.close()
        all_of_them.now += timedelta(days=1)
    assert len(set(names)) == 2
    assert "1.2.3.4" not in "".join(names)


async def test_an_answer_that_the_installation_refuses_costs_the_person_nothing() -> None:
    all_of_them = Gateways(Limits(per_person=2, per_hour=1))
    one = all_of_them.start("one")
    assert [await all_of_them.take(one) for _ in range(3)] == ["", "installation", "installation"]
    all_of_them.now += timedelta(hours=1)
    assert await all_of_them.take(one) == ""
    await all_of_them.close()


async def test_a_row_that_is_written_twice_counts_once() -> None:
    all_of_them = Gateways(Limits(per_person=0, per_hour=2))
    one = all_of_them.start("one")
    assert await all_of_them.take(one) == ""
    await one.close()
    await one.close()
    assert await all_of_them.take(all_of_them.start("two")) == ""
    await all_of_them.close()


class NoNotes(MemoryNotes):
    """A store that is down."""

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        raise StoreUnavailable("Cassandra is down")

    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        raise StoreUnavailable("Cassandra is down")


async def test_without_the_store_each_gateway_counts_by_itself() -> None:
    stores = memory_stores()
    stores.notes = NoNotes()
    for limits, refused in ((Limits(0, 1), "installation"), (Limits(1, 0), "person")):
        all_of_them = Gateways(limits, stores)
        one, two = all_of_them.start("one"), all_of_them.start("two")
        assert [await all_of_them.take(gateway) for gateway in (one, one, two)] == ["", refused, ""]
        assert all_of_them.failures
        await all_of_them.close()


async def test_without_a_limit_the_store_is_not_asked() -> None:
    stores = memory_stores()
    stores.notes = NoNotes()
    all_of_them = Gateways(Limits(per_person=0, per_hour=0), stores)
    one = all_of_them.start("one")
    assert [await all_of_them.take(one), await all_of_them.take(one)] == ["", ""]
    await all_of_them.close()
    assert all_of_them.failures == 0
