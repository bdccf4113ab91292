"""Nothing opens a connection to an address that a page or a person chose, but the crawler's guarded client.

Each module that can open a connection stands here with the server that it asks. A new one is denied by default.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("streams", "schemas", "infra", "triton_models")
_LIBRARIES = """
    aiodns aiohttp aiokafka asyncssh cassandra confluent_kafka faust ftplib grpc http.client httpcore httpx httpx2
    imaplib opentelemetry paramiko poplib pycurl qdrant_client requests smtplib socket ssl telnetlib tritonclient
    urllib.request urllib3 websocket websockets xmlrpc
"""
LIBRARIES = frozenset(_LIBRARIES.split())
"""Libraries that open connections, or that are used to."""
CALLS = frozenset({
    "create_connection", "create_datagram_endpoint", "create_unix_connection", "open_connection",
    "open_unix_connection", "sock_connect", "urlopen", "urlretrieve", "from_pretrained",
})  # fmt: skip
"""Functions that open connections without an import that says so."""
WEB = "an address that a page or a person chose, behind the guard"
OPERATORS = "a server that the operator named in the settings"
OWN = "a server of this machine's stack"
USERS = "an address that the person at this terminal typed, as curl does"
NONE = "none: it listens, names this machine, or describes certificates"
ASKED: dict[str, str] = {
    "streams/crawl/fetch": WEB,
    "streams/crawl/polite/client.py": WEB,
    "streams/hooks/sending.py": WEB,  # the receivers of webhooks
    "streams/backup/kafka.py": OPERATORS,
    "streams/doctor": OPERATORS,  # looks whether they answer
    "streams/models": OPERATORS,  # Triton, and the language model's chat server
    "streams/runtime": OPERATORS,  # Kafka, and the server of its tokens
    "streams/stores": OPERATORS,  # Cassandra and Qdrant
    "streams/tracing.py": OPERATORS,  # the collector of traces
    "streams/commands/console.py": OPERATORS,  # says which server does not answer
    "infra/k8s/base/qdrant/snapshots.py": OPERATORS,
    "streams/local": OWN,
    "streams/gateway/tools/http.py": OWN,  # the gateway's own API, inside the process
    "triton_models/check_server.py": OWN,  # a probe beside its server
    "triton_models/describe_server.py": USERS,  # the server of a model that a person describes
    "triton_models/export.py": USERS,  # downloads the model that a person named, to build it
    "triton_models/export_rerank.py": USERS,
    "streams/client/plain_http.py": OPERATORS,  # the clients of such servers
    "streams/client": USERS,  # the gateway of a program
    "streams/commands/pages/search.py": USERS,
    "streams/gateway/serve.py": NONE,
    "streams/credentials.py": NONE,
    "streams/admin/jobs.py": NONE,
    "streams/commands/job_reports.py": NONE,
}
"""Each module, or each folder whose modules are alike, with the server that it asks."""


def openers(source: str) -> Iterator[str]:
    """Yield what a module has that opens connections."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            names = [called] if called in CALLS else []
        else:
            continue
        yield from (name for name in names if name in CALLS or _library(name))


def _library(name: str) -> str:
    return next((known for known in LIBRARIES if name == known or name.startswith(f"{known}.")), "")


@cache
def found() -> set[str]:
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)) for path in files if any(openers(path.read_text(encoding="utf-8")))}


def place_of(module: str) -> str | None:
    """Return the line of the table that names a module, or its folder."""
    return next((place for place in ASKED if module == place or module.startswith(f"{place}/")), None)


def test_each_module_that_opens_connections_is_known() -> None:
    assert sorted(module for module in found() if place_of(module) is None) == [], (
        "which server does it ask? What a page or a person chose is asked by streams.crawl.polite only"
    )


def test_no_line_is_left_over() -> None:
    assert set(ASKED) - {place_of(module) for module in found()} == set()


CLIENT = "streams.crawl.fetch.http"
VALUES = {"Answer", "ACCEPT", "MAX_HEADER_BYTES", "MAX_FIELDS"}
"""Names of the guarded client that ask nobody."""


def test_the_guarded_client_is_used_by_the_fetch_stage_the_polite_client_and_webhooks_only() -> None:
    """A third one that reads would have robots.txt, orders and a pace of its own. A webhook reads no page."""
    users = {}
    for path in (ROOT / "streams").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if CLIENT in source else ():
            if not isinstance(node, ast.ImportFrom) or node.module != CLIENT:
                continue
            if names := {alias.name for alias in node.names} - VALUES:
                users[str(path.relative_to(ROOT))] = names
    callers = {"streams/crawl/fetch/thread.py", "streams/crawl/polite/client.py", "streams/hooks/sending.py"}
    assert set(users) == callers, users


FORMS = [
    ("import aiohttp", True),
    ("from urllib.request import urlopen", True),
    ("from urllib.parse import urlsplit", False),
    ("def later():\n import httpx2", True),  # also where it is loaded late
    ("import asyncio\nasyncio.open_connection(host, 443)", True),
    ("loop.create_connection(factory, host, 443)", True),
    ("from http import HTTPStatus", False),
    ("from http.client import HTTPSConnection", True),
    ("AutoModel.from_pretrained(name)", True),
    ("from socket import create_connection as connect", True),
]


@pytest.mark.parametrize(("source", "opens"), FORMS)
def test_the_forms_that_open_connections(source: str, opens: bool) -> None:
    assert bool(list(openers(source))) is opens


DECODING = {("httpx2", name) for name in ("Client", "AsyncClient", "get", "post", "put", "request", "stream")}
"""The calls that make a client of `httpx2`, which decodes answers by itself, without a limit."""
DECODES = {"streams/client/plain_http.py"}
"""The module that makes them, and lets them decode nothing."""


def test_no_client_decodes_what_a_server_compressed() -> None:
    users = set()
    for path in (ROOT / "streams").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "httpx2" in source else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and (owner.id, node.func.attr) in DECODING:
                users.add(str(path.relative_to(ROOT)))
    assert users == DECODES, "use streams.client.plain_http"


LINES = ("streams/lines/bounded.py", "streams/links/batch.py", "streams/local", "streams/commands/stack/up.py")
"""The reader of lines, and who reads lines of a file or pipe that Riffle itself writes."""


_OPENS = re.compile(r"with [^\n]*open")


def reads_lines(source: str) -> bool:
    """Return whether a module reads lines of a file by itself, which may be as long as the file."""
    if "readline" not in source and "TextIOWrapper" not in source and not _OPENS.search(source):
        return False
    tree = ast.parse(source)
    opened = {
        ast.unparse(item.optional_vars)
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if item.optional_vars and "open" in ast.unparse(item.context_expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and ast.unparse(node.iter) in opened:
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".readline", ".readlines", "TextIOWrapper")):
            return True
    return False


def test_lines_of_files_have_one_reader() -> None:
    files = {str(path.relative_to(ROOT)): path for path in (ROOT / "streams").rglob("*.py")}
    assert [name for name, path in files.items() if not name.startswith(LINES) and reads_lines(path.read_text())] == []


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("with path.open() as file:\n    for line in file:\n        pass", True),
        ("with gzip.open(path) as file:\n    found = [line for line in file]", True),
        ("file.readline()", True),
        ("lines = io.TextIOWrapper(file)", True),
        ("with path.open() as file:\n    for number, line in lines_of(file):\n        pass", False),
    ],
)
def test_what_reads_lines(source: str, reads: bool) -> None:
    assert reads_lines(source) is reads
