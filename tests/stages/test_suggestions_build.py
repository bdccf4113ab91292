"""The build of suggestions: what becomes a suggestion, that its tasks may run twice and anywhere, and what it hides."""

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from schemas.ids import page_id
from streams.commands import cluster as cluster_module
from streams.commands.cluster import run_with_stores
from streams.commands.job_reports import unreported
from streams.commands.operate import suggest as command
from streams.knowledge.entity import Entity
from streams.queries.suggestions.agent import SuggestAgent
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build import MAP_NUMBERS, Job, finish, read_build, read_words, run_map, run_reduce
from streams.queries.suggestions.build_notes import (
    count_statements,
    current_build,
    has_grown,
    hidden_texts,
    hide,
    note_statements,
)
from streams.queries.suggestions.page_words import weights_of
from streams.queries.suggestions.prefix_lists import new_title
from streams.queries.suggestions.sums import MAX_HEADING_PAGES, SHARDS
from streams.seen.stores import SeenStores
from streams.servers import Store
from streams.settings import Settings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Removed
from streams.stores.protocols import FOR_EVERYBODY, DayCounts, Site, StoredPart
from tests.stages.gateway_fakes import NOW, client, gateway, searchable, statement
from tests.stages.process_task import identify
from tests.stages.suggested_pages import JOB, QUARTER, TODAY, ChosenPages, asked, build_all, indexed, store_page, stored

HEADINGS = [
    ("8.2. The shared memory file", "How do I undo a commit?"),
    ("Removal of the shared memory file", "Backups are for"),
    ("Sizes of the shared memory file", "Backups"),
]


async def test_an_index_alone_gives_titles_headings_and_the_names_in_them() -> None:
    stores = memory_stores()
    for number, headings in enumerate(HEADINGS):
        await store_page(
            stores,
            f"https://{number}.example/",
            f"Write-ahead logging {number} | Example docs",
            "The single remark about nothing is written by the last connection.",
            headings=headings,
        )
    await store_page(stores, "https://9.example/", "Write FORBIDDEN things", "A single remark about nothing.")
    assert await build_all(stores) > 0
    assert set(await asked(stores, "write")) >= {f"write-ahead logging {number}" for number in range(3)}
    assert await asked(stores, "shared mem") == ["shared memory file"], "not its beginning alone"
    assert await asked(stores, "the sha") == ["the shared memory file"], "without its number"
    assert await asked(stores, "how do") == ["how do i undo a commit"], "a question of one page"
    assert await asked(stores, "backups") == ["backups"], "nothing that ends in a function word"
    assert await asked(stores, "single rem") == [], "words of a sentence are no name"
    assert await asked(stores, "lead-in") == []


async def test_what_many_pages_of_a_site_have_is_a_part_of_its_form() -> None:
    stores = memory_stores()
    for number in range(MAX_HEADING_PAGES + 1):
        headings = ["Parameters", "Tide tables" if number else "Tide clocks"]
        await store_page(stores, f"https://a.example/{number}", f"Function {number}", "Text.", headings=headings)
    await build_all(stores)
    assert await asked(stores, "param") == []
    assert set(await asked(stores, "tid")) == {"tide tables", "tide clocks", "tide"}


@pytest.mark.parametrize(
    ("directives", "shown"),
    [
        ((), ["shared memory files", "shared memory", "shared notes"]),
        (("nosnippet",), ["shared notes"]),
        (("max-snippet:0",), ["shared notes"]),
        (("max-snippet:13",), ["shared memory", "shared notes"]),
        (("max-snippet:-1", "noarchive"), ["shared memory files", "shared memory", "shared notes"]),
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
            headings=["Shared memory", "Shared memory files"],
            directives=directives,
        )
    await build_all(stores)
    assert sorted(set(await asked(stores, "shared")) - {"shared"}) == sorted(shown), "a name in the title is shown, too"


async def test_pages_that_left_the_index_have_no_part_in_suggestions() -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(stores, f"https://{number}.example/", "Shared notes", "They removed the shared memory file.")
        removed = Removed.of_row({"url": f"https://{number}.example/", "generation": 2, "reason": "noindex"})
        await stores.pages.put(page_id(f"https://{number}.example/"), removed, 2)
    await build_all(stores)
    assert await asked(stores, "shared") == []


async def test_pages_of_a_private_site_have_no_part_in_suggestions() -> None:
    stores = memory_stores()
    await stores.api_keys.put_site(Site("plans", "Plans", ("plans.example",), is_private=True), 1)
    for number in range(3):
        await store_page(stores, f"https://{number}.plans.example/", "Shared plans", "They close the kubeflow team.")
        await store_page(stores, f"https://{number}.example/", "Shared notes", "They removed the shared memory file.")
    await build_all(stores)
    assert await asked(stores, "shared pl") == []
    assert "shared notes" in await asked(stores, "shared")
    assert "kubeflow" not in await words_of(stores, JOB.name), "nor are queries corrected to its words"


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
    return weights_of(await read_words(SeenStores(stores).suggestions, build, visible=FOR_EVERYBODY))


async def test_a_build_keeps_the_words_that_enough_sites_have_and_a_newer_build_replaces_them() -> None:
    stores = memory_stores()
    for number in range(3):
        await store_page(stores, f"https://{number}.example/", "Pipelines", "We run kubeflow, which is forbidden.")
        await store_page(stores, f"https://a.example/{number}", "Pipelines", "They run kubeflwo, they say.")
        await store_page(stores, f"https://{number}.example/de", "Gezeiten", "Das Wasser kommt.", language="de")
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
    for number in MAP_NUMBERS:
        for _ in range(2):
            await run_map(twice, JOB, number)
    for shard in range(SHARDS):
        await run_reduce(twice, JOB, shard)
    await finish(twice, JOB, [await run_reduce(twice, JOB, shard) for shard in range(SHARDS)])
    assert await words_of(twice, JOB.name) == await words_of(once, JOB.name)
    built = [
        await read_build(SeenStores(stores).suggestions, JOB.name, visible=FOR_EVERYBODY) for stores in (twice, once)
    ]
    assert built[0] == built[1] != []
    assert await stored(twice, "tide") == await stored(once, "tide") == ["tide tables", "tide"]


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


async def test_labels_of_entities_are_suggested_in_each_language_that_they_have() -> None:
    stores = memory_stores()
    labels = {"de": "Gezeiten", "ru": "Приливы", "nl": ""}
    await stores.entities.put_part("Q1", "wikidata", StoredPart("ref", 1))
    record = Entity(entity_id="Q1", label="Tide", labels=labels, rank=200)
    await stores.entities.put("Q1", record.model_dump_json().encode(), 1)
    await build_all(stores)
    assert await asked(stores, "gez") == ["gezeiten"]
    assert await asked(stores, "при") == ["приливы"]
    assert await asked(stores, "tid") == ["tide"], "once, also for the language that has the same label"


async def test_a_second_build_forgets_what_is_gone_and_its_tasks_may_run_twice() -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    await store_page(stores, "https://b.example/", "Tide pools", "Text.")
    await build_all(stores)
    later = Job("another", NOW + timedelta(days=1))
    await stores.pages.erase(page_id("https://a.example/"), 10)
    for number in MAP_NUMBERS:
        for _ in range(2):
            await run_map(stores, later, number)
    reduced = [await run_reduce(stores, later, shard) for shard in range(SHARDS)]
    assert await current_build(stores.suggestions) == JOB.name, "people see the former build until all is built"
    await finish(stores, later, reduced)
    assert await current_build(stores.suggestions) == later.name
    assert await stored(stores, "tide") == ["tide pools"]
    assert await stored(stores, "tide t") == [], (
        "nothing has this beginning any more, so the build wrote no list for it"
    )
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
        await note_statements(stores.suggestions, before, ())
    assert await has_grown(stores.suggestions, now, ()) == grown


async def test_a_build_is_due_when_other_sites_are_private() -> None:
    stores = memory_stores()
    for private in ((), ("plans.example",), ()):
        await note_statements(stores.suggestions, 7, private)
        assert not await has_grown(stores.suggestions, 7, private)
        assert await has_grown(stores.suggestions, 7, (*private, "other.example"))


async def test_the_statements_of_the_index_are_counted() -> None:
    found = [statement(f"https://{number}.example/", "The log.") for number in range(3)]
    assert await count_statements(await searchable(found)) == 3
    assert await count_statements(memory_stores()) == 0


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
    agent = SuggestAgent(stores.suggestions, stores.api_keys, lambda: NOW, BlockedWords(), 0, pages=ChosenPages())
    await agent.handle(indexed("https://b.example/", "Tide tables"))  # before the removal
    assert await stored(stores, "tide") == []


async def test_a_build_takes_over_the_titles_of_pages_that_were_searchable_when_it_began() -> None:
    stores = memory_stores()
    await store_page(stores, "https://a.example/", "Tide tables", "Text.")
    for title, later in [("Tide tables", -1), ("Tide clock", 1)]:
        await stores.suggestions.add_titles([new_title(title.lower(), "en", 1.0, JOB.at + later)])
    assert await asked(stores, "tide") == ["tide clock", "tide tables"]
    await build_all(stores)
    assert [each.text for each in await stores.suggestions.titles("tide")] == ["tide clock"]
    assert sorted(await asked(stores, "tide")) == ["tide clock", "tide tables"]


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
            for number in MAP_NUMBERS:
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

    monkeypatch.setattr(cluster_module, "open_stores", open_memory)
    kept = cluster_module.KeptStores()
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

    monkeypatch.setattr(cluster_module, "open_stores", open_memory)

    def executor(cluster: Any) -> Executor:
        found: Executor = distributed.Client(cluster).get_executor(pure=False)
        return found

    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, protocol="inproc://")
    with cluster:
        pool = executor(cluster)
        settings = Settings()
        run = partial(command._run, settings, JOB, stores, pool, unreported)
        await run("Reading", run_map, MAP_NUMBERS)
        reduced = await run("Writing", run_reduce, range(SHARDS))
    await finish(stores, JOB, reduced)
    assert await stored(stores, "tide") == ["tide tables"]
