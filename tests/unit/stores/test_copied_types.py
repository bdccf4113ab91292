"""`riffle backup` can copy every column that a migration makes."""

import re
from pathlib import Path

import pytest

from streams.stores.cassandra import copying

MIGRATIONS = sorted((Path(copying.__file__).parent / "migrations").glob("*.cql"))
COLUMN = re.compile(
    r"^(?:    |ALTER TABLE \w+ ADD (?:IF NOT EXISTS )?)(\w+) ([a-z]+(?:<[^>]*>)?)(?: STATIC)?(?: PRIMARY KEY)?,?;?$",
    re.MULTILINE,
)


@pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda path: path.stem)
def test_each_column_of_a_migration_can_be_copied(migration: Path) -> None:
    columns = dict(COLUMN.findall(migration.read_text()))
    assert columns or "CREATE TABLE" not in migration.read_text()
    unknown = {name: kind for name, kind in columns.items() if kind not in copying._SUPPORTED | {copying._MAP}}
    assert not unknown, "add its type to streams/stores/cassandra/copying.py, and try the backup drill"
