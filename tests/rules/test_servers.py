"""The table of servers: every row is complete, and the page about another server lists all files that one touches."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml

from streams.doctor.checks import all_checks
from streams.local.servers.cassandra import Cassandra
from streams.local.servers.kafka import Kafka
from streams.local.servers.qdrant import Qdrant
from streams.local.servers.server import StoreServer
from streams.local.servers.triton import Triton
from streams.servers import NAMES, SERVERS, STORES, Role, Server, find, named, server_of
from streams.settings import Settings
from streams.stores.opener import Stores, fields_of, memory_stores

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "servers.md"
LOCAL: tuple[type[StoreServer], ...] = (Kafka, Cassandra, Qdrant, Triton)


def each_server() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)


def test_each_role_has_one_server() -> None:
    assert sorted(server.role for server in SERVERS) == sorted(get_args(Role))
    assert [server_of(server.role) for server in SERVERS] == list(SERVERS)
    assert [named(name) for name in NAMES] == list(SERVERS)
    with pytest.raises(KeyError, match="the servers are kafka, cassandra, qdrant, triton"):
        named("oracle")


@each_server()
def test_a_server_has_settings_a_check_and_a_local_start(server: Server) -> None:
    settings = Settings()
    assert server.name in Settings.model_fields
    assert server.name in {check.name for check in all_checks(settings)}
    assert find(server.endpoint)(settings) is None, "no connection is encrypted by default"
    assert find(server.start) in LOCAL
    assert (find(server.start).name, find(server.start).title) == (server.name, server.title)


@each_server()
def test_a_server_can_be_set_in_the_chart(server: Server) -> None:
    assert server.name in yaml.safe_load((ROOT / "helm/riffle/values.yaml").read_text())


@each_server()
def test_replicas_are_settings_of_a_server_that_keeps_something(server: Server) -> None:
    assert hasattr(getattr(Settings(), server.name), "replication") is (server.replicas is not None)


def test_each_store_is_opened_by_its_server() -> None:
    assert [bool(server.open) for server in SERVERS] == [server.role in STORES for server in SERVERS]
    for store in STORES:
        opened = find(server_of(store).open).__annotations__["return"]
        assert {*fields_of(store), "close"} <= {*opened.__dataclass_fields__}


def test_each_field_of_the_stores_has_a_role_and_a_fake() -> None:
    fields = [name for store in STORES for name in fields_of(store)]
    assert sorted(fields) == sorted(Stores.__slots__)
    fakes = memory_stores()
    for name in set(fields) - {"clock_ahead", "unfinished_restore"}:  # functions of the server
        assert type(getattr(fakes, name)).__name__.startswith("Memory")


def test_a_store_that_was_not_opened_names_the_mistake() -> None:
    with pytest.raises(RuntimeError, match="vectors was not opened"):
        _ = Stores().vectors.upsert


def texts_in_code(path: Path) -> Iterator[str]:
    """All texts in a file's code, but docstrings and sentences for people."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value


def names_in_code(path: Path) -> Iterator[str]:
    """All names in a file's code: of variables, functions, modules, fields."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found = (getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module"))
        yield from (name for name in found if isinstance(name, str))


def test_the_page_lists_all_files_that_know_the_vector_engine() -> None:
    """The list in the page is true only while no other file names the product."""
    page = PAGE.read_text().partition("## What another vector engine needs\n")[2]
    listed = re.findall(r"^\| \[[^]]*\]\(\.\./\.\./(streams/[^)]+)\) \|", page, re.M)
    knowing = [path.relative_to(ROOT) for path in (ROOT / "streams").rglob("*.py") if knows_qdrant(path)]
    assert [str(path) for path in knowing if not any(within(path, entry) for entry in listed)] == []
    assert [entry for entry in listed if not any(within(path, entry) for path in knowing)] == []
    assert len(listed) < 10


def knows_qdrant(path: Path) -> bool:
    if "qdrant" not in path.read_text(encoding="utf-8").lower():
        return False  # parsing all files takes seconds
    return any("qdrant" in name.lower() for name in (*names_in_code(path), *texts_in_code(path)))


def within(path: Path, entry: str) -> bool:
    """True if a file is the listed file, or in the listed folder."""
    return path == Path(entry) or Path(entry) in path.parents


def test_code_asks_for_a_role_and_not_for_a_product() -> None:
    """`open_stores(settings, ["qdrant"])` would fail with another engine; so would `on_failure("qdrant", error)`."""
    about_products = ("doctor", "local", "backup", "planning", "stores", "models", "commands/stack", "servers.py")
    asking = {
        f"{path.relative_to(ROOT)} names {text}"
        for path in (ROOT / "streams").rglob("*.py")
        if not any(within(path.relative_to(ROOT / "streams"), entry) for entry in about_products)
        and any(name in path.read_text(encoding="utf-8") for name in NAMES)
        for text in texts_in_code(path)
        if text in NAMES
    }
    assert asking == {
        "streams/settings/root.py names cassandra",  # with certificates, these two always need an authority
        "streams/settings/root.py names triton",
        "streams/logs.py names cassandra",  # names of libraries whose log lines are left out
        "streams/logs.py names kafka",
        "streams/runtime/observer.py names kafka",  # the system of a span, as OpenTelemetry names it
        "streams/tracing.py names cassandra",
        "streams/tracing.py names kafka",
        "streams/commands/operate/reindex.py names triton",  # the group of settings with the model's name
        "streams/commands/operate/reindex_entities.py names triton",
    }
