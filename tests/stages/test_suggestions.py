"""Suggestions from end to end: pages and queries become suggestions, by the stage, by the build, and in the gateway."""

import asyncio
import os
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest

from schemas import Envelope, OriginChanged, PageIndexed
from schemas.ids import event_id, page_id
from streams.commands import kept_stores
from streams.commands.job_reports import unreported
from streams.commands.kept_stores import run_with_stores
from streams.commands.operate import suggest as command
from streams.errors import PoisonError, StoreUnavailable
from streams.gateway.app import create_app
from streams.gateway.suggest.lists import MAX_AGE_SECONDS
from streams.gateway.suggest.ready import ReadyAnswers
from streams.knowledge.entity import Entity
from streams.queries.counts import quarter_of
from streams.queries.suggestions.agent import SuggestAgent, build
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build import Job, finish, map_numbers, read_build, read_words, run_map, run_reduce
from streams.queries.suggestions.growth import count_statements, has_grown, note_statements
from streams.queries.suggestions.hidden import current_build, hidden_texts, hide
from streams.queries.suggestions.index import Suggestion
from streams.queries.suggestions.page_words import unpack_chosen
from streams.queries.suggestions.prefixes import KEPT, best, rows_of
from streams.queries.suggestions.sums import SHARDS
from streams.queries.suggestions.writer import FULL, offer
from streams.runtime.agent import Delivery
from streams.servers import Store
from streams.settings import GatewaySettings, QueriesSettings, Settings
from streams.statements.codec import PageStatements, encode_statements
from streams.statements.statement import Statement
from streams.stores.memory import MemorySuggestions
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Indexed, Normalized, Removed
from streams.stores.protocols import DayCounts, PrefixRow, StoredPart, StoredSuggestion
from tests.stages.gateway_fakes import NOW, Dead, Hanging, client, gateway, searchable, statement
from tests.stages.process_task import identify

QUARTER = quarter_of(NOW)
TODAY = QUARTER // 96
OWN_HOST = Settings(gateway=GatewaySettings(allowed_hosts=("riffle.test",)))
JOB = Job("a build", NOW, blocked=("forbidden",))


async def store_page(
    stores: Stores, url: str, title: str, *texts: str, headings: Sequence[str] = (), directives: Sequence[str] = ()
) -> None:
    """Write the records and the statements of an indexed page."""
    identity = page_id(url)
    made = tuple(
        Statement(page_id(f"{url}#{number}"), number, text, (*headings, "A lead-in that ends with a colon:"))
        for number, text in enumerate(texts)
    )
    ref = await stores.blobs.put(encode_statements(PageStatements(identity, url, title, "en", made)))
    row = {"url": url, "generation": 1, "title": title, "language": "en", "statements_ref": ref, "collection": "c"}
    await stores.pages.put(identity, Indexed.of_row(row), 1)
    normalized = {"url": url, "generation": 1, "directives": tuple(directives)}
    await stores.pages.put(identity, Normalized.of_row(normalized), 1)


async def build_all(stores: Stores, job: Job = JOB) -> int:
    for number in map_numbers():
        await run_map(stores, job, number)
    return await finish(stores, job, [await run_reduce(stores, job, shard) for shard in range(SHARDS)])


async def stored(stores: Stores, prefix: str, language: str = "") -> list[str]:
    return [each.text for each in best(await stores.suggestions.of_prefix(language, prefix), QUARTER)]


async def asked(stores: Stores, typed: str, **parameters: Any) -> list[str]:
    app = gateway(stores)
    await app.state.gateway.suggest.look()
    async with client(app) as web:
        answer = (await web.get("/api/v1/suggest", params={"q": typed, **parameters})).json()
    assert answer["query"] == typed
    return [each["text"] for each in answer["suggestions"]]


def indexed(url: str, title: str) -> Delivery:
    event = PageIndexed(
        page_id=page_id(url),
        url=url,
        generation=1,
        title=title,
        language="en",
        statements=1,
        model="m",
        model_version="1",
        collection="c",
    )
    envelope = Envelope(id=event_id("t", url, "k"), type=event.event_type(), source="/riffle/index", time=NOW)
    return Delivery(event, envelope, event.topic, 0, 0)


async def test_an_index_alone_gives_titles_headings_and_frequent_phrases() -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(
            stores,
            f"https://{number}.example/",
            f"Write-ahead logging {number} | Example docs",
            "The shared memory file is removed by the last connection.",
            headings=["Write performance"],
        )
    await store_page(stores, "https://9.example/", "Write FORBIDDEN things", "A single remark about nothing.")
    assert await build_all(stores) > 0
    found = await asked(stores, "write")
    assert set(found) == {*(f"write-ahead logging {number}" for number in range(3)), "write performance"}
    assert await asked(stores, "shared mem") == ["shared memory file"], "not its beginning alone"
    assert await asked(stores, "single rem") == [], "one page is too few for a phrase"
    assert await asked(stores, "lead-in") == []


@pytest.mark.parametrize(
    ("directives", "shown"),
    [
        ((), ["shared memory file", "shared memory", "shared notes"]),
        (("nosnippet",), ["shared notes"]),
        (("max-snippet:0",), ["shared notes"]),
        (("max-snippet:13",), ["shared memory", "shared notes"]),
        (("max-snippet:-1", "noarchive"), ["shared memory file", "shared memory", "shared notes"]),
    ],
)
async def test_only_the_title_is_suggested_of_a_page_that_forbids_snippets(
    directives: Sequence[str], shown: list[str]
) -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(
            stores,
            f"https://{number}.example/",
            "Shared notes",
            "They removed the shared memory file.",
            headings=["Shared memory"],
            directives=directives,
        )
    await build_all(stores)
    assert sorted(await asked(stores, "shared")) == sorted(shown)


async def test_pages_that_left_the_index_have_no_part_in_suggestions() -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(stores, f"https://{number}.example/", "Shared notes", "They removed the shared memory file.")
        removed = Removed.of_row({"url": f"https://{number}.example/", "generation": 2, "reason": "noindex"})
        await stores.pages.put(page_id(f"https://{number}.example/"), removed, 2)
    await build_all(stores)
    assert await asked(stores, "shared") == []


async def test_counted_queries_stand_before_texts_of_the_index_and_recent_ones_first() -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    counts = stores.query_counts
    await counts.put("en", "tide times", TODAY, DayCounts(30, 0, {0: 30}), 1)
    await counts.put("en", "tidal wave", TODAY, DayCounts(20, 0, {QUARTER % 96: 20}), 1)
    await counts.put("en", "tiddlywinks", TODAY, DayCounts(50, 50, {0: 50}), 1)  # it never had a result
    await build_all(stores)
    assert await asked(stores, "tid") == ["tidal wave", "tide times", "tide tables"]
    assert await asked(stores, "tid", language="de") == ["tidal wave", "tide times", "tide tables"]
    assert await asked(stores, "tid", limit=1) == ["tidal wave"]
    assert await asked(stores, "tdie ti") == ["tide times"], "a mistake is forgiven"


async def words_of(stores: Stores, build: str) -> dict[str, int]:
    return unpack_chosen(await read_words(stores.suggestions, build), "en")


async def test_a_build_keeps_the_words_that_enough_sites_have_and_a_newer_build_replaces_them() -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(stores, f"https://{number}.example/", "Pipelines", "We run kubeflow, which is forbidden.")
        await store_page(stores, f"https://a.example/{number}", "Pipelines", "They run kubeflwo, they say.")
    await build_all(stores)
    assert await words_of(stores, JOB.name) == {"pipelines": 6, "colon": 6, "kubeflow": 3, "which": 3}
    await build_all(stores, Job("another", NOW, word_sites=1))
    assert (await words_of(stores, "another")).items() >= {"kubeflwo": 3, "forbidden": 3}.items()
    assert await words_of(stores, JOB.name) == {}
    assert await stores.suggestions.parts("another", "word sums", 0) == []


async def test_each_task_of_a_build_may_run_twice() -> None:
    """A cluster runs a task again if it loses the machine with the task's answer."""
    once, twice = memory_stores(), memory_stores()
    for stores in (once, twice):
        for number in range(3):
            await store_page(stores, f"https://{number}.example/", "Tide tables", "We run kubeflow.")
    await build_all(once)
    for number in map_numbers():
        for _ in range(2):
            await run_map(twice, JOB, number)
    for shard in range(SHARDS):
        await run_reduce(twice, JOB, shard)
    await finish(twice, JOB, [await run_reduce(twice, JOB, shard) for shard in range(SHARDS)])
    assert await words_of(twice, JOB.name) == await words_of(once, JOB.name)
    assert await read_build(twice.suggestions, JOB.name) == await read_build(once.suggestions, JOB.name) != []
    assert await stored(twice, "tide") == await stored(once, "tide") == ["tide tables"]


async def test_labels_of_entities_are_suggested_the_widely_known_first() -> None:
    stores = memory_stores()
    for label, rank, redirect in [("Tidewater", 3, ""), ("Tide", 200, ""), ("Tides", 9, "Q1")]:
        await stores.entities.put_part(label, "wikidata", StoredPart("ref", 1))
        record = Entity(entity_id=label, label=label, rank=rank, redirect=redirect)
        await stores.entities.put(label, record.model_dump_json().encode(), 1)
    await stores.entities.put_part("broken", "wikidata", StoredPart("ref", 1))
    await stores.entities.put("broken", b"{", 1)
    await build_all(stores)
    assert await asked(stores, "tid") == ["tide", "tidewater"]


async def test_a_second_build_forgets_what_is_gone_and_its_tasks_may_run_twice() -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await store_page(stores, "https://b.example/", "Tide pools", "Text.")
    await build_all(stores)
    later = Job("another", NOW + timedelta(days=1))
    await stores.pages.erase(page_id("https://a.example/"), 10)
    for number in map_numbers():
        for _ in range(2):
            await run_map(stores, later, number)
    reduced = [await run_reduce(stores, later, shard) for shard in range(SHARDS)]
    assert await current_build(stores.suggestions) == JOB.name, "people see the former build until all is built"
    await finish(stores, later, reduced)
    assert await current_build(stores.suggestions) == later.name
    assert await stored(stores, "tide") == ["tide pools"]
    assert await stores.suggestions.parts(JOB.name, "list", 0) == []


@pytest.mark.parametrize(
    ("before", "now", "grown"),
    [
        (None, 0, False),
        (None, 1, True),
        (0, 0, False),
        (100, 104, False),
        (100, 105, True),
        (100, 96, False),
        (100, 90, True),
    ],
)
async def test_a_build_is_due_when_the_index_has_changed(before: int | None, now: int, grown: bool) -> None:
    stores = memory_stores()
    if before is not None:
        await note_statements(stores.suggestions, before)
    assert await has_grown(stores.suggestions, now) == grown


async def test_the_statements_of_the_index_are_counted() -> None:
    found = [statement(f"https://{number}.example/", "The log.") for number in range(3)]
    assert await count_statements(await searchable(found)) == 3
    assert await count_statements(memory_stores()) == 0


async def test_the_stage_offers_titles_at_once_and_the_same_event_twice_changes_nothing() -> None:
    stores = memory_stores()
    agent = SuggestAgent(stores.suggestions, lambda: NOW, BlockedWords(["forbidden"]))
    for _ in range(2):
        await agent.handle(indexed("https://a.example/", "Tide tables — Harbour office"))
    await agent.handle(indexed("https://b.example/", "A forbidden tide"))
    assert (await stored(stores, "tide t"), await stored(stores, "ti", "en")) == (["tide tables"], ["tide tables"])
    assert await asked(stores, "tide t") == ["tide tables"], "a gateway without a build reads the lists"
    assert await asked(stores, "a forb") == []


class Crashing(MemorySuggestions):
    """A store that counts its reads and fails after the first rows of its first writes."""

    def __init__(self, crashes: int) -> None:
        super().__init__()
        self.crashes = crashes
        self.reads = 0

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        self.reads += 1
        return await super().of_prefixes(language, prefixes)

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        written = list(rows)
        if self.crashes:
            self.crashes -= 1
            await super().put(written[: 5 * self.crashes], at)
            raise StoreUnavailable("the process ended")
        await super().put(written, at)


async def test_a_crash_between_the_reads_and_the_writes_loses_no_list() -> None:
    """The event is not acknowledged then, so it comes again: after none, and after some of the rows."""
    whole, crashing = MemorySuggestions(), Crashing(crashes=3)
    event = indexed("https://a.example/", "Tide tables — Harbour office")
    await SuggestAgent(whole, lambda: NOW, BlockedWords()).handle(event)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await SuggestAgent(crashing, lambda: NOW, BlockedWords()).handle(event)
    await SuggestAgent(crashing, lambda: NOW, BlockedWords()).handle(event)
    for prefix in ("t", "ti", "tide", "tide tab", "tide table"):
        for language in ("", "en"):
            found = await crashing.of_prefix(language, prefix)
            assert found == await whole.of_prefix(language, prefix)
            assert [each.text for each in found] == ["tide tables"]
    assert crashing.reads == 4 * 2, "one request reads all lists of a language"


async def test_the_stage_is_built_from_the_settings_and_another_event_is_poison(tmp_path: Any) -> None:
    (tmp_path / "words").write_text("Tide  # why\n")
    stores = memory_stores()
    agent = await build(Settings(queries=QueriesSettings(blocked_words=(tmp_path / "words",))), stores)
    await agent.handle(indexed("https://a.example/", "Tide tables"))
    assert await stored(stores, "tide") == []
    event = OriginChanged(host="a.example")
    envelope = Envelope(id=event_id("x", "x", "x"), type="x", source="/x", time=NOW)
    with pytest.raises(PoisonError):
        await agent.handle(Delivery(event, envelope, "x", 0, 0))


async def test_a_list_keeps_its_best_and_stays_short() -> None:
    store = MemorySuggestions()
    for number in range(4 * KEPT):
        await offer(store, StoredSuggestion(f"tide {number:02d}", "", float(number % 37)), QUARTER, number)
    rows = await store.of_prefix("", "tide")
    assert len(rows) <= FULL
    heaviest = sorted((float(number % 37), f"tide {number:02d}") for number in range(4 * KEPT))[-10:]
    assert {each.text for each in best(rows, QUARTER)} <= {f"tide {n:02d}" for n in range(4 * KEPT) if n % 37 >= 30}
    assert [each.weight for each in best(rows, QUARTER)] == [weight for weight, _ in reversed(heaviest)]


async def test_a_hidden_text_is_gone_from_memory_and_lists_and_comes_back_with_a_newer_page() -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await build_all(stores)
    app = gateway(stores)
    await app.state.gateway.suggest.look()
    await hide(stores.suggestions, "tide tables", "en", JOB.at + 1)
    async with client(app) as web:
        answer = (await web.get("/api/v1/suggest", params={"q": "tide"})).json()
    assert answer["suggestions"] == []
    agent = SuggestAgent(stores.suggestions, lambda: NOW, BlockedWords())
    await agent.handle(indexed("https://b.example/", "Tide tables"))  # before the removal
    assert await stored(stores, "tide") == []


@pytest.mark.parametrize("place", range(6))
async def test_a_removed_title_is_suggested_at_no_step_of_a_build(place: int) -> None:
    """The removal is before, between or after the steps of the first two builds. The third one forgets it."""
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await store_page(stores, "https://b.example/", "Tide clock", "Text.")
    reduced: list[Any] = []

    async def remove(at: int) -> None:
        row = {"url": "https://a.example/", "generation": 2, "reason": "request"}
        await stores.pages.put(page_id("https://a.example/"), Removed.of_row(row), 2)
        await hide(stores.suggestions, "tide tables", "en", at)

    async def build_step(job: Job, step: int) -> None:
        if step == 0:
            for number in map_numbers():
                await run_map(stores, job, number)
        elif step == 1:
            reduced[:] = [await run_reduce(stores, job, shard) for shard in range(SHARDS)]
        else:
            await finish(stores, job, reduced)

    jobs = [Job(f"build {number}", NOW + timedelta(hours=3 * number)) for number in range(3)]
    for number, (job, step) in enumerate((job, step) for job in jobs for step in range(3)):
        if number == place:
            await remove(job.at + (1 if step else -1))
        await build_step(job, step)
        if number >= place:
            # A gateway holds the last whole build: no step of the next one brings the title back.
            for typed in ("tide", "ti", "tide t"):
                assert "tide tables" not in await asked(stores, typed), (typed, number)
    assert await asked(stores, "tide") == ["tide clock"]
    assert await hidden_texts(stores.suggestions, await current_build(stores.suggestions)) == []


async def test_a_browser_gets_suggestions_in_its_own_format() -> None:
    stores = memory_stores()
    await offer(stores.suggestions, StoredSuggestion("日本の歴史", "ja", 1.0), QUARTER, 1)
    async with client(gateway(stores)) as web:
        answer = await web.get("/suggest", params={"q": "日本"})
        described = ElementTree.fromstring((await web.get("/opensearch.xml")).content)
    assert answer.json() == ["日本", ["日本の歴史"]]
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    assert answer.headers["cache-control"].startswith("private")
    templates = {each.get("type"): each.get("template") for each in described if each.tag.endswith("Url")}
    assert templates["application/x-suggestions+json"] == "http://riffle.test/suggest?q={searchTerms}"


@pytest.mark.parametrize("store", [Dead(), Hanging()])
async def test_without_records_the_memory_answers(store: Any) -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await build_all(stores)
    app = gateway(stores)
    await app.state.gateway.suggest.look()
    stores.suggestions = store
    async with client(app) as web:
        for _ in range(2):
            answer = await web.get("/api/v1/suggest", params={"q": "tide"})
            assert [each["text"] for each in answer.json()["suggestions"]] == ["tide tables"]
    await app.state.gateway.close()


async def test_the_cache_reads_a_list_once_a_minute() -> None:
    class Counting(MemorySuggestions):
        reads = 0

        async def of_prefix(self, language: str, prefix: str) -> list[StoredSuggestion]:
            self.reads += 1
            return await super().of_prefix(language, prefix)

    stores = memory_stores()
    stores.suggestions = counting = Counting()
    app = gateway(stores)
    async with client(app) as web:
        await asyncio.gather(*(web.get("/api/v1/suggest", params={"q": "tide"}) for _ in range(9)))
    assert counting.reads == 1
    assert MAX_AGE_SECONDS == 60


async def test_suggestions_can_be_turned_off() -> None:
    async with client(gateway(memory_stores(), limits={"suggestions": False})) as web:
        assert (await web.get("/api/v1/suggest", params={"q": "a"})).status_code == 404
        assert b"suggestions" not in (await web.get("/opensearch.xml")).content


async def test_a_plain_request_and_one_with_a_limit_have_the_same_answer_and_wrong_ones_are_problems() -> None:
    """A plain one is answered before the routes are looked through."""
    stores = memory_stores()
    await offer(stores.suggestions, StoredSuggestion("tide tables", "en", 1.0), QUARTER, 1)
    async with client(gateway(stores)) as web:
        plain, limited = [
            await web.get("/api/v1/suggest", params={"q": "ti", "language": "EN", **more})
            for more in ({}, {"limit": 10})
        ]
        assert plain.content == limited.content
        # The answer is too short to be compressed, so it is the same for all clients.
        assert dict(plain.headers) == {name: value for name, value in limited.headers.items() if name != "vary"}
        for wrong in ({"q": "a" * 1_001}, {"language": "x" * 21}, {"limit": 11}, {"prefix": "a"}):
            answer = await web.get("/api/v1/suggest", params=wrong)
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), wrong
        metrics = (await web.get("/metrics")).text
    assert 'riffle_gateway_requests_total{method="GET",route="/api/v1/suggest",status="200"} 2.0' in metrics


async def test_an_answer_is_kept_for_some_seconds_and_forgotten_with_another_build() -> None:
    now = NOW

    class Counting(MemorySuggestions):
        reads = 0

        async def of_prefix(self, language: str, prefix: str) -> list[StoredSuggestion]:
            self.reads += 1
            return await super().of_prefix(language, prefix)

    stores = memory_stores()
    stores.suggestions = counting = Counting()
    await offer(counting, StoredSuggestion("tide tables", "en", 1.0), QUARTER, 1)
    app = create_app(OWN_HOST, stores, publish=None, clock=lambda: now)
    service = app.state.gateway.suggest

    async def shown() -> list[str]:
        answer = await web.get("/api/v1/suggest", params={"q": "ti"})
        return [each["text"] for each in answer.json()["suggestions"]]

    async with client(app) as web:
        assert await shown() == ["tide tables"]
        assert b"tide tables" in (service.ready.find(b"q=ti") or b"")
        assert await shown() == ["tide tables"]
        service.use([Suggestion("tiny house", 9.0)])
        assert await shown() == ["tiny house", "tide tables"]
        counting.reads = 0
        now += timedelta(seconds=MAX_AGE_SECONDS)
        assert await shown() == ["tiny house", "tide tables"]
        assert counting.reads == 1, "an old list is read again"
    await app.state.gateway.close()


async def test_a_plain_request_to_a_foreign_host_is_refused() -> None:
    async with client(gateway(memory_stores())) as web:
        for host, status in [("riffle.test", 200), ("riffle.test:8080", 200), ("evil.example", 403), ("[", 403)]:
            for _ in range(2):
                answer = await web.get("/api/v1/suggest", params={"q": "a"}, headers={"host": host})
                assert answer.status_code == status, host


def test_only_some_answers_are_kept() -> None:
    ready = ReadyAnswers(lambda: NOW, max_ready=2)
    for key in (b"q=a", b"q=b", b"q=c", b"q=" + b"d" * 300):
        ready.keep(key, key)
    assert [ready.find(key) for key in (b"q=a", b"q=b", b"q=c", b"q=" + b"d" * 300)] == [None, None, b"q=c", None]


@pytest.mark.parametrize("typed", ["", " ", "a" * 1_000, "\ud800", "'\"<script>", "ａｂ", "\u202e"])
async def test_anything_may_be_typed(typed: str) -> None:
    async with client(gateway(memory_stores())) as web:
        query = typed.encode("utf-8", "replace").decode()
        assert (await web.get("/api/v1/suggest", params={"q": query})).status_code == 200


def test_a_suggestion_stands_in_the_lists_of_its_language_and_of_all() -> None:
    rows = list(rows_of(StoredSuggestion("écologie", "fr", 1.0)))
    assert {(row.language, row.prefix) for row in rows} >= {("fr", "e"), ("", "eco"), ("fr", "ecologie")}


def test_two_processes_run_more_tasks_than_a_whole_build_has_each_with_one_session() -> None:
    with command._executor(2, "") as pool:
        assert pool is not None
        assert list(pool.map(abs, range(-400, 0))) == list(range(400, 0, -1))
        settings, needs = Settings(), list[Store]()
        seen = [task.result() for task in [pool.submit(run_with_stores, identify, settings, needs) for _ in range(20)]]
    assert len(set(seen)) == len({process for process, _ in seen}), "a process opened stores twice"
    assert os.getpid() not in {process for process, _ in seen}


def test_kept_stores_are_opened_by_the_first_task_and_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    @asynccontextmanager
    async def open_memory(*_: Any) -> Any:
        happened.append("opened")
        yield memory_stores()
        happened.append("closed")

    monkeypatch.setattr(kept_stores, "open_stores", open_memory)
    kept = kept_stores.KeptStores()
    assert happened == []
    assert len({kept.run(identify, Settings(), ["records"]) for _ in range(3)}) == 1
    kept.close()
    assert happened == ["opened", "closed"]
    run_with_stores(identify, Settings(), ["records"])  # outside a pool, a task has stores of its own
    assert happened == ["opened", "closed", "opened", "closed"]


async def test_the_tasks_of_a_build_run_on_a_dask_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers are threads of this process, so that they share the stores in memory."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")

    @asynccontextmanager
    async def open_memory(*_: Any) -> Any:
        yield stores

    monkeypatch.setattr(kept_stores, "open_stores", open_memory)

    def executor(cluster: Any) -> Executor:
        found: Executor = distributed.Client(cluster).get_executor(pure=False)
        return found

    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="inproc://")
    with cluster:
        pool = executor(cluster)
        settings = Settings()
        run = partial(command._run, settings, JOB, stores, pool, unreported)
        await run("Reading", run_map, map_numbers())
        reduced = await run("Writing", run_reduce, range(SHARDS))
    await finish(stores, JOB, reduced)
    assert await stored(stores, "tide") == ["tide tables"]
