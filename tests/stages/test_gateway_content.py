"""Documents, statements, vectors, similar pages, feeds: what programs get beside searches."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

from schemas.ids import page_id
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document, Link
from streams.statements.statement import PageStatements, Statement, encode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import Indexed, Normalized
from streams.stores.protocols import Site
from streams.vectors.points import encode_vectors
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_access import new_key

URL = "https://docs.example/wal"
PAGE = page_id(URL)
TEXTS = [f"Statement number {number} about the log." for number in range(7)]


async def filled(*others: dict[str, Any], **facts: Any) -> Stores:
    """Stores with one indexed page of seven statements, a similar page, and `others`."""
    rows = [statement(URL, text, title="Logs") for text in TEXTS]
    similar = statement("https://other.example/", "Another statement about the log.")
    stores = await searchable([*rows, similar, *others])
    document = Document(
        URL,
        "Logs",
        language="en",
        blocks=tuple(Block("p", text) for text in TEXTS),
        links=(Link("https://a.example/"),),
    )
    statements = PageStatements(
        PAGE, URL, "Logs", "en", tuple(Statement(page_id(text), n, text, ("Logs",)) for n, text in enumerate(TEXTS))
    )
    statements_ref = await stores.blobs.put(encode_statements(statements))
    vectors_ref = await stores.blobs.put(encode_vectors(statements_ref, np.eye(7, 4, dtype=np.float32)))
    row = {"url": URL, "generation": 1}
    refs = {"statements_ref": statements_ref, "vectors_ref": vectors_ref}
    collection = await stores.vectors.active()
    document_ref = await stores.blobs.put(encode_document(document))
    await stores.pages.put(PAGE, Normalized.of_row({**row, "document_ref": document_ref, **facts}), 1)
    other = "https://other.example/"
    await stores.pages.put(page_id(other), Normalized.of_row({"url": other, "generation": 1}), 1)
    indexed = {**row, **refs, "model": "m", "model_version": "1", "collection": collection}
    await stores.pages.put(PAGE, Indexed.of_row(indexed), 1)
    return stores


async def test_statements_and_vectors_come_in_parts_that_fit_together() -> None:
    async with client(gateway(await filled())) as web:
        texts, vectors = list[str](), list[list[float]]()
        after: int | None = 0
        while after is not None:
            part = (await web.get(f"/api/v1/pages/{PAGE}/statements", params={"after": after, "limit": 3})).json()
            beside = (await web.get(f"/api/v1/pages/{PAGE}/vectors", params={"after": after, "limit": 3})).json()
            assert (part["total"], beside["total"], beside["dimensions"]) == (7, 7, 4)
            assert beside["statements_ref"] == part["ref"]
            assert part.get("next") == beside.get("next")
            texts += [each["text"] for each in part["statements"]]
            vectors += beside["vectors"]
            after = part.get("next")
    assert texts == TEXTS
    assert vectors == np.eye(7, 4).tolist()


async def test_a_document_is_found_by_the_reference_of_its_event() -> None:
    async with client(gateway(await filled())) as web:
        found = (await web.get(f"/api/v1/pages/{PAGE}/document")).json()
        same = await web.get(f"/api/v1/pages/{PAGE}/document", params={"ref": found["ref"]})
        other = await web.get(f"/api/v1/pages/{PAGE}/document", params={"ref": "0" * 64})
        wrong = await web.get(f"/api/v1/pages/{PAGE}/document", params={"ref": "x"})
        unknown = await web.get(f"/api/v1/pages/{page_id('https://x.example/')}/document")
    assert [block["text"] for block in found["document"]["blocks"]] == TEXTS
    assert found["untrusted"] is True
    assert (same.status_code, other.status_code, wrong.status_code, unknown.status_code) == (200, 409, 400, 404)
    assert other.json()["type"] == "urn:riffle:problem:content-changed"


REFUSING = [("noarchive", 403), ("noindex", 403), ("nosnippet", 403), ("nofollow", 200)]


@pytest.mark.parametrize(("directive", "status"), REFUSING)
@pytest.mark.parametrize("path", [f"/api/v1/pages/{PAGE}/document", f"/api/v1/extract?url={URL}"])
async def test_a_page_that_asks_for_no_copies_is_not_copied(path: str, directive: str, status: int) -> None:
    async with client(gateway(await filled(directives=[directive]))) as web:
        assert (await web.get(path)).status_code == status


async def test_extract_gives_an_indexed_page() -> None:
    async with client(gateway(await filled())) as web:
        found = (await web.get("/api/v1/extract", params={"url": URL})).json()
        unknown = await web.get("/api/v1/extract", params={"url": "https://new.example/"})
        fetch = await web.get("/api/v1/extract", params={"url": "https://new.example/", "fetch": "true"})
    assert (found["source"], found["page_id"], found["statement_count"]) == ("index", str(PAGE), 7)
    assert unknown.status_code == 404
    assert (fetch.status_code, fetch.json()["type"]) == (403, "urn:riffle:problem:fetch-not-allowed")


async def test_similar_pages_are_others_and_of_the_own_site() -> None:
    stores = await filled()
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    header = await new_key(stores, site="docs")
    async with client(gateway(stores)) as web:
        found = (await web.get("/api/v1/similar", params={"page": URL})).json()
        own = (await web.get("/api/v1/similar", params={"page": URL}, headers=header)).json()
    assert [each["url"] for each in found["pages"]] == ["https://other.example/"]
    assert own["pages"] == []


async def test_similar_pages_are_those_that_a_search_may_show(tmp_path: Path) -> None:
    """A page that an operator or a person keeps out of results does not come back as similar to one."""
    refused = [f"https://{name}.example/" for name in ("blocked", "hidden", "adult")]
    texts = ["A statement about the log."] * 2 + ["A hardcore porn statement about the log."]
    stores = await filled(*map(statement, refused, texts))
    (tmp_path / "hosts").write_text("blocked.example")
    limits = {"block_lists": (tmp_path / "hosts",), "keys": ("k" * 32,)}
    async with client(gateway(stores, limits=limits)) as web:
        of_people, of_programs = f"/similar?page={PAGE}", f"/api/v1/similar?page={PAGE}"
        found = {each["url"] for each in (await web.get(of_programs)).json()["pages"]}
        assert found == {"https://other.example/", "https://hidden.example/"}
        assert "https://hidden.example/" in (await web.get(of_people, headers={"accept": "text/html"})).text
        form = {"site": "hidden.example", "rule": "hidden"}
        await web.post("/preferences/site", data=form, headers={"sec-fetch-site": "same-origin"})
        page = (await web.get(of_people, headers={"accept": "text/html"})).text
    assert "https://other.example/" in page
    assert [url for url in refused if url in page] == []


async def test_a_feed_has_the_newest_results() -> None:
    stores = await searchable([
        statement("https://a.example/<&>", "The log & <b>more</b>.") | {"published": "2025-03"},
        statement("https://b.example/", "A log \x0bof wood.") | {"published": "2026-01-02"},
        statement("https://c.example/", "A log of the ship.") | {"generation": 1_700_000_000_000_000},
    ])  # fmt: skip
    async with client(gateway(stores)) as web:
        feed = await web.get("/api/v1/feed?q=log")
        wrong = await web.get("/api/v1/feed?q=log&format=rss")
    names = {"a": "http://www.w3.org/2005/Atom"}
    entries = fromstring(feed.text).findall("a:entry", names)
    links = [entry.find("a:link", names) for entry in entries]
    assert next(link.get("href") for link in links if link is not None) == "https://b.example/"
    assert [entry.findtext("a:updated", namespaces=names) for entry in entries] == [
        "2026-01-02T00:00:00+00:00",
        "2025-03-01T00:00:00+00:00",
        datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC).isoformat(),
    ]
    assert entries[1].findtext("a:summary", namespaces=names) == "The log & <b>more</b>."
    assert feed.headers["content-type"].startswith("application/atom+xml")
    assert wrong.status_code == 400


async def test_a_page_of_results_links_to_the_feed_of_its_query() -> None:
    stores = await searchable([
        statement("https://a.example/", "The log & more."),
        statement("https://b.example/", "A log of wood."),
    ])  # fmt: skip
    async with client(gateway(stores)) as web:
        page = (await web.get("/search", params={"q": 'log & "', "host": "a.example"})).text
        links = re.findall(r'<link rel="alternate" href="([^"]+)" type="([^"]+)" title="([^"]+)">', page)
        feeds = [await web.get(unescape(address)) for address, _, _ in links]
        home = (await web.get("/")).text
    assert [feed.headers["content-type"] for feed in feeds] == [media_type for _, media_type, _ in links]
    assert [title for _, _, title in links] == ["Newest results"]
    assert all("https://a.example/" in feed.text and "https://b.example/" not in feed.text for feed in feeds)
    assert 'rel="alternate"' not in home
