"""The rows that dedup writes and reads in Cassandra for one event, counted in its statements."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast
from uuid import UUID

from streams.stores.cassandra import CassandraFingerprints, CassandraPages
from streams.stores.cassandra.session import CassandraSession
from streams.stores.opener import memory_stores
from tests.stages.dedup_site import A, B, Site, text_of

_WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_TABLE = re.compile(r"FROM (\w+)")
_SELECTED = re.compile(r"SELECT (.*?) FROM")


class CountingSession:
    """A session that counts partitions by table. It only stores pages and their keys: all other tables are empty."""

    def __init__(self) -> None:
        self.writes: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self._records: dict[UUID, dict[str, bytes]] = {}
        self.rows: dict[UUID, dict[str, Any]] = {}
        self._hints: dict[int, dict[UUID, bytes]] = {}

    async def execute(
        self, cql: str, params: Mapping[str, Any], *, at: int | None = None, **_: Any
    ) -> list[tuple[Any, ...]]:
        if cql.startswith("SELECT"):
            return self._read(cql, params)
        written = _WRITES.findall(cql)
        self.writes.update(Counter(written) - Counter({"pages": written.count("pages") - 1}))
        if "sights" in params or cql.startswith("UPDATE pages"):
            row = self.rows.setdefault(params["page_id"], {"hidden": False})
            names = ("value", "sights", "canonical", "inherited")
            row |= {name: params[name] for name in names if name in params}
            row |= {name: at for name in ("at", "decided_at") if f"{name} = :at" in cql or f" {name}," in cql}
        if "INSERT INTO fingerprints_by_key" in cql:
            for key in (value for name, value in params.items() if name.startswith("key_")):
                self._hints.setdefault(key, {})[params["page_id"]] = params["sketch"]
        if "part" in params:
            self._records.setdefault(params["page_id"], {})[params["part"]] = params.get("record", params["value"])
        return []

    async def execute_many(self, cql: str, many: Iterable[Mapping[str, Any]], **options: Any) -> list[Any]:
        return [await self.execute(cql, params, **options) for params in many]

    async def execute_grouped(self, *statements: tuple[str, Mapping[str, Any]]) -> None:
        for cql, params in statements:
            await self.execute(cql, params, at=params["at"])

    def _read(self, cql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        (table,), (selected,) = _TABLE.findall(cql), _SELECTED.findall(cql)
        self.reads[table] += len(params.get("keys", [0]))
        if table == "fingerprints_by_key":
            return [hint for key in params["keys"] for hint in self._hints.get(key, {}).items()]
        if table != "pages":
            return []
        rows = [{"kind": 1, "name": "", **row} for row in [self.rows.get(params["page_id"])] if row]
        if "kind = 1" not in cql:
            parts = self._records.get(params["page_id"], {})
            rows += [{"kind": 0, "name": name, "value": value} for name, value in parts.items()]
        names = selected.split(", ")
        return [tuple({**row, "page_id": params["page_id"]}.get(name) for name in names) for row in rows]


def site_over(session: CountingSession) -> Site:
    stores, used = memory_stores(), cast(CassandraSession, session)  # what the stage uses of a session
    stores.pages, stores.fingerprints = CassandraPages(used), CassandraFingerprints(used)
    return Site(stores)


HINTS = {"fingerprints_by_key": 3}


async def test_a_new_page_writes_each_hint_once_and_reads_each_key_once() -> None:
    session = CountingSession()
    assert await site_over(session).normalize(A, text_of(1)) == [f"{A} unique", f"{A} settled changed"]
    assert session.writes == {**HINTS, "pages": 1}, "the fingerprint with the decision and the record"
    assert session.reads == {**HINTS, "pages": 1, "url_variants": 1}, "its row only before it is stored"


async def test_a_short_text_is_stored_and_looked_up_by_its_content_alone() -> None:
    session = CountingSession()
    await site_over(session).normalize(A, text_of(1, words=20))
    assert session.writes == {"pages": 1, "fingerprints_by_key": 1}
    assert session.reads == {"pages": 1, "fingerprints_by_key": 1, "url_variants": 1}


async def test_a_page_without_words_has_no_key() -> None:
    session = CountingSession()
    await site_over(session).normalize(A, "")
    assert session.writes == {"pages": 1}
    assert session.reads == {"pages": 1, "url_variants": 1}


async def test_a_page_is_read_again_if_another_page_has_one_of_its_keys() -> None:
    """The worker of that page may have decided about this one meanwhile."""
    session = CountingSession()
    site = site_over(session)
    await site.normalize(B, text_of(1))
    session.rows.clear()  # only its hints are left
    session.reads.clear()
    assert await site.normalize(A, text_of(1)) == [f"{A} unique", f"{A} settled changed"]
    assert session.reads == {**HINTS, "pages": 3, "url_variants": 1}


async def test_a_page_that_comes_twice_or_again_is_read_before_and_after_it_is_written() -> None:
    session = CountingSession()
    site = site_over(session)
    first = await site.normalized(A, text_of(1), 1)
    published = await site.agent.handle(first)
    for one in (first, await site.normalized(A, text_of(2), 2)):
        session.reads.clear()
        again = await site.agent.handle(one)
        assert session.reads["pages"] == 2
        assert one is not first or again == published


async def test_the_removal_of_an_unknown_page_reads_its_record_its_fingerprint_and_its_group() -> None:
    session = CountingSession()
    site = site_over(session)
    await site.agent.handle(site.removed(A, "refused", 1))
    assert session.writes == {"pages": 1}
    assert session.reads == {"pages": 2, "duplicate_groups": 1}


async def test_the_removal_of_a_duplicate_reads_nothing() -> None:
    session = CountingSession()
    site = site_over(session)
    await site.agent.handle(site.removed(A, "duplicate", 1))
    assert (session.writes, session.reads) == ({}, {})
