"""Fills the table of groups of duplicates from the tables of earlier versions."""

from typing import Any

from streams.settings import CassandraSettings
from streams.stores.cassandra.row_scans import scan_once
from streams.stores.cassandra.session import CassandraSession

_NAME = "rows: duplicate_groups"
"""Name in the table `migrations` after all rows were copied."""
_PAGES = (
    "SELECT token(page_id), page_id, canonical, decided_at FROM fingerprints "
    "WHERE token(page_id) >= :start AND token(page_id) <= :end LIMIT :count"
)
_GROUPS = (
    "SELECT token(group_id), group_id, representative, at, WRITETIME(representative) FROM fingerprint_groups "
    "WHERE token(group_id) >= :start AND token(group_id) <= :end LIMIT :count"
)
_PUT = "INSERT INTO duplicate_groups (id, kind, other) VALUES (:id, :kind, :other) USING TIMESTAMP :at"
_PUT_REPRESENTATIVE = (
    "INSERT INTO duplicate_groups (id, representative, moved_at) VALUES (:id, :representative, :moved_at) "
    "USING TIMESTAMP :at"
)


async def copy_group_rows(settings: CassandraSettings) -> int:
    """Copy all rows, and return their number. Once it has ended, it does nothing more.

    Each row has its former write time, so a row that is newer stays, and a broken copy can be repeated. A dedup worker
    of an earlier version must not run beside it or after it.
    """
    return await scan_once(settings, _NAME, (_PAGES, _copy_page), (_GROUPS, _copy_group))


async def _copy_page(session: CassandraSession, row: Any) -> int:
    """A duplicate belongs to its group. The write time of its former row is the time of its decision."""
    _, page_id, group, decided_at = row
    if group is None or group == page_id or decided_at is None:
        return 0
    await session.execute(_PUT, {"id": group, "kind": 1, "other": page_id}, at=decided_at)
    return 1


async def _copy_group(session: CassandraSession, row: Any) -> int:
    _, group, representative, moved_at, written_at = row
    if representative is None:
        return 0
    values = {"id": group, "representative": representative, "moved_at": moved_at}
    await session.execute(_PUT, {"id": representative, "kind": 0, "other": group}, at=written_at)
    await session.execute(_PUT_REPRESENTATIVE, values, at=written_at)
    return 1
