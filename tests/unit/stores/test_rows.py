"""Rows of each class: what comes back, and what a newer release has added."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.frontier.hosts.host_state import CrawlShare, Host, HostFile, Lease
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.host_quality import HostRecord
from streams.gateway.access.bucket import Spending
from streams.maintenance.reindexing import PartProgress
from streams.stores.job_reports import JobReport
from streams.stores.packing import pack, unpack
from streams.stores.page_record import RemovedText
from streams.stores.protocols import (
    ApiKey,
    CrawlCounts,
    DayCounts,
    Fingerprint,
    FrontierUrl,
    HostOrder,
    PageClicks,
    PlaceCounts,
    QueueEntry,
    Sight,
    Site,
    StoredPart,
    Transition,
)
from streams.stores.rows import pack_list, pack_row, read_row, row_of, unpack_list, unpack_row

READ_AND_WRITTEN: tuple[Any, ...] = (
    ApiKey, ChangeHints, CrawlCounts, CrawlShare, DayCounts, Fingerprint, FrontierUrl, HostFile, HostOrder, HostRecord,
    Lease, PageClicks, PlaceCounts, RemovedText, Robots, Site,
)  # fmt: skip
"""The classes whose rows a worker reads, changes and writes again."""
ONLY_WRITTEN: tuple[Any, ...] = (JobReport, PartProgress, Spending, StoredPart, Transition)
NEWER = {"of_a_newer_release": [1, {"a": 2}]}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a row can hold."""
    if hint is float:
        return st.floats(allow_nan=False)
    if hint is Any:
        return st.none() | st.text() | st.lists(st.integers())
    if get_origin(hint) is Mapping:
        key, value = get_args(hint)
        return st.dictionaries(values(key), values(value), max_size=3)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if is_dataclass(hint):
        kind: Any = hint
        return rows(kind)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*map(values, get_args(hint)))
    return st.from_type(hint)


@cache
def rows(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a class, with each field."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: values(hints[each.name]) for each in fields(kind) if each.name != "stored"})


def columns(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in getattr(value, "COLUMNS", ())}


@pytest.mark.parametrize("kind", [*READ_AND_WRITTEN, *ONLY_WRITTEN])
@given(data=st.data())
def test_a_row_comes_back_as_it_was(kind: Any, data: st.DataObject) -> None:
    value = data.draw(rows(kind))
    assert unpack_row(kind, pack_row(value), **columns(value)) == value


@pytest.mark.parametrize("kind", READ_AND_WRITTEN)
@given(data=st.data())
def test_what_a_newer_release_has_added_is_written_back(kind: Any, data: st.DataObject) -> None:
    value, other = data.draw(rows(kind)), data.draw(rows(kind))
    read = read_row(kind, {**unpack(pack_row(value)), **columns(value), **NEWER})
    assert read == value, "it changes nothing else"
    changed = replace(other, stored=read.stored)
    assert row_of(read) == row_of(value) | NEWER
    assert row_of(replace(read, **{each.name: getattr(other, each.name) for each in fields(kind)[:-1]})) == row_of(
        changed
    )
    assert unpack(pack_row(changed)) == unpack(pack_row(other)) | NEWER


@pytest.mark.parametrize("kind", ONLY_WRITTEN)
@given(data=st.data())
def test_an_unknown_field_is_ignored(kind: Any, data: st.DataObject) -> None:
    value = data.draw(rows(kind))
    assert read_row(kind, {**unpack(pack_row(value)), **columns(value), **NEWER}) == value


ONE, OTHER = UUID(int=1), UUID(int=2)
HOST = Host(
    3,
    "a.test",
    cursor=QueueEntry(5, ONE),
    leases={ONE: Lease(ONE, OTHER, 9, 1), OTHER: Lease(OTHER, ONE, 8, 2)},
    crawls={"late": CrawlShare(seeded=True), "early": CrawlShare(scheduled=2)},
    robots=Robots("rules", windows=((1, 2),)),
    hints=ChangeHints(right=3),
    record=HostRecord(settled=4),
)


def test_the_row_of_a_host_comes_back() -> None:
    row = HOST.to_row(7, 1)
    read = Host.from_row(replace(row, state=unpack(pack(row.state))))
    assert (row_of(read), list(read.crawls)) == (row_of(HOST), ["late", "early"])
    assert (read.bucket, read.name, read.version, read.leases) == (3, "a.test", row.at, HOST.leases)
    assert pack(Host(3, "a.test").to_row(None, 1).state) == pack({})


def test_what_a_newer_release_has_added_to_a_host_is_written_back() -> None:
    row = HOST.to_row(7, 1)
    state = dict(row.state) | NEWER
    state["robots"] |= NEWER
    state["leases"][0][1] |= NEWER
    state["crawls"][1][1] |= NEWER
    read = Host.from_row(replace(row, state=unpack(pack(state))))
    read.failures += 1
    read.robots.failures += 1
    state |= {"failures": 1, "robots": state["robots"] | {"failures": 1}}
    assert unpack(pack(read.to_row(7, 1).state)) == unpack(pack(state))


def test_a_list_has_the_fields_in_their_order() -> None:
    sights = (Sight(b"a", 5), Sight(b"b", 6, is_own=False))
    assert unpack_list(Sight, pack_list(sights)) == sights
    assert (pack_list(()), unpack_list(Sight, b""), unpack_list(Sight, None)) == (b"", (), ())
