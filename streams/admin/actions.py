"""The actions of the pages of operators: what each form does, after the audit log has it, and that log."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from schemas import InvalidEvent, OperationAudited
from streams.admin.jobs import Job, Jobs
from streams.admin.letters import selection_of
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import UsageError
from streams.runtime.dead_letters import DeadLetter, DeadLetters, find_dead_letters, replay_records
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import Settings

BATCH_LETTERS = 500
MAX_DEPTH = 16
ORDER_SECONDS = 10.0
"""Maximum time that an action on a host waits for its job (seconds)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An action of an operator."""

    at: datetime
    event: OperationAudited


class AuditLog:
    """The topic `operations.audited`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def write(self, actor: str, action: str, target: str, detail: str) -> None:
        """Publish an action, and wait until Kafka has it. Raises StoreUnavailable: then the action must not begin."""
        event = OperationAudited(actor=actor, action=action, target=target[:2_048], detail=detail[:2_048])
        async with EventProducer(self._settings, "admin") as producer:
            await producer(event)

    def read(self, now: datetime) -> list[Entry]:
        """Return the last actions, newest first. Raises StoreUnavailable."""
        records = read_topic(self._settings, OperationAudited.topic, since=now - timedelta(days=SHOWN_DAYS))
        found = deque(_entries((record.time, record.value or b"") for record in records), maxlen=SHOWN_ACTIONS)
        return sorted(found, key=lambda entry: entry.at, reverse=True)


@dataclass(slots=True)
class Actions:
    """The actions by the name of their form. Each returns a sentence for the operator. Raises RiffleError."""

    settings: Settings
    audit: AuditLog
    jobs: Jobs
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    find_letters: Callable[[Settings, frozenset[str]], Iterable[DeadLetter]] = find_dead_letters

    async def run(self, name: str, form: Mapping[str, str], actor: str) -> str:
        """Carry out an action. Raises UsageError if there is none with this name, and TooManyJobs."""
        match name:
            case "replay-letters":
                return await self._replay_letters(form, actor)
            case "replay-letter":
                return await self._replay_letter(form, actor)
            case "crawl":
                return await self._crawl(form, actor)
            case "replay" | "remove":
                return await self._job(name, [_required(form, "host" if name == "replay" else "url")], actor)
            case "reindex" | "sweep" | "rank" | "map":
                return await self._job(name, [], actor)
            case "block" | "unblock" | "purge" | "delay" | "budget":
                job = await self.order(name, form, actor)
                return f"Job {job.number}{f': {job.lines[-1]}' if job.lines else f' has begun: {job.command}'}"
            case "stop":
                return await self._stop(form, actor)
        raise UsageError(f"there is no action {name!r}")

    async def _replay_letters(self, form: Mapping[str, str], actor: str) -> str:
        stage_name, error = _required(form, "stage"), form.get("error", "")
        selection = selection_of(stage_name, error)
        await self.audit.write(actor, "replay dead letters", stage_name, error)
        letters = await asyncio.to_thread(lambda: DeadLetters(self.settings, selection))
        sent = await self._send_back(letters)
        return f"{sent} {'letter was' if sent == 1 else 'letters were'} sent back to {stage_name}."

    async def _replay_letter(self, form: Mapping[str, str], actor: str) -> str:
        letter_id = _required(form, "id")
        letters = await asyncio.to_thread(self.find_letters, self.settings, frozenset({letter_id}))
        await self.audit.write(actor, "replay a dead letter", letter_id, "")
        await self._send_back(letters)
        return f"The letter {letter_id} was sent back."

    async def _send_back(self, letters: Iterable[DeadLetter]) -> int:
        """Send letters back to their stages. Return their number."""
        sent = 0
        async with EventProducer(self.settings, "admin") as producer:
            records = iter(letters)
            while batch := await asyncio.to_thread(lambda: list(islice(records, BATCH_LETTERS))):
                at = self.now()
                await producer.send_records(record for dead in batch for record in replay_records(dead, at))
                sent += len(batch)
        return sent

    async def _crawl(self, form: Mapping[str, str], actor: str) -> str:
        try:
            url = with_scheme(_required(form, "url"), self.settings.crawl.origins)
        except InvalidUrl as error:
            raise UsageError(f"this can't be crawled: {error}") from None
        depth = form.get("depth", "0")
        if not depth.isascii() or not depth.isdigit() or int(depth) > MAX_DEPTH:
            raise UsageError(f"the depth is a number from 0 to {MAX_DEPTH}")
        job = await self._begin("crawl", [depth, url], actor, "crawl", url, f"depth {depth}")
        return f"Job {job.number} sends the seed."

    async def _job(self, name: str, values: list[str], actor: str) -> str:
        job = await self._begin(name, values, actor, f"start {name}", " ".join(values))
        return f"Job {job.number} has begun: {job.command}"

    async def order(self, name: str, form: Mapping[str, str], actor: str) -> Job:
        """Change the order for a host, and wait for the end for a moment: the host's page then shows the change."""
        value = {"delay": "seconds", "budget": "pages"}.get(name)
        host, numbers = _required(form, "host"), [_number(form, value)] if value else []
        job = await self._begin(name, [*numbers, host], actor, f"start {name}", " ".join([host, *numbers]))
        await self.jobs.wait(job, ORDER_SECONDS)
        return job

    async def _begin(self, name: str, values: list[str], actor: str, action: str, target: str, detail: str = "") -> Job:
        """Start a job after the audit log has the action. The log has no job for which there is no room."""
        self.jobs.require_room()
        await self.audit.write(actor, action, target, detail)
        return await self.jobs.start(name, values, actor)

    async def _stop(self, form: Mapping[str, str], actor: str) -> str:
        number = form.get("number", "")
        await self.audit.write(actor, "stop a job", number, "")
        job = await self.jobs.stop(int(number)) if number.isascii() and number.isdigit() else None
        if job is None:
            raise UsageError("this job does not run")
        return f"Job {job.number} was asked to end."


def _number(form: Mapping[str, str], name: str) -> str:
    value = _required(form, name)
    if not value.isascii() or not value.replace(".", "", 1).isdigit():
        raise UsageError(f"the field {name} is no number")
    return value


def _required(form: Mapping[str, str], name: str) -> str:
    value = form.get(name, "").strip()
    if not value:
        raise UsageError(f"the field {name} is empty")
    if value.startswith("-"):
        raise UsageError(f"the field {name} begins with a dash")
    return value


SHOWN_DAYS = 30
SHOWN_ACTIONS = 200


def _entries(records: Iterable[tuple[float, bytes]]) -> Iterable[Entry]:
    for time, value in records:
        try:
            event = OperationAudited.from_json(value)
        except InvalidEvent:
            continue
        yield Entry(datetime.fromtimestamp(time).astimezone(), event)
