"""The app of operators over memory stores, with lags, letters and an audit log that a test gives."""

import random
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from fastapi import FastAPI

from schemas import OperationAudited
from streams.admin.actions import Actions, AuditLog, Entry
from streams.admin.app import create_admin_app
from streams.admin.figures import Reader
from streams.admin.jobs import Jobs
from streams.admin.letters import LetterPage
from streams.doctor.overview import Problem
from streams.errors import StoreUnavailable
from streams.runtime.dead_letters import DeadLetter
from streams.runtime.lags.stage_lags import Lag
from streams.runtime.records import FailureInfo, Incoming
from streams.settings import AdminSettings, Settings
from streams.stores.opener import Stores

KEY = "the key of operators in tests"
AUTHORIZATION = {"Authorization": f"Basic {b64encode(f'Ada:{KEY}'.encode()).decode()}"}
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
LAGS = [Lag("fetch", "pages.scheduled", 40, 0), Lag("embed", "pages.chunked", 1_200, 3)]
LETTERS = Counter({("embed", "TritonError"): 2, ("normalize", "<script>alert(1)</script>"): 1})


def letter_page(_settings: Settings, stage: str, error: str, after: str) -> LetterPage:
    """Return the only letter of a page, and another one for the page behind it."""
    place = ("pages.chunked", 3, 2 if after else 1)
    failure = FailureInfo(*place, stage, 6, error, f"<script>alert(1)</script> {'a long error ' * 20}", NOW)
    value = b'{"url": "https://a.example/", "text": "<script>"}'
    record = Incoming(f"{stage}.dead", 0, 7, b"k", value, [("ce_type", b"pages.chunked"), ("ce_subject", b"a page")])
    return LetterPage(21, (DeadLetter(failure, record),), is_last=bool(after))


class MemoryAudit(AuditLog):
    """An audit log in memory. With `down` it fails, as without Kafka."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.down = False

    async def write(self, actor: str, action: str, target: str, detail: str) -> None:
        if self.down:
            raise StoreUnavailable("Kafka is away")
        self.entries.insert(0, Entry(NOW, OperationAudited(actor=actor, action=action, target=target, detail=detail)))

    def read(self, now: datetime) -> list[Entry]:
        return self.entries


@asynccontextmanager
async def admin(
    stores: Stores,
    folder: Path,
    *,
    lags: Sequence[Lag] = LAGS,
    letters: Counter[tuple[str, str]] = LETTERS,
    away: Sequence[Problem] = (),
    host: str = "127.0.0.1",
) -> AsyncIterator[tuple[FastAPI, Actions, MemoryAudit]]:
    """The app, with a program that says its arguments in place of `riffle`, and waits for the argument `map`."""
    settings = Settings(home=folder, admin=AdminSettings(allowed_hosts=("riffle.test",)))
    script = "import sys, time; print(*sys.argv[1:], flush=True); time.sleep(60 if sys.argv[1] == 'blobs' else 0)"
    audit = MemoryAudit()
    jobs = Jobs(lambda: NOW, (sys.executable, "-c", script))
    reader = Reader(
        settings, stores, lambda: NOW, random.Random(1), lambda _: list(lags), lambda _: letters, lambda _: away
    )
    reader.read_letter_page = letter_page
    actions = Actions(settings, audit, jobs, lambda: NOW)
    app = create_admin_app(settings, reader, actions, KEY, host)
    try:
        yield app, actions, audit
    finally:
        await jobs.close()
