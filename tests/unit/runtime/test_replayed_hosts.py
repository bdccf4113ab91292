"""The events `riffle replay --host` takes: those about pages of the host, and links to and from its pages."""

from typing import Any

import orjson
import pytest

from streams.runtime.dead_letters import _is_of_host
from streams.runtime.records import Incoming

LINK = {"target_url": "https://b.example/", "target_host": "b.example", "source_url": "https://a.example/1"}


def record(value: bytes) -> Incoming:
    return Incoming("pages.x", 0, 0, b"key", value, [])


@pytest.mark.parametrize(
    ("data", "host", "is_of_host"),
    [
        ({"host": "a.example"}, "a.example", True),
        ({"url": "https://a.example/1"}, "a.example", True),  # events about a page's content name no host
        ({"url": "https://a.example.org/1"}, "a.example", False),
        (LINK, "b.example", True),  # the frontier of the linked host follows it
        (LINK, "a.example", True),  # an edge of the linking page
        (LINK, "c.example", False),
        ([], "a.example", False),
    ],
)
def test_the_host_of_an_event(data: Any, host: str, is_of_host: bool) -> None:
    assert _is_of_host(record(orjson.dumps(data)), host) == is_of_host


def test_a_value_that_is_no_json_is_of_no_host() -> None:
    assert not _is_of_host(record(b"{"), "a.example")
