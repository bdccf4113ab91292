"""Clients that keep connections open are closed where they are made.

A client that nobody closes is found by Python's collector, in the middle of any later test, which then fails.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "docs", "streams", "tests", "triton_models")
LIBRARIES, CLIENTS = {"httpx", "httpx2"}, {"Client", "AsyncClient"}
OPENERS = {"plain_client", "plain_async_client"}
"""The functions of `streams.client.plain_http` that make clients for others, who close them."""
WITHOUT_CONNECTIONS = {"MockTransport", "ASGITransport", "WSGITransport"}
"""Transports that open no connection."""
ENTERS = {"enter_context", "enter_async_context"}


def unclosed_clients(source: str) -> Iterator[int]:
    """Yield the line of each client that no `with` closes and that no object keeps, to close it by itself."""
    if not any(name in source for name in (*LIBRARIES, *OPENERS)):
        return  # parsing all files takes seconds
    tree = ast.parse(source)
    closed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem):
            closed.add(node.context_expr)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(target, ast.Attribute) for target in targets):
                closed |= {node.value, *(node.value.values if isinstance(node.value, ast.BoolOp) else ())}
        elif isinstance(node, ast.Call) and _name(node.func) in ENTERS:
            closed |= set(node.args)
        elif isinstance(node, ast.FunctionDef) and node.name in OPENERS:
            closed |= {each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_client(node.func) and node not in closed:
            transports = [_name(one.value.func) for one in node.keywords if isinstance(one.value, ast.Call)]
            if not WITHOUT_CONNECTIONS & set(transports):
                yield node.lineno


def _is_client(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in OPENERS
    if not isinstance(function, ast.Attribute) or function.attr not in CLIENTS:
        return False
    return isinstance(function.value, ast.Name) and function.value.id in LIBRARIES


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


FORMS = [
    ("with httpx.Client() as web: ...", 0, "closed at the end of the block"),
    ("async def f():\n async with (g(), httpx2.AsyncClient(timeout=1) as web): ...", 0, "one of several"),
    ("stack.enter_context(httpx.Client())", 0, "closed with the stack"),
    ("self.web = given or httpx.AsyncClient()", 0, "kept by an object, which closes it"),
    ("web = httpx.AsyncClient(transport=httpx.ASGITransport(app))", 0, "no connection"),
    ("web = httpx.Client()", 1, "a name closes nothing"),
    ("with Riffle(address, http=httpx.Client(transport=Real())): ...", 1, "the owner of a given client closes it"),
    ("httpx.Client().get(address)", 1, "nobody has it"),
    ("def plain_client(): return httpx.Client()", 0, "who asks for it closes it"),
    ("def web(): return httpx.Client()", 1, "nobody knows who closes it"),
    ("with plain_client() as web: ...", 0, "closed at the end of the block"),
    ("web = plain_client()", 1, "one of another module"),
]


@pytest.mark.parametrize(("source", "count", "why"), FORMS, ids=[form[2] for form in FORMS])
def test_the_forms_that_are_closed(source: str, count: int, why: str) -> None:
    assert len(list(unclosed_clients(source))) == count, why


def test_each_client_is_closed_where_it_is_made() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 1_000
    faults = [f"{path.relative_to(ROOT)}:{line}" for path in files for line in unclosed_clients(path.read_text())]
    assert faults == []
