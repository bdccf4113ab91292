"""The rows that dedup writes and reads in Cassandra for one event, counted in its statements."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from streams.stores.cassandra import CassandraFingerprints
from streams.stores.memory import MemoryBlobs, MemoryFrontier, MemoryLedger, MemoryPages
from streams.stores.opener import Stores
from tests.stages.dedup_site import A, Site, text_of

_WRITES = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_TABLE = re.compile(r"FROM (\w+)")
_SELECTED = re.compile(r"SELECT (.*?) FROM")


class CountingSession:
    """A session that counts rows by table. It only stores fingerprints: all other tables are empty."""

    def __init__(self) -> None:
        self.writes: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self._rows: dict[UUID, dict[str, Any]] = {}

    async def execute(
        self, cql: str, params: Mapping[str, Any], *, at: int | None = None, **_: Any
    ) -> list[tuple[Any, ...]]:
        if cql.startswith("SELECT"):
            return self._read(cql, params)
        self.writes.update(_WRITES.findall(cql))
        if "INSERT INTO fingerprints (" in cql or cql.startswith("UPDATE fingerprints"):
            row = self._rows.setdefault(params["page_id"], {"hidden": False})
            names = ("value", "sights", "canonical", "inherited")
            row |= {name: params[name] for name in names if name in params}
            row |= {name: at for name in ("at", "decided_at") if f"{name} = :at" in cql or f" {name}," in cql}
        return []

    async def execute_many(self, cql: str, many: Iterable[Mapping[str, Any]], **options: Any) -> list[Any]:
        return [await self.execute(cql, params, **options) for params in many]

    async def execute_grouped(self, *statements: tuple[str, Mapping[str, Any]]) -> None:
        for cql, params in statements:
            await self.execute(cql, params, at=params["at"])

    def _read(self, cql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        (table,), (selected,) = _TABLE.findall(cql), _SELECTED.findall(cql)
        self.reads[table] += len(params.get("keys", [0]))
        row = self._rows.get(params["page_id"]) if table == "fingerprints" else None
        return [tuple({**row, "page_id": params["page_id"]}.get(name) for name in selected.split(", "))] if row else []


def site_over(session: CountingSession) -> Site:
    fingerprints = CassandraFingerprints(session)  # type: ignore[arg-type] # what it uses of a session
    return Site(
        Stores(
            blobs=MemoryBlobs(),
            pages=MemoryPages(),
            ledger=MemoryLedger(),
            fingerprints=fingerprints,
            frontier=MemoryFrontier(),
        )
    )


HINTS = {"fingerprints_by_key": 3}


async def test_a_new_page_writes_each_hint_once_and_reads_each_key_once() -> None:
    session = CountingSession()
    assert await site_over(session).normalize(A, text_of(1)) == [f"{A} unique", f"{A} settled changed"]
    assert session.writes == {**HINTS, "fingerprints": 1}, "the fingerprint with the decision"
    # Its own row: after it is stored. The page's record tells that there was none before.
    assert session.reads == {**HINTS, "fingerprints": 1, "url_variants": 1}


async def test_a_short_text_is_stored_and_looked_up_by_its_content_alone() -> None:
    session = CountingSession()
    await site_over(session).normalize(A, text_of(1, words=20))
    assert session.writes == {"fingerprints": 1, "fingerprints_by_key": 1}
    assert session.reads == {"fingerprints": 1, "fingerprints_by_key": 1, "url_variants": 1}


async def test_a_page_without_words_has_no_key() -> None:
    session = CountingSession()
    await site_over(session).normalize(A, "")
    assert session.writes == {"fingerprints": 1}
    assert session.reads == {"fingerprints": 1, "url_variants": 1}


async def test_the_removal_of_an_unknown_page_reads_two_rows() -> None:
    session = CountingSession()
    site = site_over(session)
    await site.agent.handle(site.removed(A, "refused", 1))
    assert session.writes == {"fingerprints": 1}
    assert session.reads == {"fingerprints": 1, "duplicate_groups": 1}


async def test_the_removal_of_a_duplicate_reads_nothing() -> None:
    session = CountingSession()
    site = site_over(session)
    await site.agent.handle(site.removed(A, "duplicate", 1))
    assert (session.writes, session.reads) == ({}, {})
