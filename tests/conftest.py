"""The real servers for integration tests: started once for the run, on free ports, in a folder of their own, and
stopped behind the last test that uses them.

    pytestmark = pytest.mark.integration            # needs all of them
    pytestmark = pytest.mark.integration("kafka")   # needs only Kafka: quicker to run by itself

    def test_it(stack: Settings): ...
    def test_it(only_kafka: Settings): ...  # a Kafka beside the stack: in another process of pytest-xdist

What the selected tests name together is started, when the first of them asks for `stack`.
"""

import gc
import logging
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.running_time import use_running_time

# All that imports and the collection make stays. Python's collector of cycles would look at it for a fifth of the time.
gc.disable()

# Before the modules that keep a clock from `time` are imported.
use_running_time()

from streams.local.server_set import running_servers
from streams.logs import configure_logging
from streams.resources import OBJECTS_WHILE_LOADING, exempt_loaded_objects
from streams.servers import NAMES
from streams.settings import Settings
from tests.child_processes import unreaped
from tests.short_lives import NEVER_STARTED_AGAIN
from tests.sizes import FULL, examples

# No test is about time: machines are shared. In CI the same cases each time, so that a change is judged by itself.
hypothesis_settings.register_profile(
    "riffle",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
# For a run of tests in a test: what is tried there is whether they pass at all.
hypothesis_settings.register_profile("few", hypothesis_settings.get_profile("riffle"), max_examples=5)
hypothesis_settings.load_profile("riffle")

# As in every process of Riffle: logs go to stderr, so that a test of stdout does not depend on the tests before it.
configure_logging(Settings())

# In the background a shell has interrupts ignored, and all that we start would inherit that; and who ends the run with
# a plain `kill` wants the servers and browsers stopped, too.
for _number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(_number, signal.default_int_handler)

SERVERS = frozenset(NAMES)
SHARED_SERVERS = {"tls_stack": "TlsStack", "stack": "Settings", "only_kafka": "Settings", "product": "Product"}
"""The fixtures whose servers are started once for many files, with their types."""
RENDERED_CHART = re.compile(r"\brender\(")
"""A file with this reads the chart, which each process renders again with each file of values: 12 s of CPU time."""
TESTS = Path(__file__).parent
CONTRACTS = TESTS / "integration" / "contracts"
WITHOUT_SERVERS = {"rules", "stages", "unit", "web_reports"}
"""Folders in which no test needs a server or a browser: `make test` doesn't look for such tests there."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Import the files of the tests in an order that each process of pytest-xdist begins elsewhere.

    In a fresh clone each file is compiled, and its assertions are rewritten, by the process that comes to it first, and
    the others read the result. In one order all would do it at once: twelve seconds of CPU time in each.
    """
    number, count = (
        int(os.environ.get(f"PYTEST_XDIST_WORKER{each}", "").removeprefix("gw") or 0) for each in ("", "_COUNT")
    )
    if count > 1:
        folders = (session.config.rootpath / argument.partition("::")[0] for argument in session.config.args)
        files = sorted(file for folder in folders for file in folder.rglob("test_*.py"))
        first = len(files) * number // count
        for file in files[first:] + files[:first]:
            # What fails here fails again when the file is collected, which reports it.
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))
    return (yield)


def pytest_collection_finish() -> None:
    # Exempt first: the collector would look at all of them as soon as it is on, for a second.
    exempt_loaded_objects(OBJECTS_WHILE_LOADING)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Have a process of pytest-xdist send only what the first process shows: each message costs both of them."""
    sender = next((each for each in config.pluginmanager.get_plugins() if hasattr(each, "sendevent")), None)
    if sender is None or config.option.verbose > 0 or config.option.durations is not None or config.option.xmlpath:
        return
    send, failed = sender.sendevent, set[str]()

    def send_what_is_shown(name: str, **message: Any) -> None:
        if name == "testreport":
            report = message["data"]
            if report["outcome"] != "passed":
                failed.add(report["nodeid"])
            elif report["when"] != "call" and report["nodeid"] not in failed:
                return
        if name != "logstart":
            send(name, **message)

    sender.sendevent = send_what_is_shown


_unreaped: list[str] = []
"""Children of the processes of pytest-xdist that nobody waited for."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report to the first process of pytest-xdist, if this is another one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["unreaped"] = unreaped()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _unreaped.extend(getattr(node, "workeroutput", {}).get("unreaped", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the child processes that Python may warn about at the exit, without a name."""
    if left := [*_unreaped, *unreaped()]:
        terminalreporter.section("child processes that nobody waited for")
        for command in left:
            terminalreporter.write_line(command[:400])


def servers_needed(items: Iterable[pytest.Item]) -> frozenset[str]:
    """Return the servers that the integration marks of these tests name. A mark without names needs all."""
    needed: set[str] = set()
    for item in items:
        for mark in item.iter_markers("integration"):
            needed |= set(mark.args) or SERVERS
    if unknown := needed - SERVERS:
        raise pytest.UsageError(f"integration marks name {sorted(unknown)}; the servers are {sorted(SERVERS)}")
    return frozenset(needed)


def needs_servers(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("integration", "browser"))


@cache
def servers_of(file: Path) -> str:
    """Return the fixture whose servers the tests of a file share with others, `chart` if they share what they render,
    or the file.

    This is read from the source, as the process that distributes the tests collects none.
    """
    sources = [path.read_text(encoding="utf-8") for path in (file, file.with_name("conftest.py")) if path.exists()]
    text = "\n".join(sources)
    if file.parent.name == "chart" and RENDERED_CHART.search(text):
        return "chart"
    return next((name for name, type_ in SHARED_SERVERS.items() if re.search(rf"\b{name}: {type_}", text)), str(file))


def process_of(file: Path) -> str:
    """Return what the files have in common that run in one process: their servers, or what they render.

    The contracts have a stack of their own: with the journeys they would run long after all others.
    """
    servers = servers_of(file)
    return f"{servers} {CONTRACTS.name}" if servers == "stack" and CONTRACTS in file.parents else servers


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` also the files of `process_of` run in one process: their servers are started once."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByServers(LoadFileScheduling):  # type: ignore[misc]  # ships no types
        def _split_scope(self, nodeid: str) -> str:
            return process_of(config.rootpath / nodeid.partition("::")[0])

    return ByServers(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put first what takes longest, so that at the end no process of pytest-xdist waits for another one.

    By day tests of the night are left out, unless one is named.
    """
    if not FULL and not any("::" in argument for argument in config.args):
        left_out = [item for item in items if item.get_closest_marker("night")]
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
    without = {path for path in {item.path for item in items} if path.relative_to(TESTS).parts[0] in WITHOUT_SERVERS}
    for item in items:
        if item.path in without and needs_servers(item):
            raise pytest.UsageError(f"{item.nodeid} needs servers: move it to tests/integration or tests/e2e")
        for fixture in SHARED_SERVERS.keys() & set(getattr(item, "fixturenames", ())):
            if servers_of(item.path) != fixture:
                written = f"{fixture}: {SHARED_SERVERS[fixture]}"
                raise pytest.UsageError(f"{item.path} shares servers: write `{written}` there or in its conftest.py")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (servers_of(item.path) == str(item.path), item.path not in slow))
    places: dict[str, int] = {}
    for item in items:
        places.setdefault(process_of(item.path), len(places))
    # What shares servers is together, so that none is started twice.
    items.sort(key=lambda item: places[process_of(item.path)])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop shared servers behind the last test that uses them: idle ones take CPU time until the run ends."""
    yield
    servers = servers_of(item.path)
    if nextitem is None or servers not in SHARED_SERVERS or servers_of(nextitem.path) == servers:
        return
    for definition in item.session._fixturemanager.getfixturedefs(servers, item) or ():
        definition.finish(item._request)  # type: ignore[attr-defined]  # pytest has no public name for it


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """Settings that point to the running servers, with topics and tables made.

    Use names of your own for what you write (`fresh_name`), since all tests of the run share them.
    """
    needed = servers_needed(request.session.items) or SERVERS
    with _servers(needed) as settings:
        yield settings


@pytest.fixture(scope="session")
def only_kafka() -> Iterator[Settings]:
    """Settings that point to a Kafka without other servers, with topics made. Use names of your own."""
    with _servers(frozenset({"kafka"})) as settings:
        yield settings


@contextmanager
def _servers(needed: frozenset[str]) -> Iterator[Settings]:
    home = Path(tempfile.mkdtemp(prefix="riffle-test-"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in NEVER_STARTED_AGAIN.items():
                patch.setenv(name, value)
            # Riffle's own stack has its models in process: the tests of Triton ask for it.
            with running_servers(home, needed, base=Settings.load(home=home, local_triton=True)) as settings:
                patch.undo()
                yield settings
    finally:
        shutil.rmtree(home, ignore_errors=True)


def fresh_name(prefix: str = "test") -> str:
    """A name that nothing else of this run uses: valid as a topic, keyspace, collection, host label or group."""
    return f"{prefix}_{uuid4().hex[:12]}"


@pytest.fixture(name="fresh_name")
def fresh_name_fixture() -> str:
    return fresh_name()


@pytest.fixture(scope="session")
def client_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place of packages with `riffle_client`, as programs import it."""
    from tests.wheel.environment import unpack_client  # few tests need it

    return unpack_client(tmp_path_factory.mktemp("riffle-client"))


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """Undo afterwards what a test configures of the logs."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    configure_logging(Settings())
    root.handlers[:] = handlers
    root.setLevel(level)
