"""Texts of pages in everybody's search box: the operator chose a site with the text, or three sites have it."""

import pytest

from schemas import PageFetched
from schemas.ids import page_id
from streams.queries.suggestions.agent import SuggestAgent
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.page_texts import is_chosen
from streams.stores.memory import MemoryApiKeys
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, PageRecord
from tests.stages.gateway_fakes import NOW
from tests.stages.suggested_pages import asked, build_all, indexed, store_page, stored

CLAIM = "Jane Doe is a convicted thief"

# The hosts of the pages with the claim as their title, pages of each -> whether it is suggested.
SITES = {
    "one page": (["evil.net"], 1, False),
    "200 pages of a host": (["evil.net"], 200, False),
    "three names below a domain": (["a.evil.net", "b.evil.net", "c.evil.net"], 20, False),
    "wildcard names": ([f"x{n}.evil.net" for n in range(40)], 1, False),
    "a domain below a suffix with two labels": ([f"{n}.evil.co.uk" for n in "abc"], 1, False),
    "blogs of a platform that the public suffix list names": ([f"evil{n}.pages.dev" for n in range(40)], 1, False),
    "of one that it does not name": ([f"evil{n}.substack.com" for n in range(40)], 1, False),
    "buckets of a server": ([f"evil{n}.s3.amazonaws.com" for n in range(5)], 1, False),
    "a platform and a domain": (["a.github.io", "b.github.io", "evil.net"], 5, False),
    "with and without www": (["evil.net", "www.evil.net", "evil.org"], 1, False),
    "a name in another script and another domain": (["xn--e1afmkfd.xn--p1ai", "evil.net"], 1, False),
    "two domains": (["evil.net", "evil.org"], 50, False),
    "three domains": (["one.net", "two.org", "three.com"], 1, True),
    "three names of a registry's suffix": (["one.co.uk", "two.co.uk", "three.co.uk"], 1, True),
}


async def honest(stores: Stores) -> None:
    for number in range(6):
        await store_page(stores, f"https://h{number}.example/", "Jane Doe", "She builds bridges.", is_chosen=False)


@pytest.mark.parametrize(("hosts", "pages", "is_suggested"), SITES.values(), ids=SITES)
async def test_a_text_of_pages_needs_three_independent_sites(hosts: list[str], pages: int, is_suggested: bool) -> None:
    stores = memory_stores()
    await honest(stores)
    for host in hosts:
        for number in range(pages):
            url = f"https://{host}/{number}"
            await store_page(stores, url, CLAIM, f"{CLAIM} now.", headings=[CLAIM], is_chosen=False)
    await build_all(stores)
    found = await asked(stores, "jane doe is")
    assert found == ([CLAIM.lower()] if is_suggested else [])
    assert (await asked(stores, "jane d"))[0] == "jane doe"


async def test_a_person_with_one_site_gets_suggestions_of_it() -> None:
    stores = memory_stores()
    await store_page(stores, "https://docs.example/", "Write-ahead log", "The log is written before the file.")
    await build_all(stores)
    assert await asked(stores, "write") == ["write-ahead log"]


async def test_pages_of_one_owner_count_little_against_many_sites() -> None:
    stores = memory_stores()
    for number in range(200):
        await store_page(stores, f"https://evil.net/{number}", "Tide scam", "x", is_chosen=False)
    for host in ("one.net", "two.org"):
        await store_page(stores, f"https://{host}/", "Tide scam", "x", is_chosen=False)
    for number in range(31):
        await store_page(stores, f"https://h{number}.example/", "Tide tables", "x", is_chosen=True)
    await build_all(stores)
    assert await asked(stores, "tide") == ["tide tables", "tide scam", "tide"]


# A row of the last answer -> whether the operator chose the page.
RECORDS = [
    ({"source": "crawl", "depth": 3, "same_host": True}, True, "a crawl that stays on its seeds' hosts"),
    ({"source": "crawl", "depth": 0, "same_host": False}, True, "a seed"),
    ({"source": "crawl", "depth": 1, "same_host": False}, False, "a link led to it"),
    ({"source": "html", "depth": 0}, True, "a file of a folder, or a dump of a site"),
    ({"source": "warc", "depth": 0}, False, "an archive of the web"),
    ({}, False, "nothing is known"),
]


@pytest.mark.parametrize(("row", "expected", "why"), RECORDS, ids=[row[-1] for row in RECORDS])
def test_who_chose_a_page(row: dict[str, object], expected: bool, why: str) -> None:
    assert is_chosen(PageRecord({"fetched": row})) is expected, why


@pytest.mark.parametrize("is_same_host", [False, True])
async def test_the_record_of_an_answer_says_who_chose_the_page(is_same_host: bool) -> None:
    url, stores = "https://docs.example/a", memory_stores()
    event = PageFetched(
        page_id=page_id(url), url=url, host="docs.example", outcome="ok", generation=1, depth=2, same_host=is_same_host
    )
    await stores.pages.put(event.page_id, Fetched.of_event(event), 1)
    assert is_chosen(await stores.pages.get(event.page_id)) is is_same_host


async def test_the_title_of_a_new_page_waits_for_a_build_unless_its_site_is_chosen() -> None:
    stores = memory_stores()
    for host, is_own in (("evil.net", False), ("docs.example", True)):
        await store_page(stores, f"https://{host}/", "Tide tables", "x", is_chosen=is_own)
    agent = SuggestAgent(stores.suggestions, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0, pages=stores.pages)
    await agent.handle(indexed("https://evil.net/", "Tide scam"))
    await agent.handle(indexed("https://docs.example/", "Tide tables"))
    assert await stored(stores, "tide") == ["tide tables"]


# The titles that are suggested at once, of pages of one host that come in this order: path, depth, whether the crawl
# stays on the hosts of its seeds.
ORDERS = [
    ([("", 0, False), ("evil", 2, False)], ["tide tables"], "a page of an open crawl behind its seed"),
    ([("evil", 2, False), ("", 0, False)], ["tide tables"], "the seed of an open crawl behind another page"),
    ([("evil", 2, False), ("a", 2, True)], ["tide a"], "a page of a crawl of the host behind one of an open crawl"),
    ([("a", 2, True), ("b", 2, True)], ["tide a", "tide b"], "a crawl of the host"),
]


@pytest.mark.parametrize(("found", "expected", "why"), ORDERS, ids=[order[-1] for order in ORDERS])
async def test_each_page_of_a_host_is_chosen_by_itself(
    found: list[tuple[str, int, bool]], expected: list[str], why: str
) -> None:
    stores = memory_stores()
    agent = SuggestAgent(stores.suggestions, MemoryApiKeys(), lambda: NOW, BlockedWords(), 0, pages=stores.pages)
    for path, depth, is_same_host in found:
        url = f"https://docs.example/{path}"
        row = {"url": url, "generation": 1, "source": "crawl", "depth": depth, "same_host": is_same_host}
        await stores.pages.put(page_id(url), Fetched.of_row(row), 1)
        await agent.handle(indexed(url, f"Tide {path or 'tables'}"))
    assert await stored(stores, "tide") == expected, why
