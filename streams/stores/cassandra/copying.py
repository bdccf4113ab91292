"""Whole tables out of Cassandra and into it, with the time of every write.

A table is read by token ranges, a page at a time, so that it needs little memory and no server reads for long. Rows
come in the order of their tokens: the same table gives the same rows in the same order.

Riffle's writes carry the times of their events, and the newest wins. So a restored value must have its own time: else a
redelivered event could lose against a value that is older than it. Cassandra doesn't tell the time at which the key of
a row was written. Rows that are nothing but a key (entries of queues, of indexes) are restored with the time of the
backup: a later removal wins, and one that is redelivered from before the backup leaves an entry that readers check
anyway.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streams.errors import UsageError
from streams.stores.cassandra.session import CassandraSession

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
RANGES = 64
"""Number of token ranges of a table that are read one after the other."""
PAGE_ROWS = 500
_SMALL_PAGES = {"blobs": 8}
"""Rows of a page, for tables whose rows are large: a chunk of a blob has up to 512 KiB."""
NOT_COPIED = frozenset({"migrations"})
"""Tables that each keyspace fills by itself."""
_SUPPORTED = frozenset({"uuid", "text", "blob", "int", "bigint", "tinyint", "boolean"})
"""Types of columns that a backup can hold."""
_PLACE = "value_"
"""Prefix of a column's place in a statement: some tables have a column with the name of another place."""
_TABLES = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = :name"
_COLUMNS = "SELECT table_name, column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = :name"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the columns of its key in order, and the others by name."""

    name: str
    partition_key: tuple[str, ...]
    clustering: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.partition_key, *self.clustering)


CopiedRow = tuple[list[Any], list[Any], list[int | None]]
"""The key, the values, and the time of each value (microseconds; None where there is no value)."""


async def tables(session: CassandraSession, keyspace: str) -> list[Table]:
    """The tables of a keyspace that hold data. Raises UsageError for a column that can't be copied."""
    names = [name for (name,) in await session.execute(_TABLES, {"name": keyspace})]
    columns: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for table, *column in await session.execute(_COLUMNS, {"name": keyspace}):
        columns[table].append(tuple(column))
    return [_table(name, columns[name]) for name in sorted(names) if name not in NOT_COPIED]


def _table(name: str, columns: Sequence[tuple[Any, ...]]) -> Table:
    for column, kind, _, data_type in columns:
        if data_type not in _SUPPORTED or kind == "static":
            raise UsageError(
                f"table {name} has the column {column} ({kind} {data_type}), which `riffle backup` can't copy. "
                "Add its type to streams/stores/cassandra/copying.py"
            )

    def of(wanted: str) -> tuple[str, ...]:
        ordered = sorted((position, column) for column, kind, position, _ in columns if kind == wanted)
        return tuple(column for _, column in ordered)

    return Table(name, of("partition_key"), of("clustering"), of("regular"))


async def read_rows(session: CassandraSession, table: Table) -> AsyncIterator[list[CopiedRow]]:
    """All rows, some at a time."""
    times = [f"WRITETIME({column})" for column in table.values]
    selected = ", ".join((*table.key, *table.values, *times))
    token = f"token({', '.join(table.partition_key)})"
    cql = f"SELECT {selected} FROM {table.name} WHERE {token} >= :first AND {token} <= :last"  # noqa: S608 - from the schema
    page_rows = _SMALL_PAGES.get(table.name, PAGE_ROWS)
    for first, last in token_ranges(RANGES):
        following: bytes | None = None
        while True:
            bounds = {"first": first, "last": last}
            rows, following = await session.page(cql, bounds, page_rows=page_rows, after=following)
            if rows:
                yield [_copied(table, row) for row in rows]
            if following is None:
                break


def token_ranges(count: int) -> list[tuple[int, int]]:
    """The ring in so many ranges, both bounds included."""
    step = 2**64 // count
    starts = [FIRST_TOKEN + number * step for number in range(count)]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), LAST_TOKEN], strict=True))


def _copied(table: Table, row: Sequence[Any]) -> CopiedRow:
    keys, values = len(table.key), len(table.values)
    return list(row[:keys]), list(row[keys : keys + values]), list(row[keys + values :])


async def write_rows(session: CassandraSession, table: Table, rows: Iterable[CopiedRow], at: int) -> None:
    """Write rows with the times that their values had. `at`: the time of rows without values (microseconds)."""
    statements: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for key, values, times in rows:
        for columns, when, params in _writes(table, key, values, times, at):
            statements[_insert(table, columns), when].append(params)
    by_cql: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (cql, when), many in statements.items():
        by_cql[cql] += [{**params, "written": when} for params in many]
    for cql, many in by_cql.items():
        await session.execute_many(cql, many)


def _writes(
    table: Table, key: list[Any], values: list[Any], times: list[int | None], at: int
) -> Iterable[tuple[tuple[str, ...], int, dict[str, Any]]]:
    """One write for each different time of the row's values: its columns, its time, its parameters."""
    keys = {_PLACE + column: value for column, value in zip(table.key, key, strict=True)}
    by_time: dict[int, dict[str, Any]] = defaultdict(dict)
    for column, value, when in zip(table.values, values, times, strict=True):
        if when is not None:
            by_time[when][column] = value
    if not by_time:
        return [(table.key, at, keys)]
    return [
        ((*table.key, *columns), when, keys | {_PLACE + column: value for column, value in columns.items()})
        for when, columns in by_time.items()
    ]


def _insert(table: Table, columns: tuple[str, ...]) -> str:
    places = ", ".join(f":{_PLACE}{column}" for column in columns)
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places}) USING TIMESTAMP :written"  # noqa: S608


async def is_empty(session: CassandraSession, table: Table) -> bool:
    """True if the table has no row."""
    return not await session.execute(f"SELECT {table.key[0]} FROM {table.name} LIMIT 1")  # noqa: S608


async def truncate(session: CassandraSession, table: Table) -> None:
    """Remove all rows, without tombstones."""
    await session.execute(f"TRUNCATE {table.name}")
