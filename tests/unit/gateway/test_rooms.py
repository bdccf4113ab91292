"""The gateway's rooms depend on each other in one direction, and on few parts of the rest."""

from pathlib import Path

import pytest

from tests.unit.test_architecture import imports, modules, relative

ROOMS = ("http", "context", "search", "page", "labs", "health", "lazy_stores", "query_publisher", "app", "serve")
"""Each room may import from those before it, and from itself."""
PAGES = {"streams.pages.document", "streams.pages.text"}
SANDBOX = "streams.pages.sandbox"
"""Only labs takes pages apart. The sandbox is imported there, and nowhere else in the gateway."""


def room_of(name: str) -> str:
    return name.split(".")[2]


def gateway_modules() -> list[Path]:
    return [path for path in modules("streams/gateway") if path.parent.name != "gateway" or path.stem != "__init__"]


@pytest.mark.parametrize("path", gateway_modules(), ids=relative)
def test_rooms_depend_on_earlier_rooms_alone(path: Path) -> None:
    own = room_of(".".join(path.with_suffix("").parts[-4 if path.parent.name != "gateway" else -3 :]))
    imported = {room_of(name) for name in imports(path) if name.startswith("streams.gateway.")}
    later = {room for room in imported if ROOMS.index(room) > ROOMS.index(own)}
    assert not later


@pytest.mark.parametrize("path", gateway_modules(), ids=relative)
def test_of_pages_only_documents_and_text_are_imported(path: Path) -> None:
    allowed = PAGES | ({SANDBOX} if path.parent.name == "labs" else set())
    imported = {name for name in imports(path) if name.startswith("streams.pages.")}
    assert not {name for name in imported if not any(name.startswith(each) for each in allowed)}
