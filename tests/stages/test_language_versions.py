"""Language versions of a page are one result: pages in HTML name each other (`hreflang`), and answers link to them."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from schemas.ids import page_id
from streams.errors import StoreUnavailable
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.search.extras import MAX_VERSIONS
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized, PageRecord
from streams.vectors.page_records import facts_of
from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
EN, DE, JA, EVIL = (
    f"https://{path}" for path in ("a.example/log", "a.example/protokoll", "ja.example/log", "evil.example/log")
)
LANGUAGES = {EN: "en", DE: "de", JA: "ja", EVIL: "fr"}
TEXTS = {
    EN: "The log of checkpoints is copied back into the database.",
    DE: "Das Protokoll der checkpoints wird in die Datenbank kopiert.",
    JA: "checkpoints のログはデータベースにコピーされます。",
    EVIL: "Le journal des checkpoints, page volée.",
}
ALL = (EN, DE, JA)


def record(url: str, named: tuple[str, ...]) -> Normalized:
    """The record of a page that names these pages as its versions."""
    links = "".join(f"<link rel=alternate hreflang={LANGUAGES[each]} href='{each}'>" for each in named)
    outcome = normalize_to_outcome(
        f"<head>{links}</head><p>{TEXTS[url]}".encode(), url=url, headers={"content-type": "text/html; charset=utf-8"}
    )
    row = {"url": url, "generation": 1, "language": LANGUAGES[url], "alternates": outcome.alternates}
    return Normalized.of_row(row)


async def web_of(names: dict[str, tuple[str, ...]], found: tuple[str, ...] = ()) -> Stores:
    """Stores with the record of each page, which names others. `found`: the pages with statements; default: all."""
    records = {url: record(url, named) for url, named in names.items()}
    families = {url: facts_of(PageRecord({"normalized": each.row()}), 1).family for url, each in records.items()}
    stores = await searchable(
        [statement(url, TEXTS[url], language=LANGUAGES[url]) | {"family": families[url]} for url in found or names]
    )
    for url, each in records.items():
        await stores.pages.put(page_id(url), each, 1)
    return stores


# What each page names, the reader's languages, the first result, and its versions in the answer.
CASES = [
    ({EN: ALL, DE: ALL, JA: ALL}, "de", DE, {"en": EN, "ja": JA}, "all name each other"),
    ({EN: ALL, DE: ALL, JA: ALL}, "ja, en", JA, {"en": EN, "de": DE}, "on another host"),
    ({EN: ALL, DE: ALL, JA: ALL}, "fr", EN, {"de": DE, "ja": JA}, "none in the reader's language: English"),
    ({EN: (EN, DE), DE: (EN, DE), EVIL: (EN, DE, EVIL)}, "fr", EN, {"de": DE}, "a stranger names versions of others"),
    ({EN: (), DE: (), EVIL: (EN, DE)}, "fr", None, {}, "a stranger names pages that name nothing"),
]


@pytest.mark.parametrize(
    ("names", "accepted", "first", "versions"), [row[:4] for row in CASES], ids=[row[4] for row in CASES]
)
async def test_versions_that_name_each_other_are_one_result(
    names: dict[str, tuple[str, ...]], accepted: str, first: str | None, versions: dict[str, str]
) -> None:
    async with client(gateway(await web_of(names), deadline_seconds=30)) as web:
        answer = await web.get("/api/v1/search", params={"q": "checkpoints"}, headers={"accept-language": accepted})
    results = answer.json()["results"]
    by_url = {one["url"]: {each["language"]: each["url"] for each in one.get("versions", ())} for one in results}
    if first is None:
        assert by_url == {url: {} for url in names}, "three results"
        return
    assert by_url[first] == versions
    assert by_url.keys() & versions.values() == set()
    assert EVIL not in names or by_url[EVIL] == {}, "a page of its own, which names no version of others"


async def test_versions_that_the_query_does_not_find_are_named_too() -> None:
    """A question in German finds the German page alone by its words: people still learn that there is another one."""
    stores = await web_of({EN: ALL, DE: ALL, JA: ALL, EVIL: (*ALL, EVIL)}, found=(DE,))
    async with client(gateway(stores, deadline_seconds=30)) as web:
        page = (await web.get("/search", params={"q": "Protokoll"}, headers={**HTML, "accept-language": "de"})).text
        found = (await web.get("/api/v1/search", params={"q": "Protokoll"})).json()["results"]
        call = {"name": "search", "arguments": {"query": "Protokoll"}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        tool = await web.post("/mcp", json=request, headers={"accept": "application/json, text/event-stream"})
    assert found[0]["versions"] == [{"language": "en", "url": EN}, {"language": "ja", "url": JA}]
    assert f'hreflang="en">Englisch</a>, <a href="{JA}"' in page
    assert EVIL not in page
    assert f'"ja":"{JA}"' in tool.text.replace("\\", "").replace(" ", "")


async def test_a_reader_who_may_not_see_a_version_does_not_get_its_address() -> None:
    stores = await web_of({EN: ALL, DE: ALL, JA: ALL}, found=(DE,))
    removed = record(JA, ALL).row() | {"refused": "noindex"}
    await stores.pages.put(page_id(JA), Normalized.of_row(removed), 2)
    async with client(gateway(stores, deadline_seconds=30)) as web:
        found = (await web.get("/api/v1/search", params={"q": "Protokoll"})).json()["results"]
    assert found[0]["versions"] == [{"language": "en", "url": EN}], "the other one is refused meanwhile"


def test_a_page_names_the_same_set_as_another_one_only_if_both_are_in_it() -> None:
    en, de = record(EN, (EN, DE)), record(DE, (EN,))
    assert en.family == de.family != "", "a page that does not name itself is in its set"
    assert record(EVIL, (EN, DE)).family not in {en.family, ""}
    assert record(EN, ()).family == "" == record(EN, (EN,)).family
    secure, plain = record(EN, (EN, DE)), Normalized.of_row(record(EN, (EN, DE)).row() | {"url": EN.replace("s:", ":")})
    assert secure.family == plain.family, "http and https are one address"
    assert MAX_VERSIONS >= 100


async def test_a_store_that_fails_for_versions_takes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of the results say what publishers allow: they must not be lost with a link."""
    stores = await web_of({EN: ALL, DE: ALL, JA: ALL}, found=(DE,))
    whole = stores.pages.get_normalized

    async def read(pages: Sequence[UUID]) -> dict[UUID, Normalized]:
        if page_id(DE) not in pages:
            raise StoreUnavailable("the store is down")
        return await whole(pages)

    monkeypatch.setattr(stores.pages, "get_normalized", read)
    async with client(gateway(stores, deadline_seconds=30)) as web:
        [found] = (await web.get("/api/v1/search", params={"q": "Protokoll"})).json()["results"]
    assert "versions" not in found or found["versions"] == []
    assert not found.get("kept_from_models"), "its record was read"
