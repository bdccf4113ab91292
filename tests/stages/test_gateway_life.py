"""Why is a page (not) indexed: its history from the ledger, as a page for people and over the API."""

import gzip
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from schemas import LinkFound, PageDeduplicated, PageRemoved
from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.host_quality import HostRecord
from streams.gateway.page.lookup import MAX_STATEMENTS
from streams.stores.host_buckets import bucket_of
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized, PageRecord, Removed
from streams.stores.protocols import Fingerprint, FrontierHost
from tests.frontier_rows import put_host
from tests.stages.gateway_fakes import Dead, Hanging, client, gateway, searchable, statement
from tests.stages.gateway_life import GENERATION, document, fetched, indexed, record, refused
from tests.stages.test_gateway_delivery import MAX_PAGE_BYTES
from tests.stages.test_gateway_pages import HOSTILE, HTML, assert_harmless

WAL = "https://sqlite.org/wal.html"
COPY = "https://mirror.example/wal.html"
BODY = (
    "<!doctype html><title>Write-Ahead Logging</title><nav>Home About</nav>"
    "<main><h1>WAL</h1><p>The log is fast.</p></main>"
)


@pytest.fixture
async def stores() -> Stores:
    stores = await searchable([statement(WAL, "The log is fast.", title="Write-Ahead Logging", context=["WAL"])])
    await indexed(stores, document(WAL, "Write-Ahead Logging", "The log is fast."), BODY, statements=1)
    return stores


async def get(stores: Stores, path: str, **headers: str) -> Any:
    app = gateway(stores, deadline_seconds=0.5)
    try:
        async with client(app) as web:
            return await web.get(path, headers=headers)
    finally:
        await app.state.gateway.close()


def api(subject: object) -> str:
    return f"/api/v1/pages/{quote(str(subject), safe='')}"


SPELLINGS = [WAL, "http://SQLite.org:80/wal.html#top", "sqlite.org/wal.html", page_id(WAL)]


@pytest.mark.parametrize("subject", SPELLINGS)
async def test_a_page_is_found_by_id_and_by_any_spelling_of_its_url(stores: Stores, subject: object) -> None:
    found = (await get(stores, api(subject))).json()
    assert (found["page_id"], found["url"]) == (str(page_id(WAL)), WAL)


@pytest.mark.parametrize("subject", ["https://sqlite.org/docs/", "https://sqlite.org/docs/index.html"])
async def test_a_folder_is_found_by_its_index_file(stores: Stores, subject: str) -> None:
    await indexed(stores, document("https://sqlite.org/docs/", "Docs", "The log."), BODY, statements=1)
    found = (await get(stores, api(subject))).json()
    assert (found["url"], found["status"]) == ("https://sqlite.org/docs/", "indexed")


async def test_the_qualities_of_a_page_and_its_host_are_shown_with_their_parts(stores: Stores) -> None:
    part = {"url": WAL, "generation": GENERATION, "quality": {"score": 0.5, "prose": 0.5}}
    await stores.pages.put(page_id(WAL), Normalized.of_row(part), GENERATION + 1)
    assert "The quality of its host" not in (await get(stores, f"/page?url={WAL}", accept="text/html")).text
    host = Host(bucket_of("sqlite.org"), "sqlite.org", record=HostRecord(settled=90, unique=60, quality_sum=54))
    await put_host(stores.frontier, host.to_row(None, 1))
    page = (await get(stores, f"/page?url={WAL}", accept="text/html")).text
    assert "Whole sentences: 50 of 100" in page
    assert "The quality of its host" in page
    assert "Unique pages: 60 of 90 settled" in page


async def test_a_url_in_a_trap_says_which_trap(stores: Stores) -> None:
    url = "https://sqlite.org/calendar/2999/01"
    unknown = await get(stores, api(url))
    assert unknown.status_code == 404
    assert "No crawl would follow a link to it: trap: calendar: a month far from today." in unknown.json()["detail"]
    sources = [f"https://sqlite.org/{number}" for number in range(3)]
    links = [
        LinkFound(
            target_page_id=page_id(url), target_url=url, target_host="sqlite.org", source_page_id=page_id(source),
            source_url=source, anchor="next month", generation=GENERATION,
        )
        for source in sources
    ]  # fmt: skip
    await record(stores, *links)
    assert (await get(stores, api(url))).json()["left_out"] == "trap: calendar: a month far from today"
    page = (await get(stores, f"/page?url={url}", accept="text/html")).text
    assert "No crawl follows a link to it: trap: calendar: a month far from today." in page
    assert (await get(stores, api(WAL))).json()["left_out"] == ""


async def test_a_look_up_reads_the_record_once(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the page's view and its history need the record."""
    read, get_record = [], stores.pages.get

    async def count(page: UUID) -> PageRecord:
        read.append(page)
        return await get_record(page)

    monkeypatch.setattr(stores.pages, "get", count)
    assert (await get(stores, api(WAL))).status_code == 200
    assert read == [page_id(WAL)]


@pytest.mark.parametrize("url", [WAL, "https://sqlite.org/unknown.html", "https://sqlite.org/calendar/2999/01"])
async def test_a_look_up_reads_the_row_of_a_host_once(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """It says both the quality of the host and why links to the page are left out."""
    read, get_host = list[str](), stores.frontier.host

    async def count(host: str) -> FrontierHost | None:
        read.append(host)
        return await get_host(host)

    monkeypatch.setattr(stores.frontier, "host", count)
    await get(stores, api(url))
    assert read == ["sqlite.org"]


async def test_the_whole_history_of_an_indexed_page(stores: Stores) -> None:
    found = (await get(stores, api(WAL))).json()
    assert found["status"] == "indexed"
    assert found["says"] == "Indexed: 1 statement is searchable."
    assert found["state"] == {"status": "indexed", "detail": "", "statements": 1, "next_step": "none"}
    assert found["next_step"]
    assert [event["topic"] for event in found["timeline"]] == [
        "pages.discovered",
        "pages.scheduled",
        "pages.fetched",
        "pages.normalized",
        "pages.deduplicated",
        "pages.chunked",
        "pages.embedded",
        "pages.indexed",
    ]
    assert all(event["outcome"] and event["at"].endswith("Z") for event in found["timeline"])
    assert [each["text"] for each in found["statements"]] == ["The log is fast."]
    assert found["statements"][0]["context"] == ["WAL"]
    assert (found["partial"], found["missing"]) == (False, [])


async def test_the_page_for_people_shows_the_same(stores: Stores) -> None:
    response = await get(stores, f"/page?url={quote(WAL, safe='')}", **HTML)
    for text in ("Indexed: 1 statement is searchable.", "pages.fetched", "Unique", "The log is fast.", "3 hours ago"):
        assert text in response.text
    assert f'href="/labs/page?url={quote(WAL, safe="")}"' in response.text
    assert_harmless(response.text)


async def test_a_page_that_refused_shows_why(stores: Stores) -> None:
    await refused(stores, "https://sqlite.org/private.html")
    found = (await get(stores, api("sqlite.org/private.html"))).json()
    assert found["status"] == "refused"
    assert (found["state"]["reason"], found["state"]["next_step"]) == ("noindex", "ask_owner")
    assert found["next_step"].endswith(f"riffle crawl {found['url']}")
    assert "noindex" in found["says"]
    assert found["statements"] == []


async def test_a_duplicate_and_its_representative_lead_to_each_other(stores: Stores) -> None:
    shared: dict[str, Any] = {"page_id": page_id(COPY), "url": COPY, "generation": GENERATION}
    for url in (WAL, COPY):
        await stores.fingerprints.put(Fingerprint(page_id(url), "same", 1, url, GENERATION), GENERATION)
    await stores.fingerprints.set_representative(page_id(COPY), page_id(WAL), GENERATION)
    await record(
        stores,
        *fetched(COPY),
        PageDeduplicated(**shared, document_ref="0" * 64, verdict="exact", canonical_page_id=page_id(WAL)),
        PageRemoved(**shared, reason="duplicate", canonical_page_id=page_id(WAL)),
    )
    copy, original = (await get(stores, api(COPY))).json(), (await get(stores, api(WAL))).json()
    assert (copy["status"], copy["says"]) == ("duplicate", f"Duplicate of {WAL}")
    assert copy["state"]["representative"] == str(page_id(WAL))
    assert copy["canonical"] == {"page_id": str(page_id(WAL)), "url": WAL}
    assert original["duplicates"] == [{"page_id": str(page_id(COPY)), "url": COPY}]
    html = (await get(stores, f"/page?url={WAL}", **HTML)).text
    assert f'href="/page?url={quote(COPY, safe="")}"' in html


async def test_an_alias_names_its_target_and_the_rule(stores: Stores) -> None:
    await stores.fingerprints.put(Fingerprint(page_id(WAL), "same", 1, WAL, GENERATION), GENERATION)
    url = f"{WAL}?ref=home"
    shared = {"page_id": page_id(url), "url": url, "generation": GENERATION, "reason": "duplicate"}
    removed = PageRemoved.model_validate(
        {**shared, "canonical_page_id": page_id(WAL), "detail": "not fetched (parameter:remove:ref)"}
    )
    await record(stores, fetched(url)[0], removed)
    value = {"generation": GENERATION, "reason": "duplicate", "canonical_page_id": str(page_id(WAL))}
    await stores.pages.put(page_id(url), Removed.of_row(value), GENERATION)
    known = (await get(stores, api(url))).json()
    assert known["status"] == "duplicate"
    assert known["canonical"] == {"page_id": str(page_id(WAL)), "url": WAL}
    assert known["says"].startswith(f"Duplicate of {WAL} (not fetched (parameter:remove:ref)")


UNKNOWN = [
    # subject, status, kind
    ("https://sqlite.org/never-seen.html", 404, "unknown-page"),
    (uuid4(), 404, "unknown-page"),
    ("ftp://sqlite.org/", 400, "invalid-url"),
    ("not an address", 400, "invalid-url"),
    ("https://user:secret@sqlite.org/", 400, "invalid-url"),
    ("\x00", 400, "invalid-url"),
    ("https://" + "x" * 5_000, 400, "invalid-url"),
]


@pytest.mark.parametrize(("subject", "status", "kind"), UNKNOWN)
async def test_an_unknown_page_is_explained(stores: Stores, subject: object, status: int, kind: str) -> None:
    problem = (await get(stores, api(subject))).json()
    assert (problem["status"], problem["type"]) == (status, f"urn:riffle:problem:{kind}")
    if kind == "unknown-page":
        named = subject if isinstance(subject, str) else "URL"
        assert f"`riffle crawl {named}`" in problem["hint"]
    page = await get(stores, f"/page?url={quote(str(subject), safe='')}", **HTML)
    assert page.status_code == status
    assert problem["title"] in page.text
    assert "Look it up" in page.text


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_without_the_ledger_the_records_are_unavailable(stores: Stores, broken: Any) -> None:
    stores.ledger = broken
    problem = (await get(stores, api(WAL))).json()
    assert (problem["status"], problem["type"]) == (503, "urn:riffle:problem:records-unavailable")


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_without_index_and_fingerprints_the_history_is_shown(stores: Stores, broken: Any) -> None:
    stores.vectors = stores.fingerprints = broken
    found = (await get(stores, api(WAL))).json()
    assert found["status"] == "indexed"
    assert found["partial"] is True
    assert set(found["missing"]) == {"its representative", "its duplicates", "its statements"}
    assert "This view is incomplete." in (await get(stores, f"/page?url={WAL}", **HTML)).text


async def test_labs_show_the_original_and_the_document(stores: Stores) -> None:
    html = (await get(stores, f"/labs/page?url={WAL}", **HTML)).text
    assert "&lt;nav&gt;Home About&lt;/nav&gt;" in html  # the original, as text
    assert '<span class="text" dir="auto">The log is fast.</span>' in html
    assert_harmless(html)


async def test_labs_show_no_copy_of_a_page_that_asks_for_none(stores: Stores) -> None:
    normalized = (await stores.pages.get(page_id(WAL))).normalized
    await stores.pages.put(page_id(WAL), replace(normalized, directives=("noarchive",)), GENERATION + 1)
    response = await get(stores, f"/labs/page?url={WAL}", **HTML)
    assert response.status_code == 403
    assert "The page says <code>noarchive</code>." in response.text
    assert "The log is fast" not in response.text


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_hostile_in_a_record_becomes_markup(stores: Stores, hostile: str) -> None:
    url = "https://evil.example/"
    page_document = document(url, hostile, hostile, f"{hostile} and {hostile}")
    await indexed(stores, page_document, f"<title>{hostile}</title><p>{hostile}", statements=1)
    await stores.pages.put(page_id(url), Removed.of_row({"detail": hostile, hostile: hostile}), GENERATION)
    assert_harmless((await get(stores, f"/page?url={url}", **HTML)).text)


async def test_a_long_page_shows_its_first_statements_and_folds_the_rest() -> None:
    """A context is shown where it changes, also between both lists."""
    headings = ["Start"] * 10 + ["Checkpoints"] * (MAX_STATEMENTS - 10)
    texts = [f"Statement {number} of the page says something about logs." for number in range(1, MAX_STATEMENTS + 1)]
    stores = await searchable(
        [statement(WAL, text, context=[heading]) for text, heading in zip(texts, headings, strict=True)]
    )
    await indexed(stores, document(WAL, "Write-Ahead Logging", *texts), BODY, statements=len(texts))
    answer = await get(stores, f"/page?url={WAL}", **HTML)
    html = answer.text
    shown, folded = html[html.index('id="statements"') : html.index('id="record"')].split("<details>")
    assert (shown.count("<li"), folded.count("<li")) == (8, MAX_STATEMENTS - 8)
    assert '<ol class="statements" start="9">' in folded
    assert f"<summary>{MAX_STATEMENTS - 8} more</summary>" in folded
    assert (shown.count('class="context"'), folded.count('class="context"')) == (1, 1)
    assert len(gzip.compress(html.encode())) < MAX_PAGE_BYTES


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://sqlite.org/private.html", ("Von der Seite selbst abgelehnt: noindex", "Nur ihr Eigentümer kann das")),
        ("https://sqlite.org/wal.html", ("Im Index: 1 Aussage ist durchsuchbar.", "Nichts zu tun: Suchen finden sie.")),
    ],
)
async def test_the_status_and_the_next_step_are_in_the_readers_language(url: str, shown: tuple[str, ...]) -> None:
    stores = await searchable([])
    await refused(stores, "https://sqlite.org/private.html")
    page = document("https://sqlite.org/wal.html", "WAL", "The log.")
    await indexed(stores, page, "<p>The log.", statements=1)
    async with client(gateway(stores, deadline_seconds=20.0)) as web:
        found = await web.get("/page", params={"url": url}, headers={"accept": "text/html", "accept-language": "de"})
    for text in shown:
        assert text in found.text
