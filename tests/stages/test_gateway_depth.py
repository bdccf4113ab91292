"""The depth of a search: behind a page that fills the lists, and through many pages of results."""

from itertools import chain

from streams.gateway.search.request import MAX_DEPTH
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import client, gateway, searchable, statement

TOPICS = ("windows", "linux", "macos", "android", "solaris", "haiku")


async def urls(stores: Stores, query: str, **more: int) -> tuple[list[str], bool]:
    async with client(gateway(stores)) as web:
        answer = (await web.get("/api/v1/search", params={"q": query, **more})).json()
    return [each["url"] for each in answer["results"]], answer["has_next"]


async def test_a_page_with_more_statements_than_a_list_has_places_hides_no_other_page() -> None:
    others = [
        statement(f"https://site{n}.example/", f"This is how one installs sqlite on {topic}.", title=f"Guide {n}")
        for n, topic in enumerate(TOPICS)
    ]
    filling = [
        statement("https://spam.example/", f"install sqlite windows offer {n}", title="Offers") for n in range(450)
    ]
    alone, _ = await urls(await searchable(others), "install sqlite windows")
    both, _ = await urls(await searchable([*filling, *others]), "install sqlite windows")
    assert len(alone) == len(TOPICS)
    assert sorted(set(both) - {"https://spam.example/"}) == sorted(alone)


async def test_no_result_is_lost_or_shown_twice_between_the_pages_of_results() -> None:
    words = ("checkpoint", "node", "queue", "table", "key", "cloud", "code", "log")
    statements = [
        statement(
            f"https://site{n}.example/",
            f"The {words[n % 8]} of {words[n % 7]} {words[(n * part) % 5]} number {n} has part {part}.",
            title=f"Page {n} {words[n % 3]}",
        )
        for n in range(260)
        for part in range(3)
    ]
    stores = await searchable(statements)
    for query in ("cloud page code", "queue result table", "node checkpoint key"):
        pages = [await urls(stores, query, page=page) for page in range(1, 13)]
        shown = list(chain.from_iterable(results for results, _ in pages))
        assert len(shown) == len(set(shown)) == 120, query
        assert all(has_next for _, has_next in pages), query


async def test_the_last_page_of_results_has_no_next_one() -> None:
    texts = [(f"https://site{n}.example/", f"A log of kind {n}, number {n * n}.") for n in range(MAX_DEPTH + 20)]
    stores = await searchable([statement(url, text, title=text) for url, text in texts])
    results, has_next = await urls(stores, "log", page=MAX_DEPTH // 50, per_page=50)
    assert len(results) == 50
    assert not has_next
