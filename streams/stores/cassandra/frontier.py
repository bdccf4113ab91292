"""The frontier's state in Cassandra."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from streams.stores.cassandra.session import CassandraSession
from streams.stores.crawl_patterns import CrawlPatterns
from streams.stores.host_buckets import bucket_of
from streams.stores.packing import pack, unpack
from streams.stores.protocols import (
    CRAWL_BUCKETS,
    CrawlCounts,
    CrawlState,
    FrontierHost,
    FrontierUrl,
    HeldUrl,
    HostOrder,
    HostRows,
    HostShare,
    PartitionOwner,
    QueueEntry,
    further_part_of,
    total,
)
from streams.stores.rows import pack_row, unpack_row

MAX_KEYS = 100
"""Maximum number of URLs in one statement that reads them, or their states."""
BUCKETS_TOGETHER = 64
"""Number of buckets of hosts that one statement reads. Nearly all of them are empty in a small crawl."""
HOSTS_PER_PAGE = 10_000
"""Number of hosts (some 40 bytes each) that come at once. All pages of a statement have one deadline: with ten million
hosts a statement has 156,000."""

_HOST_KIND, _URL_KIND = 0, 1
"""Kinds of rows of a host. Entries of its queue are of kind 2."""
_NO_PAGE = UUID(int=0)
"""In the place of a page id in the row of a host itself."""
_OWNERS = "SELECT partition, owner FROM frontier_owners WHERE part = 0"
_PUT_OWNER = "INSERT INTO frontier_owners (part, partition, owner) VALUES (0, :partition, :owner) USING TIMESTAMP :at"
_ORDERS = "SELECT host, value FROM frontier_orders WHERE part = 0"
_ORDER = "SELECT value FROM frontier_orders WHERE part = 0 AND host = :host"
_PUT_ORDER = "INSERT INTO frontier_orders (part, host, value) VALUES (0, :host, :value) USING TIMESTAMP :at"
_ACTIVE = "SELECT host, due FROM frontier_due WHERE bucket IN :buckets"
_PUT_DUE = "INSERT INTO frontier_due (bucket, host, due) VALUES (:bucket, :host, :due) USING TIMESTAMP :at"
_ROWS = "SELECT page_id, at, value FROM frontier_hosts WHERE host = :host AND part = :part AND kind = :kind"
_HOST = f"{_ROWS} AND position = 0 AND page_id = :page_id"
_URLS = f"{_ROWS} AND position = 0 AND page_id IN :page_ids"
_OF_PART = f"{_ROWS} AND position = 0 AND page_id > :after LIMIT :count"
_PUT = (
    "INSERT INTO frontier_hosts (host, part, kind, position, page_id, value, at) "
    "VALUES (:host, :part, :kind, 0, :page_id, :value, :at) USING TIMESTAMP :at"
)
_SHARE = "SELECT seeded, scheduled, strangers FROM frontier_shares WHERE host = :host AND crawl_id = :crawl_id"
_PUT_SHARE = (
    "INSERT INTO frontier_shares (host, crawl_id, seeded, scheduled, strangers) "
    "VALUES (:host, :crawl_id, :seeded, :scheduled, :strangers) USING TIMESTAMP :at"
)
_PUSH = (
    "INSERT INTO frontier_hosts (host, part, kind, position, page_id) "
    "VALUES (:host, 0, 2, :position, :page_id) USING TIMESTAMP :at"
)
_QUEUED = (
    "SELECT position, page_id FROM frontier_hosts WHERE host = :host AND part = 0 AND kind = 2 "
    "AND (position, page_id) > (:position, :page_id) LIMIT :count"
)
_TRIM = (
    "DELETE FROM frontier_hosts USING TIMESTAMP :at WHERE host = :host AND part = 0 AND kind = 2 "
    "AND (position, page_id) <= (:position, :page_id)"
)
_PATTERNS = "SELECT value FROM frontier_patterns WHERE id = :id"
_PUT_PATTERNS = "INSERT INTO frontier_patterns (id, value) VALUES (:id, :value)"
_STATES = (
    "SELECT page_id, state FROM frontier_crawl_urls "
    "WHERE crawl_id = :crawl_id AND bucket = :bucket AND page_id IN :page_ids"
)
_STATES_AFTER = (
    "SELECT page_id, state FROM frontier_crawl_urls "
    "WHERE crawl_id = :crawl_id AND bucket = :bucket AND page_id > :after LIMIT :count"
)
_PUT_STATE = (
    "INSERT INTO frontier_crawl_urls (crawl_id, bucket, page_id, state) "
    "VALUES (:crawl_id, :bucket, :page_id, :state) USING TIMESTAMP :at"
)
_PUT_COUNTS = (
    "UPDATE frontier_crawl_urls USING TIMESTAMP :at SET counts[:owner] = :counts "
    "WHERE crawl_id = :crawl_id AND bucket = :bucket"
)
_COUNTS = "SELECT DISTINCT counts FROM frontier_crawl_urls WHERE crawl_id = :crawl_id AND bucket = :bucket"
_HOLD = (
    "INSERT INTO frontier_held (host, target, slot, discovered, at) "
    "VALUES (:host, :target, :slot, :discovered, :at) USING TIMESTAMP :at"
)
_HELD = (
    "SELECT target, slot, discovered, at FROM frontier_held "
    "WHERE host = :host AND (target, slot) > (:target, :slot) LIMIT :count"
)
_HELD_FOR = "SELECT target, slot, discovered, at FROM frontier_held WHERE host = :host AND target = :target"
_RELEASE = "DELETE FROM frontier_held USING TIMESTAMP :at WHERE host = :host AND target = :target AND slot = :slot"

_IDLE = -1
"""The due time of an idle host. Null would be a tombstone for every idle host."""
_START = QueueEntry(-1, _NO_PAGE)


class CassandraFrontier:
    """The frontier's store in Cassandra."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session
        self._patterns = CrawlPatterns(self)

    async def active_hosts(self, buckets: Sequence[int]) -> list[tuple[str, int]]:
        groups = [buckets[start : start + BUCKETS_TOGETHER] for start in range(0, len(buckets), BUCKETS_TOGETHER)]
        keys = [{"buckets": list(group)} for group in groups]
        found = await self._session.execute_many(_ACTIVE, keys, page_rows=HOSTS_PER_PAGE)
        return [(host, due) for rows in found for host, due in rows if due != _IDLE]

    async def owners(self) -> dict[int, PartitionOwner]:
        rows = await self._session.execute(_OWNERS, {})
        return {partition: PartitionOwner(partition, *unpack(owner)["owner"]) for partition, owner in rows}

    async def put_owner(self, owner: PartitionOwner) -> None:
        # One value, so that two owners that are written with one epoch are never mixed.
        values = {"partition": owner.partition, "owner": pack({"owner": [owner.worker, owner.epoch]})}
        await self._session.execute(_PUT_OWNER, values, at=owner.epoch)

    async def orders(self) -> list[HostOrder]:
        rows = await self._session.execute(_ORDERS, {})
        return [unpack_row(HostOrder, value, host=host) for host, value in rows]

    async def order(self, host: str) -> HostOrder | None:
        rows = await self._session.execute(_ORDER, {"host": host})
        return unpack_row(HostOrder, rows[0][0], host=host) if rows else None

    async def put_order(self, order: HostOrder) -> None:
        row = {"host": order.host, "value": pack_row(order)}
        await self._session.execute(_PUT_ORDER, row, at=order.at)

    async def put_due(self, host: FrontierHost) -> None:
        due = _IDLE if host.due is None else host.due
        row = {"bucket": host.bucket, "host": host.host, "due": due, "at": host.at}
        await self._session.execute_grouped((_PUT_DUE, row))

    async def host(self, host: str) -> FrontierHost | None:
        key = {"host": host, "part": 0, "kind": _HOST_KIND, "page_id": _NO_PAGE}
        rows = await self._session.execute(_HOST, key)
        if not rows:
            return None
        _, at, value = rows[0]
        state = unpack(value)
        return FrontierHost(bucket_of(host), host, state.pop("due", None), state, at)

    async def write(self, rows: HostRows) -> None:
        for step in rows.steps():
            await asyncio.gather(*map(self._write_part, step))

    async def _write_part(self, rows: HostRows) -> None:
        """Write rows of one part of a host. If they are too many for one request, the host itself comes last."""
        entries = ({"position": entry.position, "page_id": entry.page_id} for entry in rows.entries)
        writes: list[tuple[str, dict[str, Any]]]
        writes = [(_PUSH, {"host": rows.host, **entry, "at": rows.at}) for entry in entries]
        for url in rows.urls:
            key = {"host": rows.host, "part": url.part or 0, "kind": _URL_KIND, "page_id": url.page_id}
            writes.append((_PUT, {**key, "value": await self._patterns.pack(url), "at": url.at}))
        if state := rows.state:
            key = {"host": rows.host, "part": 0, "kind": _HOST_KIND, "page_id": _NO_PAGE}
            due = {} if state.due is None else {"due": state.due}
            writes.append((_PUT, {**key, "value": pack({**state.state, **due}), "at": state.at}))
        if writes:
            await self._session.execute_grouped(*writes)

    async def share(self, host: str, crawl_id: str) -> HostShare | None:
        rows = await self._session.execute(_SHARE, {"host": host, "crawl_id": crawl_id})
        if not rows:
            return None
        return HostShare(*rows[0])

    async def put_share(self, host: str, crawl_id: str, share: HostShare, at: int) -> None:
        await self._session.execute(_PUT_SHARE, {"host": host, "crawl_id": crawl_id, **share._asdict()}, at=at)

    async def queued(self, host: str, after: QueueEntry | None, limit: int) -> list[QueueEntry]:
        cursor = after or _START
        values = {"host": host, "position": cursor.position, "page_id": cursor.page_id, "count": limit}
        return [QueueEntry(*row) for row in await self._session.execute(_QUEUED, values)]

    async def trim(self, host: str, upto: QueueEntry, at: int) -> None:
        values = {"host": host, "position": upto.position, "page_id": upto.page_id}
        await self._session.execute(_TRIM, values, at=at)

    async def url(self, host: str, page_id: UUID) -> FrontierUrl | None:
        return (await self.urls(host, [page_id])).get(page_id)

    async def urls(self, host: str, page_ids: Sequence[UUID], *, further: bool = True) -> dict[UUID, FrontierUrl]:
        parts = {0: list(page_ids)}
        for page_id in page_ids if further else ():
            parts.setdefault(further_part_of(page_id), []).append(page_id)
        keys: list[dict[str, Any]] = [
            {"host": host, "part": part, "kind": _URL_KIND, "page_ids": of_part[start : start + MAX_KEYS]}
            for part, of_part in parts.items()
            for start in range(0, len(of_part), MAX_KEYS)
        ]
        found: dict[UUID, FrontierUrl] = {}
        for key, rows in zip(keys, await self._session.execute_many(_URLS, keys), strict=True):
            for page_id, at, value in rows:
                if page_id not in found or at > found[page_id].at:
                    url = await self._patterns.unpack(page_id, at, value)
                    found[page_id] = replace(url, part=key["part"])
        return found

    async def urls_of_part(self, host: str, part: int, after: UUID, limit: int) -> list[FrontierUrl]:
        key = {"host": host, "part": part, "kind": _URL_KIND, "after": after, "count": limit}
        rows = await self._session.execute(_OF_PART, key)
        return [replace(await self._patterns.unpack(*row), part=part) for row in rows]

    async def put_patterns(self, patterns_id: bytes, packed: bytes) -> None:
        await self._session.execute(_PUT_PATTERNS, {"id": patterns_id, "value": packed})

    async def get_patterns(self, patterns_id: bytes) -> bytes | None:
        rows = await self._session.execute(_PATTERNS, {"id": patterns_id})
        return rows[0][0] if rows else None

    async def states(self, crawl_id: str, bucket: int, page_ids: Sequence[UUID]) -> dict[UUID, CrawlState]:
        found: dict[UUID, CrawlState] = {}
        for start in range(0, len(page_ids), MAX_KEYS):
            keys = {"crawl_id": crawl_id, "bucket": bucket, "page_ids": list(page_ids[start : start + MAX_KEYS])}
            found.update(await self._session.execute(_STATES, keys))
        return found

    async def states_after(self, crawl_id: str, bucket: int, after: UUID, limit: int) -> list[tuple[UUID, CrawlState]]:
        keys = {"crawl_id": crawl_id, "bucket": bucket, "after": after, "count": limit}
        return [(row[0], row[1]) for row in await self._session.execute(_STATES_AFTER, keys)]

    async def put_states(
        self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState], owner: str, counts: CrawlCounts
    ) -> None:
        key = {"crawl_id": crawl_id, "bucket": bucket, "at": counts.at}
        writes = [(_PUT_STATE, {**key, "page_id": page_id, "state": state}) for page_id, state in states.items()]
        writes.append((_PUT_COUNTS, {**key, "owner": owner, "counts": pack_row(counts)}))
        await self._session.execute_grouped(*writes)

    async def owner_counts(self, crawl_id: str, bucket: int, owner: str) -> CrawlCounts:
        return (await self._counts(crawl_id, bucket)).get(owner, CrawlCounts())

    async def crawl_counts(self, crawl_id: str) -> dict[CrawlState, int]:
        buckets = await asyncio.gather(*(self._counts(crawl_id, bucket) for bucket in range(CRAWL_BUCKETS)))
        return total(counts for of_owners in buckets for counts in of_owners.values())

    async def _counts(self, crawl_id: str, bucket: int) -> dict[str, CrawlCounts]:
        rows = await self._session.execute(_COUNTS, {"crawl_id": crawl_id, "bucket": bucket})
        packed = rows[0][0] or {} if rows else {}
        return {owner: unpack_row(CrawlCounts, value) for owner, value in packed.items()}

    async def hold(self, held: HeldUrl) -> None:
        await self._session.execute(_HOLD, {**_place(held), "discovered": held.discovered}, at=held.at)

    async def held(self, host: str, after: HeldUrl | None, limit: int) -> list[HeldUrl]:
        target, slot = (after.target, after.slot) if after else (_START.page_id, -1)
        rows = await self._session.execute(_HELD, {"host": host, "target": target, "slot": slot, "count": limit})
        return [HeldUrl(host, *row) for row in rows]

    async def held_for(self, host: str, target: UUID) -> list[HeldUrl]:
        rows = await self._session.execute(_HELD_FOR, {"host": host, "target": target})
        return [HeldUrl(host, *row) for row in rows]

    async def release(self, held: HeldUrl) -> None:
        await self._session.execute(_RELEASE, _place(held), at=held.at)


def _place(held: HeldUrl) -> dict[str, Any]:
    return {"host": held.host, "target": held.target, "slot": held.slot}
