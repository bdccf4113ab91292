"""Writes the hints by band of pages that an earlier release stored: its bands had other keys."""

from typing import Any

from streams.settings import CassandraSettings
from streams.sketches.minhash import BANDS, band_keys
from streams.stores.cassandra.row_scans import scan_once
from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import MIN_NEAR_WORDS
from streams.stores.row_codec import unpack_fingerprint

_NAME = "rows: hints of eight bands"
"""Name in the table `migrations` after the hints of all pages were written."""
_PAGES = (
    "SELECT token(page_id), page_id, value, at, canonical, decided_at, hidden FROM fingerprints "
    "WHERE token(page_id) >= :start AND token(page_id) <= :end LIMIT :count"
)
_PUT = "INSERT INTO fingerprints_by_band (band, page_id, sketch) VALUES (:band_NUMBER, :page_id, :sketch)"
_PUTS = "; ".join(_PUT.replace("NUMBER", str(number)) for number in range(BANDS))
_PUT_HINTS = f"BEGIN UNLOGGED BATCH USING TIMESTAMP :at {_PUTS}; APPLY BATCH"


async def write_band_hints(settings: CassandraSettings) -> int:
    """Write the hints of all representatives and undecided pages, and return the number of these pages.

    Once it has ended, it does nothing more. Workers of both releases may run beside it: a hint has the write time of
    its page's latest change, so the deletion by a later change wins. It may be repeated after a crash.
    """
    return await scan_once(settings, _NAME, (_PAGES, _write_hints))


async def _write_hints(session: CassandraSession, row: Any) -> int:
    _, page_id, value, written_at, group, decided_at, hidden = row
    if value is None or hidden or group not in (None, page_id):
        return 0
    page = unpack_fingerprint(page_id, value)
    keys = band_keys(page.sketch)
    if page.words < MIN_NEAR_WORDS or not keys or page.bands == keys:
        return 0
    at = max(written_at, decided_at or 0)
    numbered = {f"band_{number}": key for number, key in enumerate(keys)}
    await session.execute(_PUT_HINTS, {"page_id": page_id, "sketch": page.sketch, **numbered}, at=at)
    return 1
