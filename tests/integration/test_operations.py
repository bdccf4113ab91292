"""The commands that operate the journey, against real Kafka and Cassandra."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from schemas import Event, PageDiscovered, PageFetched
from schemas.envelope import micros_from_utc
from schemas.ids import page_id
from streams.cli import app
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.runtime.records import FailureInfo, Incoming, Record, encode, read_failure
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.stores.protocols import Transition
from streams.topology import TOPICS

pytestmark = pytest.mark.integration("kafka", "cassandra")

NOW = datetime.now(UTC)


RIFFLE = (sys.executable, "-c", "from streams.cli import main; main()")


def environment(stack: Settings) -> dict[str, str]:
    """The environment of a command, with the stack's addresses."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RIFFLE_")},
        "RIFFLE_HOME": str(stack.home / "commands"),
        "RIFFLE_KAFKA__BOOTSTRAP": stack.kafka.bootstrap,
        "RIFFLE_CASSANDRA__HOSTS": json.dumps(stack.cassandra.hosts),
        "RIFFLE_CASSANDRA__PORT": str(stack.cassandra.port),
        "RIFFLE_CASSANDRA__KEYSPACE": stack.cassandra.keyspace,
        "RIFFLE_QDRANT__URL": stack.qdrant.url,
        "COLUMNS": "80",
    }


async def riffle(stack: Settings, *arguments: str) -> Result:
    """Run a command."""
    return await run_command(environment(stack), *arguments)


async def run_command(variables: Mapping[str, str], *arguments: str) -> Result:
    """Run a command with these variables in this process: the start of one takes longer than nearly all of them."""
    foreign: dict[str, str | None] = {name: None for name in os.environ if name.startswith("RIFFLE_")}
    return await asyncio.to_thread(lambda: CliRunner().invoke(app, arguments, env=foreign | dict(variables)))


async def answer(stack: Settings, *arguments: str, status: int = 0) -> Any:
    """Run a command with --json and return its output, which is all of its stdout."""
    done = await riffle(stack, *arguments, "--json")
    assert done.exit_code == status, done.stderr
    return json.loads(done.stdout)


def fetched(host: str, path: str = "") -> PageFetched:
    url = f"https://{host}/{path}"
    at = micros_from_utc(NOW)
    return PageFetched(page_id=page_id(url), url=url, host=host, outcome="ok", generation=at, status=200)


async def send(stack: Settings, events: list[Event]) -> None:
    async with EventProducer(stack, "test") as producer:
        await producer.send_all(events)


async def in_topic(stack: Settings, topic: str, host: str) -> list[Incoming]:
    """The records of a topic whose value names the host."""
    records = await asyncio.to_thread(lambda: list(read_topic(stack, topic)))
    return [record for record in records if host.encode() in (record.value or b"")]


@pytest.fixture
def host(fresh_name: str) -> str:
    return fresh_name.replace("_", "-") + ".test"


async def test_topics_shows_records_and_waiting_events(stack: Settings, host: str) -> None:
    before = {topic["name"]: topic for topic in (await answer(stack, "status", "--topics"))["topics"]}
    assert before.keys() == {topic.name for topic in TOPICS}
    await send(stack, [fetched(host, str(n)) for n in range(5)])
    after = await answer(stack, "status", "--topics")
    held = {topic["name"]: topic["records"] for topic in after["topics"]}
    assert held["pages.fetched"] - before["pages.fetched"]["records"] == 5
    (waiting,) = [
        lag["events"] for lag in after["lag"] if (lag["stage"], lag["topic"]) == ("normalize", "pages.fetched")
    ]
    assert waiting >= 5, "no worker runs, so all of them wait"


async def dead_letter(stack: Settings, host: str) -> tuple[FailureInfo, Record]:
    """An event that failed in the stage embed, as the runtime sets it aside."""
    original = encode(fetched(host), cause=uuid4().hex, source="fetch", time=NOW)
    letter = FailureInfo(
        topic="pages.chunked",
        partition=3,
        offset=uuid4().int % 10**12,
        stage="embed",
        attempts=6,
        error_type="PoisonError",
        error=f"the [statements] of {host} can't be read",
        failed_at=datetime.now(UTC) - timedelta(seconds=1),
    )
    async with EventProducer(stack, "test") as producer:
        await producer.send_records(
            [Record("embed.dead", original.key, original.value, letter.headers(original.headers))]
        )
    return letter, original


async def test_a_dead_letter_is_listed_shown_and_replayed(stack: Settings, host: str) -> None:
    letter, original = await dead_letter(stack, host)

    (listed,) = [
        dead for dead in await answer(stack, "dead-letters", "list", "--stage", "embed") if dead["id"] == letter.id
    ]
    assert (listed["error_type"], listed["error"], listed["attempts"]) == ("PoisonError", letter.error, 6)
    assert letter.id not in {dead["id"] for dead in await answer(stack, "dead-letters", "list", "--stage", "fetch")}
    assert letter.id in (await riffle(stack, "dead-letters", "list")).stdout.replace("\n", "")

    shown = await riffle(stack, "dead-letters", "show", letter.id)
    assert shown.exit_code == 0, shown.stderr
    assert "[statements]" in shown.stdout
    assert f'"url": "https://{host}/"' in shown.stdout

    filters = ("--error", f"statements] of {host}", "--stage", "embed")
    (found,) = await answer(stack, "dead-letters", "list", *filters)
    assert found == listed
    counted = await riffle(stack, "dead-letters", "replay", "--all", "--dry-run", *filters)
    assert "1 letter would be sent back" in counted.stdout

    replayed = await riffle(stack, "dead-letters", "replay", "--all", *filters)
    assert replayed.exit_code == 0, replayed.stderr
    (record,) = await in_topic(stack, "embed.replay", host)
    assert (record.key, record.value) == (original.key, original.value)
    headers = dict(record.headers)
    assert original.headers == [(name, value) for name, value in record.headers if not name.startswith("riffle-")]
    again = read_failure(headers)
    assert again is not None
    assert (again.id, again.attempts) == (letter.id, 0), "it keeps its origin, and has all its attempts again"

    assert letter.id not in {dead["id"] for dead in await answer(stack, "dead-letters", "list")}
    once_more = await riffle(stack, "dead-letters", "replay", letter.id)
    assert once_more.exit_code == 2
    assert "no dead letter" in once_more.stderr


async def test_dead_letters_are_listed_page_by_page(stack: Settings, host: str) -> None:
    made = [(await dead_letter(stack, host))[0].id for _ in range(5)]
    filters = ("--error", host, "--limit", "2")
    seen: list[str] = []
    while page := await answer(stack, "dead-letters", "list", *filters, *(("--after", seen[-1]) if seen else ())):
        assert len(page) <= 2
        seen += [dead["id"] for dead in page]
    assert seen == made
    shown = (await riffle(stack, "dead-letters", "list", *filters)).stdout
    assert "All 5 letters" in shown
    assert f"--after {made[1]}" in shown


async def test_replay_sends_what_matches_and_nothing_else(stack: Settings, host: str) -> None:
    old = [fetched(host, f"old/{n}") for n in range(3)]
    await send(stack, [*old, fetched(f"other.{host}", "old")])
    await asyncio.sleep(0.05)  # Kafka finds offsets by the millisecond
    moment = datetime.now(UTC)
    await asyncio.sleep(0.05)
    new = [fetched(host, f"new/{n}") for n in range(4)]
    discovered = PageDiscovered(
        page_id=page_id("https://x.test/"), url="https://x.test/", host=host, why="seed", depth=0
    )
    await send(stack, [*new, fetched(f"other.{host}", "new"), discovered])

    since = moment.replace(tzinfo=None).isoformat()
    done = await riffle(stack, "replay", "--from", "normalize", "--host", host, "--since", since)
    assert done.exit_code == 0, done.stderr
    assert "Sent 4 events to normalize again" in done.stdout
    sent = await in_topic(stack, "normalize.replay", host)
    assert {record.value for record in sent} == {event.to_json() for event in new}

    none = await riffle(stack, "replay", "--from", "normalize", "--host", f"empty.{host}")
    assert none.exit_code == 1
    assert "Nothing to replay" in none.stdout


async def test_page_shows_the_whole_life(stack: Settings, host: str) -> None:
    url = f"https://{host}/a-page"
    steps: list[tuple[str, str, str, dict[str, Any]]] = [
        ("pages.discovered", "frontier", "Given as a seed", {"why": "seed"}),
        ("pages.scheduled", "frontier", "Scheduled to be fetched", {"attempt": 1}),
        (
            "pages.fetched",
            "fetch",
            "Redirects to https://b.test/",
            {"outcome": "redirect", "redirect_to": "https://b.test/"},
        ),
    ]
    async with open_stores(stack, ["records"]) as stores:
        for seconds, (topic, stage, outcome, data) in enumerate(steps):
            at = micros_from_utc(NOW + timedelta(seconds=seconds))
            await stores.ledger.record(
                Transition(page_id(url), uuid4(), topic, f"/riffle/{stage}", at, outcome, {"url": url, **data})
            )

    life = await answer(stack, "page", url)
    assert (life["page_id"], life["url"]) == (str(page_id(url)), url)
    assert [(step["topic"], step["outcome"]) for step in life["steps"]] == [(t, o) for t, _, o, _ in steps]
    assert life["says"] == "Redirects to https://b.test/"
    assert await answer(stack, "page", life["page_id"]) == {**life, "url": life["page_id"]}
    assert await answer(stack, "page", url.removeprefix("https://")) == life, "https is what an address means"

    shown = (await riffle(stack, "page", url)).stdout
    assert all(topic in shown and stage in shown for topic, stage, _, _ in steps)
    assert "Look at the page that it redirects to" in shown


async def test_a_page_that_was_never_seen(stack: Settings, host: str) -> None:
    url = f"https://{host}/never"
    assert (await answer(stack, "page", url, status=1))["steps"] == []
    shown = await riffle(stack, "page", url)
    assert shown.exit_code == 1
    assert f"has never seen {url}" in shown.stdout
    assert (await riffle(stack, "page", url, "--document")).exit_code == 1
