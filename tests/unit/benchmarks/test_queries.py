"""`python -m benchmarks queries`: its file of questions, what the gateway answers, and the wait for a busy pipeline."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.search import queries
from benchmarks.search.queries import ask, read_questions, wait_until_busy
from streams.errors import StoreUnavailable, UsageError
from streams.models.triton_connection import Busy


class Model:
    """A model that has computed these seconds at each look; the last number stays."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = list(seconds)

    async def busy(self, name: str) -> Busy:
        return Busy(self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0], 2)


async def wait(model: Any, importing: Any = None) -> None:
    async with asyncio.timeout(20):
        await wait_until_busy(model, "sbert", importing or asyncio.create_task(asyncio.sleep(30)))


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "POLL_SECONDS", 0.001)


async def test_the_questions_wait_until_the_model_has_computed_for_a_while() -> None:
    model = Model(7.0, 7.0, 8.0, 8.5, 9.5)
    await wait(model)
    assert model.seconds == [9.5]


async def test_pages_that_give_the_model_nothing_to_do_end_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "IDLE_SECONDS", 0.05)
    # It waited for ever: the pages of its second run were duplicates of the first run's pages.
    with pytest.raises(UsageError, match="nothing to do"):
        await wait(Model(7.0, 8.0))


async def test_an_import_that_fails_ends_the_measurement() -> None:
    async def failing() -> None:
        raise UsageError("no page in DIR")

    importing = asyncio.create_task(failing())
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="no page in DIR"):
        await wait(Model(7.0), importing)


def test_questions_are_read_a_line_each_up_to_a_tab(tmp_path: Path) -> None:
    file = tmp_path / "questions.tsv"
    file.write_bytes("\ufeffhow tall\t0.8\r\n\n\tno question\nhow\u2028far \u00e9\n".encode())
    assert read_questions(file) == ["how tall", "how\u2028far \u00e9"]


def test_a_question_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "questions.tsv"
    file.write_bytes(b"how tall\ncaf\xe9\n")  # the gateway would refuse it: it was asked with U+FFFD
    with pytest.raises(UsageError, match=r"questions\.tsv, line 2: not UTF-8"):
        read_questions(file)


def test_a_question_that_gets_no_answer_is_named() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, json={"detail": "The query has 9,000 characters."})

    def away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    for handler, error, message in (
        (refuse, UsageError, "refuses the question 'how tall': .*9,000 characters"),
        (away, StoreUnavailable, "doesn't answer"),
    ):
        client = httpx2.Client(base_url="http://gateway.test", transport=httpx2.MockTransport(handler))
        with client, pytest.raises(error, match=message):
            ask(client, "how tall")
