"""A process that writes what times order compares its clock first: it opens the records to write, or can't write them.

`open_stores` compares by itself. So the rule is only about what passes it by: events that are sent without the stores,
sessions without `open_stores`, and stores that are opened to serve.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import streams

ROOT = Path(streams.__file__).parent
OWN_TIMES_OF_KAFKA = {
    "gateway/serve.py": "questions and clicks are counted by their event's time, and no later one is outranked",
    "admin/actions.py": "the audit log is read by Kafka's time of its records",
}
"""Producers of events without the stores, and why their clock orders nothing."""
SESSIONS = {
    "stores/cassandra/opening.py": "open_stores",
    "stores/cassandra/restoring.py": "a restore writes each row with the time at which it was written",
    "backup/cassandra.py": "so does what it is part of",
    "doctor/cassandra.py": "it compares the clocks",
}
"""Users of a session of their own, and why no comparison comes first."""


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def _calls(tree: ast.Module, name: str) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if name in (getattr(call.func, "id", ""), getattr(call.func, "attr", ""))]


def _use(call: ast.Call) -> object:
    return next((ast.literal_eval(given.value) for given in call.keywords if given.arg == "use"), "write")


def _sends_new_events(tree: ast.Module) -> bool:
    """Return whether a module makes a producer, and uses it for more than copies of records, which keep their times."""
    made = _calls(tree, "EventProducer")
    return bool(made) and len(_calls(tree, "send_records")) < len(made)


def test_a_sender_of_new_events_has_compared_its_clock() -> None:
    found = {
        name
        for name, tree in _modules()
        if _sends_new_events(tree) and "write" not in map(_use, _calls(tree, "open_stores"))
    }
    assert found == OWN_TIMES_OF_KAFKA.keys()


def test_no_other_module_writes_by_a_session_of_its_own() -> None:
    found = {name for name, tree in _modules() if any(isinstance(c.func, ast.Name) for c in _calls(tree, "connect"))}
    assert found == SESSIONS.keys()


def test_only_the_gateway_serves() -> None:
    uses = {name: {_use(call) for call in _calls(tree, "partial") if _of_opener(call)} for name, tree in _modules()}
    uses = {name: found for name, found in uses.items() if found}
    assert uses == {"gateway/lazy_stores.py": {"serve"}}
    assert not [name for name, tree in _modules() if "serve" in map(_use, _calls(tree, "open_stores"))]


def _of_opener(call: ast.Call) -> bool:
    return any(isinstance(given, ast.Name) and given.id == "open_stores" for given in call.args)
