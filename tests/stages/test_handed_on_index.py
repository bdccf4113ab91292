"""An index that one installation hands on to another: what is in it, what is taken, and what is not."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import PageFetched, PageRemoved
from schemas.ids import page_id
from streams.errors import UsageError
from streams.ledger.history import history_of
from streams.maintenance.page_copies import PRIVATE
from streams.maintenance.shared_index.importer import (
    OTHER_MODEL,
    REMOVED_BY_INDEX,
    WRONG_VECTORS,
    is_index,
    read_description,
)
from streams.maintenance.shared_index.layout import CARD, DESCRIPTION
from streams.maintenance.shared_index.parts import reading_pool
from streams.stores.page_record import Deduplicated, Indexed, Normalized
from streams.stores.protocols import Site
from tests.sizes import examples
from tests.stages.handed_on import CountingEmbedder, Installation, urls_of
from tests.stages.whole_journey import SECOND, START

HOST = "sea.example"
A, B, C = (f"https://{HOST}/{name}" for name in ("otters", "tides", "ferns"))
TEXTS = {
    A: "Sea otters hold hands while they sleep. So the current does not carry them apart in the night.",
    B: "Spring tides come when sun and moon pull along one line. They are higher than all others.",
    C: "Ferns shed spores from the underside of their fronds. No fern has ever had a flower.",
}


def page(title: str, text: str, *, head: str = "", lang: str = "en") -> str:
    return (
        f"<!doctype html><html lang={lang}><title>{title}</title>{head}"
        f"<main><h1>{title}</h1><p>{text}</p><p><a href=/other>Another page</a> says more about {title}.</p></main>"
    )


async def full(*, urls: tuple[str, ...] = tuple(TEXTS)) -> Installation:
    """An installation that has fetched some pages."""
    made = Installation()
    for at, url in enumerate(urls):
        await made.journey.fetch(url, page(url.rpartition("/")[2], TEXTS[url]), at)
    return made


OF_THE_DELIVERY = {"document_ref", "at", "event", "crawl_id"}
"""The facts of a record that say when and by which event it was written."""
WORDS = st.sampled_from(
    [
        "the",
        "otter",
        "tide",
        "fern",
        "glacier",
        "carries",
        "a",
        "heavy",
        "slow",
        "bright",
        "lamp",
        "across",
        "harbour;",
        "nobody",
        "counts",
        "waves.",
        "It",
        "rains",
        "today!",
        "Zürich",
        "größer",
        "東京",
        "наука",
        "«quoted»",
        "<b>",
        "&",
        "c++",
        "3.14",
    ]
)
SENTENCES = st.lists(WORDS, min_size=3, max_size=30).map(" ".join)
PAGES = st.dictionaries(
    st.sampled_from([f"https://{host}/{name}" for host in (HOST, "hill.example") for name in "abcd"]),
    st.tuples(SENTENCES, st.lists(SENTENCES, min_size=1, max_size=5), st.sampled_from(["en", "de", "fr"])),
    min_size=1,
    max_size=5,
)


def html_of(title: str, paragraphs: list[str], language: str) -> str:
    escaped = [text.replace("&", "&amp;").replace("<", "&lt;") for text in (title, *paragraphs)]
    head = (
        '<link rel=license href="https://creativecommons.org/licenses/by/4.0/"><meta name=robots content=noai>'
        f'<link rel=alternate hreflang=de href="https://{HOST}/de">'
    )
    items = "".join(f"<li>{text}</li>" for text in escaped[1:])
    text = f"<h1>{escaped[0]}</h1><p>{'<p>'.join(escaped[1:])}<ul>{items}</ul>"
    return f"<html lang={language}><title>{escaped[0]}</title>{head}<main>{text}</main>"


@settings(max_examples=examples(15))
@given(pages=PAGES)
async def test_what_is_taken_is_what_was_handed_on(pages: dict[str, tuple[str, list[str], str]]) -> None:
    one, other = Installation(), Installation()
    for at, (url, facts) in enumerate(pages.items()):
        await one.journey.fetch(url, html_of(*facts), at)
    with tempfile.TemporaryDirectory() as folder:
        exported = await one.export(Path(folder) / "index")
        taken = await other.take(Path(folder) / "index")
    searchable = [url for url in pages if await one.is_searchable(url)]
    assert len(searchable) == exported.pages == taken.imported
    assert not taken.skipped
    assert not taken.notes
    for url in searchable:
        assert await other.points(page_id(url)) == await one.points(page_id(url)), url
        mine, theirs = [await each.stores.pages.get(page_id(url)) for each in (one, other)]
        for part in (Normalized, Deduplicated):
            rows = [
                {name: value for name, value in record.rows[part.PART].items() if name not in OF_THE_DELIVERY}
                for record in (mine, theirs)
            ]
            assert rows[0] == rows[1], (url, part)
        references = [(record.indexed.statements_ref, record.indexed.vectors_ref) for record in (mine, theirs)]
        assert references[0] == references[1], "equal statements and vectors have equal references"
    samples = min(8, exported.statements)
    assert other.embedder.texts == samples, "only the samples are embedded"


async def test_the_history_of_a_page_says_where_it_came_from(tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "index")
    await other.take(tmp_path / "index")
    record = await other.stores.pages.get(page_id(A))
    assert (record.fetched.source, record.fetched.origin) == ("warc", "sea-index")
    assert "brought_ref" not in record.fetched.row(), "sweeps keep what a record refers to"
    outcomes = [step.outcome for step in await history_of(other.stores, page_id(A), A)]
    assert any("Handed on by the index sea-index" in outcome for outcome in outcomes), outcomes


async def test_the_card_and_the_description_say_what_is_in_the_folder(tmp_path: Path) -> None:
    one = await full(urls=(A, B))
    licence = '<link rel=license href="https://creativecommons.org/licenses/by/4.0/"><meta name=robots content=noai>'
    await one.journey.fetch(C, page("Ferns | `x`", TEXTS[C], head=licence), 5)
    await one.journey.fetch(B, page("Tides", TEXTS[B], head="<meta name=robots content=noarchive>"), 6)
    report = await one.export(tmp_path / "index")
    assert (report.pages, dict(report.counts.left_out)) == (2, {"noarchive": 1})
    card = (tmp_path / "index" / CARD).read_text()
    for part in (
        "2 pages with",
        "riffle import",
        "feature-hashing",
        "| `https://creativecommons.org/licenses/by/4.0/` | 1 |",
        "| none | 1 |",
        "| `noai` | 1 |",
        "| `noarchive` | 1 |",
        "| `sea.example` | 2 |",
    ):
        assert part in card, card
    index = read_description(tmp_path / "index")
    assert (index.pages, index.parts, index.models[0].model) == (2, 1, "feature-hashing")
    assert is_index(tmp_path / "index")
    assert not is_index(tmp_path)
    rows = pq.read_table(tmp_path / "index/documents/00000.parquet").to_pylist()
    ferns = next(row for row in rows if row["url"] == C)
    assert (ferns["licence"], ferns["directives"]) == ("https://creativecommons.org/licenses/by/4.0/", ["noai"])


async def test_wishes_of_publishers_hold_where_the_page_is_taken(tmp_path: Path) -> None:
    one, other = Installation(), Installation()
    wishes = "noai, max-snippet:40, unavailable_after: 25 Aug 2040 15:00:00 GMT"
    await one.journey.fetch(A, page("otters", TEXTS[A]), 0, x_robots_tag=wishes, content_signal="ai-train=no")
    await one.export(tmp_path / "index")
    await other.take(tmp_path / "index")
    mine, theirs = [(await each.stores.pages.get(page_id(A))).normalized.directives for each in (one, other)]
    assert theirs == mine
    assert {"noai", "max-snippet:40", "ai-train=no"} < set(theirs)


@pytest.mark.parametrize("other_model", [{"version": "2"}, {"name": "another"}, {"dimensions": 32}])
async def test_another_model_embeds_and_says_so(other_model: dict[str, Any], tmp_path: Path) -> None:
    one, other = await full(), Installation(CountingEmbedder(**other_model))
    exported = await one.export(tmp_path / "index")
    taken = await other.take(tmp_path / "index")
    assert dict(taken.notes) == {OTHER_MODEL: 3}
    assert other.embedder.texts == exported.statements
    info = await other.embedder.info()
    indexed = (await other.stores.pages.get(page_id(A))).indexed
    assert (indexed.model, indexed.model_version, indexed.dimensions) == (info.name, info.version, info.dimensions)


async def test_only_chosen_hosts_are_exported(tmp_path: Path) -> None:
    one, hill = await full(), "https://hill.example/"
    await one.journey.fetch(hill, page("hill", "A hill is a small mountain, and nobody climbs it for fame."), 5)
    assert (await one.export(tmp_path / "a", "hill.example")).pages == 1
    assert (await one.export(tmp_path / "b")).pages == 4


async def test_a_removed_page_is_not_exported_and_its_removal_is_by_its_id_alone(tmp_path: Path) -> None:
    one = await full()
    await one.journey.remove(A, 10)
    await one.journey.remove(B, 11, reason="gone")
    await one.journey.remove(C, 12, reason="blocked")
    report = await one.export(tmp_path / "index")
    assert (report.pages, report.removals) == (0, 2)
    rows = pq.read_table(tmp_path / "index/removals/00000.parquet").to_pylist()
    assert {(row["page_id"], row["reason"]) for row in rows} == {
        (str(page_id(A)), "request"),
        (str(page_id(B)), "gone"),
    }
    content = b"".join(file.read_bytes() for file in (tmp_path / "index").rglob("*") if file.is_file())
    assert b"otters" not in content


@pytest.mark.parametrize("reason", ["request", "gone", "noindex", "refused"])
async def test_a_later_removal_of_the_receiver_holds(reason: str, tmp_path: Path) -> None:
    one, other = await full(), await full(urls=(A,))
    await one.export(tmp_path / "index")
    await other.journey.remove(A, 50, reason=reason)
    taken = await other.take(tmp_path / "index")
    assert not await other.is_searchable(A)
    assert await other.is_searchable(B)
    assert taken.skipped == {"removed here since": 1}


async def test_a_removal_of_the_receiver_that_its_importer_did_not_see_holds_too(tmp_path: Path) -> None:
    """The page is removed between the reading of the folder and the stages: generations decide."""
    one, other = await full(urls=(A,)), Installation()
    await one.export(tmp_path / "index")
    _, sent = await other.send(tmp_path / "index")
    await other.journey.handle(
        PageRemoved(page_id=page_id(A), url=A, generation=START + 50 * SECOND, reason="gone"), 50
    )
    for event in sent:
        await other.journey.handle(event, 60)
    assert not await other.is_searchable(A)


async def test_a_page_that_left_the_index_is_removed_where_it_was_taken(tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "old")
    await other.take(tmp_path / "old", 100)
    await one.journey.remove(A, 200)
    await one.journey.fetch(B, page("tides", TEXTS[B], head="<meta name=robots content=noindex>"), 201)
    await one.export(tmp_path / "new")
    taken = await other.take(tmp_path / "new", 300)
    assert [await other.is_searchable(url) for url in (A, B, C)] == [False, False, True]
    assert taken.notes == {REMOVED_BY_INDEX: 2}
    assert await other.take(tmp_path / "new", 301), "once more changes nothing"
    again = await other.take(tmp_path / "old", 302)
    assert [await other.is_searchable(url) for url in (A, B, C)] == [False, False, True]
    assert again.skipped == {"removed here since": 2, "known here as new as that, or newer": 1}


async def test_the_removals_of_an_index_reach_only_pages_that_it_brought(tmp_path: Path) -> None:
    one, own, other = await full(urls=(A,)), await full(urls=(A,)), Installation()
    await one.export(tmp_path / "old", name="another-index")
    await other.take(tmp_path / "old", 100)
    await one.journey.remove(A, 200)
    await one.export(tmp_path / "new")
    for each in (own, other):
        taken = await each.take(tmp_path / "new", 300)
        assert await each.is_searchable(A)
        assert not taken.notes


async def test_a_page_that_the_receiver_fetched_later_stays(tmp_path: Path) -> None:
    one, other = await full(urls=(A,)), Installation()
    await one.export(tmp_path / "index")
    newer = "Sea otters also crack shells on stones that they carry under an arm."
    await other.journey.fetch(A, page("otters", newer), 500)
    _, sent = await other.send(tmp_path / "index")
    assert sent == []
    await one.journey.fetch(A, page("otters", newer + " This is newer still, and it is what people read now."), 900)
    await one.export(tmp_path / "newer")
    await other.take(tmp_path / "newer")
    assert any("newer still" in payload.text for payload, _ in await other.points(page_id(A)))


async def test_of_two_rows_for_a_page_the_newer_one_is_searchable_in_any_order(tmp_path: Path) -> None:
    one, other = await full(urls=(A,)), Installation()
    await one.export(tmp_path / "old")
    await one.journey.fetch(A, page("otters", "Sea otters also crack shells on stones that they carry along."), 50)
    await one.export(tmp_path / "new")
    _, old = await other.send(tmp_path / "old")
    _, new = await other.send(tmp_path / "new")
    for event in (*new, *old, *new):
        await other.journey.handle(event, 60)
    mine, theirs = [
        [(payload.text, payload.context, vector) for payload, vector in await each.points(page_id(A))]
        for each in (one, other)
    ]
    assert theirs == mine, "of the older row nothing is left"


async def test_private_pages_are_exported_only_when_asked_and_never_become_public(tmp_path: Path) -> None:
    one, other, third = await full(urls=(A, B)), Installation(), Installation()
    site = Site("sea", "Sea", (HOST,), is_private=True)
    await one.stores.api_keys.put_site(site, 1)
    assert (await one.export(tmp_path / "a")).counts.left_out == {PRIVATE: 2}
    assert not list((tmp_path / "a").rglob("*.parquet"))
    assert (await one.export(tmp_path / "b", with_private=True)).pages == 2
    taken = await other.take(tmp_path / "b")
    assert (taken.imported, taken.skipped.total()) == (0, 2)
    assert not await other.is_searchable(A)
    await third.stores.api_keys.put_site(replace(site, name="ocean"), 1)
    assert (await third.take(tmp_path / "b")).imported == 2
    assert {payload.audience for payload, _ in await third.points(page_id(A))} == {"ocean"}


async def test_a_killed_import_goes_on_where_it_was_and_a_repeated_one_changes_nothing(tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "index")
    report, sent = await other.send(tmp_path / "index")
    first = sent[0]
    assert isinstance(first, PageFetched)
    await other.journey.handle(first, 100)
    again, rest = await other.send(tmp_path / "index", skip=1)
    assert (again.resumed, urls_of(rest)) == (1, urls_of(sent) - {first.url})
    for event in (*rest, *sent):  # what was sent before is delivered again
        await other.journey.handle(event, 110)
    points = {url: await other.points(page_id(url)) for url in TEXTS}
    repeated = await other.take(tmp_path / "index", 120)
    assert repeated.skipped == {"known here as new as that, or newer": 3}
    assert {url: await other.points(page_id(url)) for url in TEXTS} == points
    for url in TEXTS:
        mine = [(payload.text, vector) for payload, vector in await one.points(page_id(url))]
        assert [(payload.text, vector) for payload, vector in points[url]] == mine
    assert (await other.stores.pages.get(page_id(A))).has(Indexed)
    assert report.imported == 3


async def test_vectors_that_are_swept_meanwhile_are_made_anew(tmp_path: Path) -> None:
    one, other = await full(urls=(A,)), Installation()
    exported = await one.export(tmp_path / "index")
    _, sent = await other.send(tmp_path / "index")
    before = other.embedder.texts
    (event,) = sent
    assert isinstance(event, PageFetched)
    assert event.brought_ref
    await other.journey.handle(event.model_copy(update={"brought_ref": "0" * 64}), 100)
    assert other.embedder.texts - before == exported.statements
    assert await other.points(page_id(A)) == await one.points(page_id(A))


# Hostile folders. Each is a good one that somebody changed.


Change = Callable[[Path], object]


def change_table(file: Path, name: str, values: object) -> None:
    table = pq.read_table(file)
    at = table.schema.get_field_index(name)
    column = values if isinstance(values, pa.Array) else pa.array(values, table.schema.field(name).type)
    pq.write_table(table.set_column(at, name, column), file)


def noise(index: Path) -> None:
    """All vectors are random, of unit length."""
    file = index / "statements/00000.parquet"
    rows = pq.read_table(file).num_rows
    drawn = np.random.default_rng(1).normal(size=(rows, 64))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    change_table(file, "vector", list(drawn.astype(np.float16)))


def constant(value: float, dimensions: int = 64) -> Change:
    def change(index: Path) -> None:
        file = index / "statements/00000.parquet"
        vector = np.full(dimensions, value, np.float16)
        change_table(file, "vector", [vector] * pq.read_table(file).num_rows)

    return change


def column(kind: str, name: str, value: object) -> Change:
    def change(index: Path) -> None:
        file = index / kind / "00000.parquet"
        change_table(file, name, [value] * pq.read_table(file).num_rows)

    return change


def replaced(path: str, content: bytes) -> Change:
    return lambda index: (index / path).write_bytes(content)


def linked(path: str, target: str) -> Change:
    def change(index: Path) -> None:
        (index / path).unlink()
        (index / path).symlink_to(target)

    return change


def only_urls(index: Path) -> None:
    pq.write_table(pa.table({"url": ["https://a.example/"]}), index / "documents/00000.parquet")


def bomb(index: Path) -> None:
    """One text of 64 MiB that 80,000 rows name: 5 TB in a file of some kilobytes."""
    file = index / "statements/00000.parquet"
    rows = 80_000
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * (64 << 20)]))
    table = pa.table({"page_id": pa.array(["x"] * rows), "text": text})
    pq.write_table(table, file, store_schema=False, compression="zstd")


@pytest.mark.parametrize(
    ("change", "notes"),
    [
        (noise, WRONG_VECTORS),
        (constant(0.0), WRONG_VECTORS),
        (constant(float("nan")), WRONG_VECTORS),
        (constant(float("inf")), WRONG_VECTORS),
        (constant(9.0), WRONG_VECTORS),
        (constant(1.0, 1), WRONG_VECTORS),
        (constant(0.125, 63), WRONG_VECTORS),
        (constant(0.125), WRONG_VECTORS),  # of the right length, and of no text
        (column("statements", "vector", [None] * 64), WRONG_VECTORS),
        (column("documents", "model_version", "7"), OTHER_MODEL),
    ],
)
async def test_vectors_that_are_not_the_models_are_not_taken(change: Change, notes: str, tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "index")
    change(tmp_path / "index")
    taken = await other.take(tmp_path / "index")
    assert dict(taken.notes) == {notes: 3}
    for url in TEXTS:
        assert await other.points(page_id(url)) == await one.points(page_id(url))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (replaced("documents/00000.parquet", b""), "file"),
        (replaced("documents/00000.parquet", b"PAR1" + b"\xff" * 4_000 + b"PAR1"), "file"),
        (replaced("statements/00000.parquet", b"no parquet"), "file"),
        (linked("documents/00000.parquet", "/etc/passwd"), "file"),
        (linked("statements/00000.parquet", "../documents/00000.parquet"), "file"),
        (lambda index: (index / "statements/00000.parquet").unlink(), "file"),
        (column("documents", "html", None), "columns"),
        (column("documents", "page_id", "../../etc"), "statements"),
        (column("documents", "statements", 5_000), "statements"),
        (column("documents", "statements", -1), "statements"),
        (column("documents", "statements", 0), "statements"),
        (column("documents", "directives", ["x" * 201]), "columns"),
        (column("documents", "directives", ["noai"] * 65), "columns"),
        (column("statements", "page_id", str(page_id(B))), "statements"),
        (only_urls, "columns"),
    ],
)  # fmt: skip
async def test_a_wrong_file_costs_its_part(change: Change, reason: str, tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "index")
    change(tmp_path / "index")
    taken = await other.take(tmp_path / "index")
    assert taken.skipped == {"in a file that can't be read": 1}
    assert f": {reason}: " in str(taken.examples) or f"{reason}:" in str(taken.examples), taken.examples
    assert taken.imported == 0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("url", "https://bank.example/", "with the id of another address"),
        ("url", "file:///etc/passwd", "URL not allowed"),
        ("url", "http://169.254.169.254/latest", "URL not allowed"),
        ("url", "https://localhost:8443/", "URL not allowed"),
        ("url", "https://sea.example/" + "x" * 10_000, "URL not allowed"),
        ("fetched", 0, "date missing or impossible"),
        ("fetched", (1 << 62), "date missing or impossible"),
        ("fetched", -5, "date missing or impossible"),
        ("html", "x" * (11 << 20), "too large"),
    ],
)
async def test_a_wrong_row_costs_its_page(name: str, value: object, reason: str, tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.export(tmp_path / "index")
    column("documents", name, value)(tmp_path / "index")
    taken = await other.take(tmp_path / "index")
    assert taken.skipped == {reason: 3}
    assert taken.imported == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda found: {**found, "format": "other"},
        lambda found: {**found, "version": 2},
        lambda found: {**found, "parts": -1},
        lambda found: {**found, "parts": 1 << 50},
        lambda found: {**found, "parts": "../.."},
        lambda found: {**found, "name": "a\x1b[2Jb"},
        lambda found: {**found, "name": ""},
        lambda found: {**found, "models": [{"model": "x"}]},
        lambda found: [found],
        lambda found: {each: found[each] for each in found if each != "made"},
        lambda found: {**found, "padding": "x" * 300_000},
    ],
)
async def test_a_description_that_is_none_is_refused(change: Callable[[Any], Any], tmp_path: Path) -> None:
    one, other = await full(urls=(A,)), Installation()
    await one.export(tmp_path / "index")
    file = tmp_path / "index" / DESCRIPTION
    file.write_text(json.dumps(change(json.loads(file.read_bytes()))))
    with pytest.raises(UsageError, match="is no index that can be taken"):
        await other.take(tmp_path / "index")


async def test_removals_that_cannot_be_read_end_the_import(tmp_path: Path) -> None:
    """Without them, pages might be taken that asked to leave."""
    one, other = await full(), Installation()
    await one.journey.remove(C, 12)
    await one.export(tmp_path / "index")
    (tmp_path / "index/removals/00000.parquet").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="its removals can't be read"):
        await other.take(tmp_path / "index")


async def test_a_confined_process_reads_the_folder_and_outlives_a_bomb(tmp_path: Path) -> None:
    one, other = await full(), Installation()
    await one.journey.remove(C, 12)
    await one.export(tmp_path / "index")
    await one.export(tmp_path / "bomb")
    bomb(tmp_path / "bomb")
    async with reading_pool() as pool:
        bad = await other.take(tmp_path / "bomb", sandbox=pool)
        good = await other.take(tmp_path / "index", sandbox=pool)
    assert (bad.imported, bad.skipped) == (0, {"in a file that can't be read": 1})
    assert (good.imported, not good.notes) == (2, True)
    assert await other.points(page_id(A)) == await one.points(page_id(A))
