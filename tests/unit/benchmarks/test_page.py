"""`python -m benchmarks page`: what it measures of a page that comes in parts."""

import time
from collections.abc import Iterator

import httpx2
import pytest

from benchmarks.search.page import Page, demo_questions, load_page, summary
from streams.errors import UsageError

HEAD, REST = b"<head>", b"<main>"


class Parts(httpx2.SyncByteStream):
    """A page of two parts, the second one 50 ms later."""

    def __iter__(self) -> Iterator[bytes]:
        yield HEAD
        time.sleep(0.05)
        yield REST


def client(status: int = 200) -> httpx2.Client:
    return httpx2.Client(
        transport=httpx2.MockTransport(lambda request: httpx2.Response(status, stream=Parts())),
        base_url="http://riffle.test",
    )


def test_the_first_byte_is_measured_apart_from_the_last_one() -> None:
    page = load_page(client(), "log")
    assert page.size == len(HEAD + REST)
    assert page.last_byte_seconds - page.first_byte_seconds >= 0.05


def test_a_refused_question_is_named() -> None:
    with pytest.raises(UsageError, match="'log' with status 400"):
        load_page(client(400), "log")


def test_a_summary_has_the_heaviest_page() -> None:
    found = summary([Page(0.001, 0.002, 1_000), Page(0.003, 0.004, 3_000)])
    assert (found["pages"], found["weight_kb"], found["heaviest_kb"]) == (2, 2.0, 3.0)
    assert found["first_byte_ms"].p50 == 2.0


def test_the_demo_has_questions_for_each_coding() -> None:
    assert len(demo_questions()) >= 4
