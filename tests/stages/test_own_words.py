"""The own words of a site: what its synonyms find, which page comes first, and that other searches stay as they are."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.errors import UsageError
from streams.search.own_words import MAX_GROUPS, MAX_PINNED, checked, normalize
from streams.stores.opener import Stores
from streams.stores.protocols import Site
from tests.sizes import examples
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.test_gateway_crawls import Sent, key_of

DOCS, OTHER = "docs.example", "other.example"
INSTALL, CLUSTER, LOGIN = (f"https://{DOCS}/{name}" for name in ("install", "cluster", "login"))
FOREIGN = f"https://{OTHER}/kubernetes"
STATEMENTS = [
    statement(INSTALL, "Put the archive into a folder and unpack it there.", title="Install"),
    statement(CLUSTER, "A kubernetes operator starts the pods again.", title="Cluster"),
    statement(LOGIN, "People sign in with a passkey.", title="Accounts"),
    statement(f"https://{DOCS}/logs", "The log of the server is rotated each night.", title="Logs"),
    statement(FOREIGN, "Here kubernetes is explained from the ground up.", title="Kubernetes elsewhere"),
]
SITE = Site("docs", "Documentation", (DOCS,))
SYNONYMS = (("k8s", "kubernetes"), ("log in", "sign in"))
PINNED = {"Download!": INSTALL}
WORDS = f"/api/v1/sites/{SITE.name}/words"


async def stores_with(synonyms: Any = SYNONYMS, pinned: Mapping[str, str] = PINNED) -> Stores:
    made = await searchable(STATEMENTS)
    await made.api_keys.put_site(checked(SITE, synonyms, pinned.items()), 1)
    return made


async def ask(stores: Stores, query: str, *, key: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    async with client(gateway(stores)) as web:
        response = await web.get(
            "/api/v1/search", params={"q": query, "explain": "true", **more}, headers=dict(key or {})
        )
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def site_key(stores: Stores, **facts: Any) -> dict[str, str]:
    return await key_of(stores, **{"site": SITE.name, "hosts": (), "scopes": ("search", "write"), **facts})


def urls(answer: Mapping[str, Any]) -> list[str]:
    return [result["url"] for result in answer["results"]]


async def test_a_synonym_finds_what_the_site_calls_otherwise() -> None:
    stores = await stores_with()
    key = await site_key(stores)
    found = await ask(stores, "k8s", key=key)
    assert urls(found)[0] == CLUSTER
    assert not found["nearest_only"]
    assert found["missing"] == []
    assert found["explain"]["passes"]["synonyms"] == {"k8s": "kubernetes"}
    first = found["results"][0]["statements"][0]
    assert [first["text"][start:end] for start, end in first["highlights"]] == ["kubernetes"]
    assert LOGIN in urls(await ask(stores, "how do I log in?", key=key))[:2]


async def test_a_synonym_brings_no_page_of_another_site() -> None:
    stores = await stores_with()
    for asked in ("k8s", "kubernetes", "download", "log in"):
        found = await ask(stores, asked, key=await site_key(stores))
        assert FOREIGN not in urls(found)


@pytest.mark.parametrize("more", [{}, {"include": DOCS}, {"host": DOCS}])
async def test_searches_that_are_not_the_sites_have_no_own_words(more: dict[str, Any]) -> None:
    stores, plain = await stores_with(), await stores_with((), {})
    for asked in ("k8s", "download"):
        mine, others = await ask(stores, asked, **more), await ask(plain, asked, **more)
        assert mine["results"] == others["results"]
        assert mine["explain"]["passes"] == others["explain"]["passes"]


async def test_a_pinned_page_is_first_and_says_so() -> None:
    stores = await stores_with()
    key = await site_key(stores)
    for asked in ("download", "  DOWNLOAD ", "Download?"):
        found = await ask(stores, asked, key=key)
        first = found["results"][0]
        assert first["url"] == INSTALL
        assert "pinned by the site" in [signal["says"] for signal in first["signals"] if signal["name"] == "pinned"]
        assert found["explain"]["passes"]["pinned"] == {"page": INSTALL}
    assert "pinned" not in (await ask(stores, "download it", key=key))["explain"]["passes"]


async def test_the_page_of_a_sites_search_uses_its_own_words() -> None:
    stores = await stores_with()
    async with client(gateway(stores)) as web:
        pinned, synonym = await web.get("/sites/docs?q=download"), await web.get("/sites/docs?q=k8s")
        elsewhere = await web.get("/search?q=download")
    assert "Pinned by the site" in pinned.text
    assert pinned.text.index("Pinned by the site") < pinned.text.index("</article>"), "it is the first result"
    assert CLUSTER in synonym.text
    assert "Pinned by the site" not in elsewhere.text


async def test_a_pinned_page_that_was_removed_is_not_shown() -> None:
    stores = await stores_with()
    for collection in await stores.vectors.collections():
        await stores.vectors.remove_page(collection, page_id(INSTALL))
    found = await ask(stores, "download", key=await site_key(stores))
    assert INSTALL not in urls(found)
    assert all(signal["name"] != "pinned" for result in found["results"] for signal in result["signals"])


async def test_a_pinned_page_of_another_site_is_never_shown() -> None:
    """A row that no check has seen."""
    stores = await stores_with()
    await stores.api_keys.put_site(Site("docs", "Docs", (DOCS,), pinned=(("download", FOREIGN),)), 2)
    assert FOREIGN not in urls(await ask(stores, "download", key=await site_key(stores)))


async def test_where_only_the_pinned_page_answers_it_is_alone() -> None:
    stores = await stores_with(pinned={"zzyzx quux": INSTALL})
    key = await site_key(stores)
    async with client(gateway(stores, limits={"min_confidence": 2.0})) as web:
        found = (await web.get("/api/v1/search", params={"q": "zzyzx quux"}, headers=key)).json()
    assert urls(found) == [INSTALL]
    assert not found["nearest_only"]


async def test_by_date_no_page_is_pinned() -> None:
    stores = await stores_with()
    key = await site_key(stores)
    mine = await ask(stores, "download", key=key, sort="date")
    assert all(signal["name"] != "pinned" for result in mine["results"] for signal in result["signals"])


TEXTS = st.sampled_from(["k8s", "kubernetes", "log in", "folder archive", "passkey", "download", "night", "pods again"])


@settings(max_examples=examples(25))
@given(query=TEXTS, synonyms=st.lists(st.lists(TEXTS, min_size=2, max_size=4, unique=True), max_size=3), pin=TEXTS)
async def test_own_words_change_only_searches_of_their_site(query: str, synonyms: list[list[str]], pin: str) -> None:
    """Without own words nothing changes, and with them no page of another site comes."""
    stores, plain = await stores_with(synonyms, {pin: INSTALL}), await stores_with((), {})
    assert (await ask(stores, query))["results"] == (await ask(plain, query))["results"]
    mine = await ask(stores, query, key=await site_key(stores))
    others = await ask(plain, query, key=await site_key(plain))
    assert all(url.startswith(f"https://{DOCS}/") for url in urls(mine))
    uses = any(query in group or set(query.split()) & set(" ".join(group).split()) for group in synonyms)
    if not uses and pin != query:
        assert mine["results"] == others["results"]
    if pin == query:
        assert urls(mine)[0] == INSTALL


async def test_the_owner_reads_and_replaces_them_over_http() -> None:
    stores = await stores_with((), {})
    await stores.api_keys.put_site(Site("other", "Other", (OTHER,)), 1)
    key, reader, foreign = [
        await site_key(stores, **facts)
        for facts in ({"number": 1}, {"number": 2, "scopes": ("search",)}, {"number": 3, "site": "other"})
    ]
    body = {"synonyms": [["K8s", "Kubernetes", "k8s"]], "pinned": {"How to  INSTALL?": "https://docs.example/install"}}
    stored = {"synonyms": [["k8s", "kubernetes"]], "pinned": {"how to install": INSTALL}}
    async with client(gateway(stores, writes=Sent())) as web:
        put = await web.put(WORDS, json=body, headers=key)
        assert (put.status_code, put.json()) == (200, stored)
        assert (await web.get(WORDS, headers=key)).json() == stored
        for given, status in ((reader, 403), (foreign, 404), ({}, 401)):
            assert (await web.get(WORDS, headers=given)).status_code == status
            assert (await web.put(WORDS, json=body, headers=given)).status_code == status
        assert (await web.put("/api/v1/sites/other/words", json=body, headers=key)).status_code == 404
    (site,) = [each for each in await stores.api_keys.sites() if each.name == "docs"]
    assert (site.hosts, site.title) == ((DOCS,), "Documentation"), "the rest of the site stays"


BAD = [
    {"synonyms": [["alone"]]},
    {"synonyms": [["same", "Same"]]},
    {"synonyms": [["", "x"]]},
    {"synonyms": [["!!", "x"]]},
    {"synonyms": [["a b c d e", "x"]]},
    {"synonyms": [["x" * 61, "y"]]},
    {"synonyms": [[f"w{n}" for n in range(11)]]},
    {"synonyms": [[f"a{n}", f"b{n}"] for n in range(MAX_GROUPS + 1)]},
    {"pinned": {"": INSTALL}},
    {"pinned": {"x" * 201: INSTALL}},
    {"pinned": {"x": "not an address"}},
    {"pinned": {"x": FOREIGN}},
    {"pinned": {"x": "https://evildocs.example/"}},
    {"pinned": {"x": "javascript:alert(1)"}},
    {"pinned": {f"q{n}": INSTALL for n in range(MAX_PINNED + 1)}},
    {"synonyms": "k8s"},
    {"other": 1},
]


@pytest.mark.parametrize("body", BAD)
async def test_words_out_of_bounds_are_refused(body: dict[str, Any]) -> None:
    stores = await stores_with()
    before = await stores.api_keys.sites()
    async with client(gateway(stores, writes=Sent())) as web:
        answer = await web.put(WORDS, json=body, headers=await site_key(stores))
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (400, "invalid-body"), answer.text
    assert await stores.api_keys.sites() == before


def test_a_query_is_compared_without_case_space_and_signs() -> None:
    assert normalize(" How  to INSTALL? ") == normalize("how to install")
    assert normalize("C++") != normalize("C")
    assert normalize("🙂") == "🙂"
    with pytest.raises(UsageError):
        checked(SITE, (), [("   ", INSTALL)])
