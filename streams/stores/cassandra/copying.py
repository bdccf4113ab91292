"""Copies of whole tables, out of Cassandra and into it, with the time of every write.

A table is read by token ranges, a page at a time, so that it needs little memory and no server reads for long. Rows
come in the order of their tokens: the same table gives the same rows in the same order.

Riffle's writes carry the times of their events, and the newest wins. So a restored value must have its own time: else a
redelivered event could lose against an older value. Cassandra doesn't return the time at which the key of a row was
written. Rows that are only a key (entries of queues, of indexes) are restored with the time of the backup: a later
removal wins, and a redelivered removal from before the backup leaves an entry that readers check anyway.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.errors import UsageError
from streams.stores.cassandra.session import CassandraSession

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
RANGES = 64
"""Number of token ranges of a table that are read one after the other."""
PAGE_ROWS = 500
_SMALL_PAGES = {"blobs": 8, "pages": 16}
"""Number of rows of a page, for tables with large rows: a chunk of a blob, or a blob of a page, has up to 512 KiB."""
NOT_COPIED = frozenset(
    {
        "click_estimates",
        "migrations",
        "notes",
        "pace_holds",
        "query_clicks",
        "query_counts",
        "query_counts_by_day",
        "query_digests",
        "suggestion_parts",
        "suggestion_titles",
        "suggestions",
    }
)
"""Tables that each keyspace fills by itself, counts of what people asked, which no backup has, what is built of
them and of the index, what holds for seconds, and the notes of this installation (what programs asked, jobs)."""
_SUPPORTED = frozenset({"uuid", "text", "blob", "int", "bigint", "tinyint", "boolean", "double"})
_MAP = "map<text, blob>"
"""Types of columns that a backup can hold. An entry of a map has a time of its own (Cassandra 5 shows it)."""
_PLACE = "value_"
"""Prefix of a column's place in a statement: some tables have a column with the name of another place."""
_TABLES = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = :name"
_COLUMNS = "SELECT table_name, column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = :name"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the columns of its key in order, and the others by name; or with only its static columns."""

    name: str
    partition_key: tuple[str, ...]
    clustering: tuple[str, ...]
    values: tuple[str, ...]
    maps: frozenset[str] = frozenset()
    """Columns among the values that are maps."""
    static: bool = False

    @property
    def label(self) -> str:
        """The name of the table's part of a backup."""
        return f"{self.name}.static" if self.static else self.name

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.partition_key, *self.clustering)


CopiedRow = tuple[list[Any], list[Any], list[Any]]
"""The key, the values, and the time of each value (microseconds; None where there is no value). A map is a list of its
entries, with a list of their times."""
Write = tuple[str, dict[str, Any]]
"""A statement and its parameters."""


async def tables(session: CassandraSession, keyspace: str) -> list[Table]:
    """Return the tables of a keyspace that hold data. Raises UsageError for a column that can't be copied."""
    names = [name for (name,) in await session.execute(_TABLES, {"name": keyspace})]
    columns: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for table, *column in await session.execute(_COLUMNS, {"name": keyspace}):
        columns[table].append(tuple(column))
    return [table for name in sorted(names) if name not in NOT_COPIED for table in _tables_of(name, columns[name])]


def _tables_of(name: str, columns: Sequence[tuple[Any, ...]]) -> list[Table]:
    for column, kind, _, data_type in columns:
        if data_type not in _SUPPORTED and data_type != _MAP:
            raise UsageError(
                f"table {name} has the column {column} ({kind} {data_type}), which `riffle backup` can't copy. "
                "Add its type to streams/stores/cassandra/copying.py"
            )

    def of(wanted: str) -> tuple[str, ...]:
        ordered = sorted((position, column) for column, kind, position, _ in columns if kind == wanted)
        return tuple(column for _, column in ordered)

    maps = frozenset(column for column, _, _, data_type in columns if data_type == _MAP)
    found = [Table(name, of("partition_key"), of("clustering"), of("regular"), maps)]
    if statics := of("static"):
        found.append(Table(name, of("partition_key"), (), statics, maps, static=True))
    return found


async def read_rows(session: CassandraSession, table: Table) -> AsyncIterator[list[CopiedRow]]:
    """Yield all rows, some at a time."""
    times = [f"WRITETIME({column})" for column in table.values]
    selected = ", ".join((*table.key, *table.values, *times))
    token = f"token({', '.join(table.partition_key)})"
    distinct = "DISTINCT " if table.static else ""
    cql = f"SELECT {distinct}{selected} FROM {table.name} WHERE {token} >= :first AND {token} <= :last"  # noqa: S608 - from the schema
    page_rows = _SMALL_PAGES.get(table.name, PAGE_ROWS)
    for first, last in token_ranges(RANGES):
        following: bytes | None = None
        while True:
            bounds = {"first": first, "last": last}
            rows, following = await session.page(cql, bounds, page_rows=page_rows, after=following)
            # A partition with only static values comes as a row without a clustering key.
            if copied := [_split_row(table, row) for row in rows if None not in row[: len(table.key)]]:
                yield copied
            if following is None:
                break


def token_ranges(count: int) -> list[tuple[int, int]]:
    """Return the ring in N ranges, both bounds included."""
    step = 2**64 // count
    starts = [FIRST_TOKEN + number * step for number in range(count)]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), LAST_TOKEN], strict=True))


def _split_row(table: Table, row: Sequence[Any]) -> CopiedRow:
    keys, values = len(table.key), len(table.values)
    found = [_make_plain(value) for value in row[keys : keys + values]]
    return list(row[:keys]), found, [_make_plain(time) for time in row[keys + values :]]


def _make_plain(value: Any) -> Any:
    """Return a value of the driver as a backup holds it."""
    if isinstance(value, Mapping):
        return [[key, content] for key, content in value.items()]
    return list(value) if isinstance(value, list) else value


async def write_rows(session: CassandraSession, table: Table, rows: Iterable[CopiedRow], at: int) -> None:
    """Write rows with the times that their values had. `at`: the time of rows without values (microseconds)."""
    by_cql: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, values, times in rows:
        for cql, params in _writes(table, key, values, times, at):
            by_cql[cql].append(params)
    for cql, many in by_cql.items():
        await session.execute_many(cql, many)


def _writes(table: Table, key: list[Any], values: list[Any], times: list[Any], at: int) -> list[Write]:
    """Return one write for each different time of the row's values, and one for each entry of a map."""
    keys = {_PLACE + column: value for column, value in zip(table.key, key, strict=True)}
    by_time: dict[int, dict[str, Any]] = defaultdict(dict)
    writes: list[Write] = []
    for column, value, when in zip(table.values, values, times, strict=True):
        if when is None:
            continue
        if column in table.maps:
            for (entry, content), entry_time in zip(value, when, strict=True):
                params = {**keys, "entry": entry, "content": content, "written": entry_time}
                writes.append((_update(table, column), params))
        else:
            by_time[when][column] = value
    for when, columns in by_time.items():
        params = keys | {_PLACE + column: value for column, value in columns.items()} | {"written": when}
        writes.append((_insert(table, (*table.key, *columns)), params))
    if not by_time and not table.static:
        writes.append((_insert(table, table.key), {**keys, "written": at}))
    return writes


def _insert(table: Table, columns: tuple[str, ...]) -> str:
    places = ", ".join(f":{_PLACE}{column}" for column in columns)
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places}) USING TIMESTAMP :written"  # noqa: S608


def _update(table: Table, column: str) -> str:
    key = " AND ".join(f"{name} = :{_PLACE}{name}" for name in table.key)
    return f"UPDATE {table.name} USING TIMESTAMP :written SET {column}[:entry] = :content WHERE {key}"  # noqa: S608


async def is_empty(session: CassandraSession, table: Table) -> bool:
    """Return True if the table has no row."""
    return not await session.execute(f"SELECT {table.key[0]} FROM {table.name} LIMIT 1")  # noqa: S608


async def truncate(session: CassandraSession, table: Table) -> None:
    """Remove all rows, without tombstones."""
    await session.execute(f"TRUNCATE {table.name}")
