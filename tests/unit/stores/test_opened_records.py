"""The stores of records, as the settings ask for them."""

from unittest.mock import AsyncMock, MagicMock

import pytest

from streams.settings import CassandraSettings, Settings
from streams.sketches.simhash import tables
from streams.stores.cassandra import opening


@pytest.mark.parametrize("count", [4, 10, 20])
async def test_fingerprints_have_the_tables_of_the_settings(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(opening, "connect", AsyncMock(return_value=MagicMock()))
    monkeypatch.setattr(opening, "refuse_unfinished_restore", AsyncMock())
    settings = Settings(cassandra=CassandraSettings.model_validate({"simhash_tables": count, "blob_ttl_days": 22}))
    records = await opening.open_records(settings)
    assert len(records.fingerprints._tables) == len(tables(count)) == count
