"""Operators and filters through the whole gateway, over memory stores."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from schemas.ids import page_id
from streams.search import block_lists
from streams.search.ranking.rules import BlockList
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from streams.vectors.points import sites_of
from tests.stages.gateway_fakes import client, gateway, searchable, statement

WAL = "https://www.sqlite.org/wal.html"
BUSY = "https://www.sqlite.org/rescode.html"
GERMAN = "https://fluesse.example/fluss.html"
BLOG = "https://blog.example/2024/log"
COPY = "https://mirror.example/log"
TEXT = "The log of a database is kept for a week, and then a job removes what nobody needs any more."


def with_place(each: dict[str, Any], published: str = "") -> dict[str, Any]:
    return {**each, "sites": sites_of(each["host"]), "published": published}


STATEMENTS = [  # the last two have one text
    with_place(statement(WAL, "The write-ahead log holds changes until a checkpoint.", title="Write-Ahead Logging")),
    with_place(statement(BUSY, "The result code SQLITE_BUSY says that the log is locked.", title="Result codes")),
    with_place(statement(GERMAN, "Ein Fluss fließt über Steine.", title="Fluss", language="de")),
    with_place(statement(BLOG, TEXT, title="A log of logs"), "2024-05-01"),
    with_place(statement(COPY, TEXT, title="A log of logs"), "2024-06-01"),
]


@pytest.fixture
async def stores() -> Stores:
    return await with_copies(await searchable(STATEMENTS))


async def with_copies(stores: Stores) -> Stores:
    """Return the stores with the fingerprints of the two pages with one text."""
    for at, url in enumerate((BLOG, COPY), 1):
        await stores.fingerprints.put(Fingerprint(page_id(url), "text", 0, url, 1, first_seen=at, words=20), at)
    return stores


async def ask(stores: Stores, query: str, **settings: Any) -> dict[str, Any]:
    app = gateway(stores, deadline_seconds=20.0, limits=settings)
    async with client(app) as web:
        response = await web.get("/api/v1/search", params={"q": query, "explain": "true"})
        assert response.status_code == 200, response.text
        metrics = (await web.get("/metrics")).text
    return {**response.json(), "metrics": metrics}


def urls(answer: dict[str, Any]) -> set[str]:
    return {result["url"] for result in answer["results"]}


OPERATORS = [
    ('"write-ahead log"', {WAL}),
    ('"ahead write"', set()),
    ("log -checkpoint -database", {BUSY, GERMAN}),
    ("log site:sqlite.org", {WAL, BUSY}),
    ("log site:www.sqlite.org/wal", set()),
    ("log site:www.sqlite.org/wal.html", {WAL}),
    ("log -site:sqlite.org", {GERMAN, BLOG}),
    ("log lang:de", {GERMAN}),
    ("log filetype:html", {WAL, BUSY, GERMAN, BLOG}),
    ("log filetype:pdf", set()),
    ("log after:2024-05-02", {COPY}),
    ("log before:2024-06", {BLOG}),
    ("log intitle:codes", {BUSY}),
    ("log inurl:2024", {BLOG}),
    ("site:sqlite.org", {WAL, BUSY}),
]


@pytest.mark.parametrize(("query", "expected"), OPERATORS, ids=[query for query, _ in OPERATORS])
async def test_operators(stores: Stores, query: str, expected: set[str]) -> None:
    assert urls(await ask(stores, query)) == expected


async def test_an_unknown_operator_is_text(stores: Stores) -> None:
    answer = await ask(stores, "colour:log")
    assert answer["explain"]["searched"] == "colour:log"
    assert answer["results"]


async def test_an_identifier_is_found_exactly(stores: Stores) -> None:
    answer = await ask(stores, "a write-ahead log holds changes until a checkpoint SQLITE_BUSY")
    assert answer["results"][0]["url"] == BUSY


async def test_words_of_operators_are_not_marked(stores: Stores) -> None:
    answer = await ask(stores, "log inurl:wal intitle:write")
    text, marked = (answer["results"][0]["statements"][0][name] for name in ("text", "highlights"))
    assert [text[start:end] for start, end in marked] == ["log"]


async def test_near_duplicates_are_counted_as_similar_results(stores: Stores) -> None:
    answer = await ask(stores, "log of a database")
    found = next(result for result in answer["results"] if result["url"] == BLOG)
    assert COPY not in urls(answer)
    assert [page["url"] for page in found["similar"]["pages"]] == [COPY]
    assert answer["explain"]["passes"]["filters"] == {"duplicate": 1}
    assert 'riffle_gateway_filtered_results_total{filter="duplicate"} 1.0' in answer["metrics"]


async def test_block_lists_are_read_again_without_a_restart(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_lists, "CHECK_SECONDS", 0.0)
    file = tmp_path / "blocked.txt"
    file.write_text("0.0.0.0 blog.example\n||mirror.example^\n")
    lists = block_lists.BlockLists((file, tmp_path / "missing"), check_seconds=0.0)
    assert (await lists.current()).blocks("blog.example")
    file.write_text("||sqlite.org^\n")
    os.utime(file, ns=(1, 1))
    assert not (await looked_again(lists)).blocks("blog.example")
    assert (await lists.current()).blocks("www.sqlite.org")
    file.unlink()
    assert (await looked_again(lists)).blocks("www.sqlite.org"), "the former rules stay"
    file.write_text("sqlite.org")
    answer = await ask(stores, "log", block_lists=(file,))
    assert urls(answer) == {GERMAN, BLOG}
    assert answer["explain"]["passes"]["filters"] == {"blocked": 2, "duplicate": 1}


async def looked_again(lists: block_lists.BlockLists) -> BlockList:
    """The rules after the files were looked at beside a search."""
    await lists.current()
    await lists.settle()
    return await lists.current()


async def test_no_search_is_answered_without_the_rules_while_they_are_loaded(tmp_path: Path) -> None:
    file = tmp_path / "blocked.txt"
    file.write_text("\ufeffa.example\n" + "".join(f"host{number}.example\n" for number in range(20_000)), "utf-8")
    lists = block_lists.BlockLists((file,))
    found = await asyncio.gather(*(lists.current() for _ in range(5)))
    assert all(one.blocks("a.example") for one in found)


async def test_a_list_that_could_not_be_read_is_read_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "blocked.txt"
    file.write_text("a.example")

    def refuse(lines: object) -> BlockList:
        raise PermissionError(13, "Permission denied", str(file))

    lists = block_lists.BlockLists((file,), check_seconds=0.0)
    with monkeypatch.context() as patched:
        patched.setattr(block_lists, "read_block_list", refuse)
        assert not (await lists.current()).blocks("a.example")
    assert (await looked_again(lists)).blocks("a.example")


async def test_a_long_query_is_answered_as_a_short_one(stores: Stores) -> None:
    filler = "I have read a lot about how programs keep what they were given, and I wonder about one thing. " * 20
    answer = await ask(stores, (filler + "What is SQLITE_BUSY?")[-2_000:])
    assert answer["results"][0]["url"] == BUSY


FILTERED = [
    # filter, statements beside the one that stays, query
    ("conditions", [with_place(statement("https://b.example/1", "A log of nothing."))], "log -nothing"),
    ("empty", [with_place(statement("https://b.example/1", "A log of nothing.", title="") | {"url": ""})], "log"),
    ("adult", [with_place(statement("https://porn-log.example/", "A log of nothing."))], "log"),
    ("duplicate", [with_place(statement(COPY, TEXT, title="A log of logs"))], "log database"),
]


@pytest.mark.parametrize(("name", "others", "query"), FILTERED, ids=[name for name, *_ in FILTERED])
async def test_each_filter_is_counted_in_metrics_and_explain(
    name: str, others: list[dict[str, Any]], query: str
) -> None:
    kept = with_place(statement(BLOG, TEXT, title="A log of logs"))
    answer = await ask(await with_copies(await searchable([kept, *others])), query)
    assert len(answer["results"]) == 1
    assert answer["explain"]["passes"]["filters"] == {name: 1}
    assert f'riffle_gateway_filtered_results_total{{filter="{name}"}} 1.0' in answer["metrics"]


async def test_moved_results_of_a_host_are_counted_in_metrics_and_explain() -> None:
    names = "river ship weather garden engine crawl tree fire trade build captain kernel browser mixer kitchen"
    subjects = re.findall(r"\w+", names)
    texts = [f"A {subject} log: {' '.join([subject] * 9)}." for subject in subjects]
    many = [with_place(statement(f"https://many.example/{n}", text)) for n, text in enumerate(texts[:6])]
    other = [with_place(statement(f"https://h{n}.example/", text)) for n, text in enumerate(texts[6:])]
    answer = await ask(await searchable(many + other), "log", results_per_host=1)
    assert sum("many.example" in url for url in urls(answer)) == 1
    moved = answer["explain"]["passes"]["filters"]["host"]
    assert moved > 0
    assert f'riffle_gateway_filtered_results_total{{filter="host"}} {moved}.0' in answer["metrics"]


async def test_the_end_of_a_long_query_counts_as_much_as_its_beginning() -> None:
    """The model only reads the first 256 tokens of a text."""
    stores, asked = await searchable(STATEMENTS), []
    embed = stores.embedder.embed

    async def counted(texts: Any, role: Any, **options: Any) -> Any:
        asked.append(list(texts))
        return await embed(texts, role, **options)

    stores.embedder.embed = counted  # type: ignore[method-assign]  # of this object only
    filler = "I have read a lot about how programs keep what they were given, and I wonder about one thing. " * 20
    query = (filler + "Why does a checkpoint follow the log?")[-2_000:]
    await ask(stores, query)
    (parts,) = asked
    assert all(len(part) <= 700 for part in parts)
    assert " ".join(parts) == query.strip()
