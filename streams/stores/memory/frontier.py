"""The frontier's store in memory, for tests and for trying a stage by hand."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

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
    total,
)

_Host = tuple[int, int | None, bytes]
_Due = tuple[int, int | None]
_NEVER = -1


class MemoryFrontier:
    """The frontier's store in memory."""

    def __init__(self) -> None:
        self._owners: dict[int, PartitionOwner] = {}
        self._hosts: dict[str, _Host] = {}
        self._due: dict[tuple[int, str], _Due] = {}
        self._shares: dict[tuple[str, str], tuple[int, HostShare]] = {}
        self._queues: defaultdict[str, list[QueueEntry]] = defaultdict(list)
        self._urls: dict[tuple[str, UUID], tuple[int, bytes, int]] = {}
        self._pattern_rows: dict[bytes, bytes] = {}
        self._patterns = CrawlPatterns(self)
        self._states: defaultdict[tuple[str, int], dict[UUID, tuple[int, CrawlState]]] = defaultdict(dict)
        self._counts: defaultdict[tuple[str, int], dict[str, CrawlCounts]] = defaultdict(dict)
        self._orders: dict[str, HostOrder] = {}
        self._held: defaultdict[str, dict[tuple[UUID, int], tuple[int, HeldUrl | None]]] = defaultdict(dict)

    async def active_hosts(self, buckets: Sequence[int]) -> list[tuple[str, int]]:
        wanted = set(buckets)
        found = ((host, due) for (bucket, host), (_, due) in self._due.items() if bucket in wanted)
        return [(host, due) for host, due in sorted(found) if due is not None]

    async def owners(self) -> dict[int, PartitionOwner]:
        return dict(self._owners)

    async def put_owner(self, owner: PartitionOwner) -> None:
        former = self._owners.get(owner.partition)
        if former is None or (owner.epoch, owner.worker) >= (former.epoch, former.worker):
            self._owners[owner.partition] = owner

    async def orders(self) -> list[HostOrder]:
        return [self._orders[host] for host in sorted(self._orders)]

    async def order(self, host: str) -> HostOrder | None:
        return self._orders.get(host)

    async def put_order(self, order: HostOrder) -> None:
        former = self._orders.get(order.host)
        if former is None or order.at >= former.at:
            self._orders[order.host] = order

    async def put_due(self, host: FrontierHost) -> None:
        key = (host.bucket, host.host)
        if host.at >= self._due.get(key, (_NEVER,))[0]:
            self._due[key] = (host.at, host.due)

    async def host(self, host: str) -> FrontierHost | None:
        row = self._hosts.get(host)
        return row and FrontierHost(bucket_of(host), host, row[1], unpack(row[2]), row[0])

    async def write(self, rows: HostRows) -> None:
        for step in rows.steps():
            for part in step:
                await self._write_part(part)

    async def _write_part(self, rows: HostRows) -> None:
        queue = self._queues[rows.host]
        for entry in rows.entries:
            place = bisect_left(queue, entry)
            if queue[place : place + 1] != [entry]:
                queue.insert(place, entry)
        for url in rows.urls:
            key = (rows.host, url.page_id)
            if url.at >= self._urls.get(key, (_NEVER,))[0]:
                self._urls[key] = (url.at, await self._patterns.pack(url), url.part or 0)
        if (state := rows.state) and state.at >= self._hosts.get(rows.host, (_NEVER,))[0]:
            self._hosts[rows.host] = (state.at, state.due, pack(state.state))

    async def share(self, host: str, crawl_id: str) -> HostShare | None:
        row = self._shares.get((host, crawl_id))
        return row and row[1]

    async def put_share(self, host: str, crawl_id: str, share: HostShare, at: int) -> None:
        if at >= self._shares.get((host, crawl_id), (_NEVER,))[0]:
            self._shares[host, crawl_id] = (at, share)

    async def queued(self, host: str, after: QueueEntry | None, limit: int) -> list[QueueEntry]:
        queue = self._queues[host]
        start = bisect_right(queue, after) if after else 0
        return queue[start : start + limit]

    async def trim(self, host: str, upto: QueueEntry, at: int) -> None:
        queue = self._queues[host]
        del queue[: bisect_right(queue, upto)]

    async def url(self, host: str, page_id: UUID) -> FrontierUrl | None:
        return (await self.urls(host, [page_id])).get(page_id)

    async def urls(self, host: str, page_ids: Sequence[UUID], *, further: bool = True) -> dict[UUID, FrontierUrl]:
        found: dict[UUID, FrontierUrl] = {}
        for page_id in page_ids:
            at, packed, part = self._urls.get((host, page_id), (_NEVER, b"", 0))
            if packed and (further or not part):
                found[page_id] = replace(await self._patterns.unpack(page_id, at, packed), part=part)
        return found

    async def urls_of_part(self, host: str, part: int, after: UUID, limit: int) -> list[FrontierUrl]:
        ids = [page_id for (of, page_id), row in self._urls.items() if of == host and row[2] == part]
        wanted = [page_id for page_id in sorted(ids) if page_id > after][:limit]
        return list((await self.urls(host, wanted)).values())

    async def put_patterns(self, patterns_id: bytes, packed: bytes) -> None:
        self._pattern_rows[patterns_id] = packed

    async def get_patterns(self, patterns_id: bytes) -> bytes | None:
        return self._pattern_rows.get(patterns_id)

    async def states(self, crawl_id: str, bucket: int, page_ids: Sequence[UUID]) -> dict[UUID, CrawlState]:
        rows = self._states.get((crawl_id, bucket), {})
        return {page_id: rows[page_id][1] for page_id in page_ids if page_id in rows}

    async def states_after(self, crawl_id: str, bucket: int, after: UUID, limit: int) -> list[tuple[UUID, CrawlState]]:
        rows = self._states.get((crawl_id, bucket), {})
        return [(page_id, rows[page_id][1]) for page_id in sorted(rows) if page_id > after][:limit]

    async def put_states(
        self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState], owner: str, counts: CrawlCounts
    ) -> None:
        rows = self._states[crawl_id, bucket]
        for page_id, state in states.items():
            if counts.at >= rows.get(page_id, (_NEVER,))[0]:
                rows[page_id] = (counts.at, state)
        of_owners = self._counts[crawl_id, bucket]
        if counts.at >= of_owners.get(owner, CrawlCounts(at=_NEVER)).at:
            of_owners[owner] = CrawlCounts(dict(counts.urls), counts.at)

    async def owner_counts(self, crawl_id: str, bucket: int, owner: str) -> CrawlCounts:
        return self._counts.get((crawl_id, bucket), {}).get(owner, CrawlCounts())

    async def crawl_counts(self, crawl_id: str) -> dict[CrawlState, int]:
        buckets = [self._counts.get((crawl_id, bucket), {}) for bucket in range(CRAWL_BUCKETS)]
        return total(counts for of_owners in buckets for counts in of_owners.values())

    async def hold(self, held: HeldUrl) -> None:
        self._put_held(held, held)

    async def held(self, host: str, after: HeldUrl | None, limit: int) -> list[HeldUrl]:
        start = (after.target, after.slot) if after else (UUID(int=0), -1)
        rows = sorted((place, held) for place, (_, held) in self._held[host].items() if held and place > start)
        return [held for _, held in rows[:limit]]

    async def held_for(self, host: str, target: UUID) -> list[HeldUrl]:
        rows = sorted((place, held) for place, (_, held) in self._held[host].items() if held and place[0] == target)
        return [held for _, held in rows]

    async def release(self, held: HeldUrl) -> None:
        self._put_held(held, None)

    def _put_held(self, held: HeldUrl, value: HeldUrl | None) -> None:
        """Write or remove a row. Of a write and a removal with the same time, the removal wins, as in Cassandra."""
        rows, place = self._held[held.host], (held.target, held.slot)
        at, kept = rows.get(place, (_NEVER, held))
        if held.at > at or (held.at == at and kept is not None):
            rows[place] = (held.at, value)
