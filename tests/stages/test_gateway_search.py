"""Searches through the whole gateway, over memory stores: the results, and the answer when a part is missing."""

import asyncio
import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas import Event, QueryMade
from schemas.ids import page_id
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import ModelInfo, TextRole, Vectors
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from tests.sizes import examples
from tests.stages.gateway_fakes import Dead, Hanging, client, gateway, searchable, statement

WAL = "https://sqlite.org/wal.html"
RIVER = "https://rivers.example/riffle"
STATEMENTS = [
    statement(WAL, "The write-ahead log holds changes.", title="Write-Ahead Logging", context=["Overview"]),
    statement(
        WAL, "A checkpoint moves the log into the database.", title="Write-Ahead Logging", context=["Checkpoints"]
    ),
    statement(RIVER, "A riffle is a shallow stretch of a river.", title="Riffle"),
    statement("https://fluesse.example/", "Ein Fluss fließt über Steine.", title="Fluss", language="de"),
]

PUBLISHED = {"publish_queries": True}


@pytest.fixture
async def stores() -> Stores:
    return await searchable(STATEMENTS)


async def ask(
    stores: Stores,
    sent: list[Event] | None = None,
    deadline_seconds: float = 2.0,
    languages: tuple[str, ...] = (),
    limits: dict[str, Any] | None = None,
    **query: Any,
) -> Any:
    app = gateway(stores, deadline_seconds=deadline_seconds, sent=sent, languages=languages, limits=limits)
    async with client(app) as web:
        response = await web.get("/api/v1/search", params=query)
    await app.state.gateway.search.drain()
    return response


async def test_an_index_of_another_model_is_searched_by_words_alone(stores: Stores) -> None:
    # `riffle reindex` has switched the index: vectors of the former model would give wrong results, silently.
    other = await stores.vectors.ensure(ModelInfo("mpnet", "1", 8))
    await stores.vectors.activate(other)
    answer = (await ask(stores, q="write-ahead log")).json()
    assert answer["partial"] is True
    assert "mpnet" in answer["reasons"][0]["detail"]
    assert "in its model repository" in answer["reasons"][0]["detail"]


async def test_another_version_of_the_same_model_is_searched(stores: Stores) -> None:
    model = await stores.embedder.info()
    other = await stores.vectors.ensure(ModelInfo(model.name, "on-another-runtime", model.dimensions))
    await stores.vectors.activate(other)
    assert (await ask(stores, q="write-ahead log")).json()["partial"] is False


async def test_statements_are_found_grouped_by_page_with_their_context(stores: Stores) -> None:
    answer = (await ask(stores, q="write-ahead log")).json()
    best = answer["results"][0]
    assert best["url"] == WAL
    assert best["title"] == "Write-Ahead Logging"
    assert best["breadcrumbs"] == ["sqlite.org", "wal.html"]
    assert [each["text"] for each in best["statements"]] == [each["text"] for each in STATEMENTS[:2]]
    assert best["statements"][0]["context"] == ["Overview"]
    text, marked = best["statements"][0]["text"], best["statements"][0]["highlights"]
    assert [text[start:end] for start, end in marked] == ["write", "ahead", "log"]
    assert answer["partial"] is False
    assert "explain" not in answer
    assert best["score"] >= best["statements"][0]["score"] > best["statements"][1]["score"] >= 0


FILTERS = [
    ({"host": "RIVERS.example"}, {RIVER}),
    ({"language": "de"}, {"https://fluesse.example/"}),
    ({"host": "sqlite.org", "language": "de"}, set()),
]


@pytest.mark.parametrize(("filters", "urls"), FILTERS)
async def test_filters(stores: Stores, filters: dict[str, Any], urls: set[str]) -> None:
    answer = (await ask(stores, q="river log fluss", **filters)).json()
    assert {result["url"] for result in answer["results"]} == urls


GERMAN = "https://fluesse.example/"
UNKNOWN = "https://numbers.example/"
LANGUAGES = [
    # the operator's languages, the parameters, the results, the languages in the answer
    ((), {}, {WAL, RIVER, GERMAN, UNKNOWN}, []),
    (("en",), {}, {WAL, RIVER}, ["en"]),
    (("en", "de"), {}, {WAL, RIVER, GERMAN}, ["en", "de"]),
    (("de", "und"), {}, {GERMAN, UNKNOWN}, ["de", "und"]),
    (("en",), {"language": "de"}, {GERMAN}, ["de"]),
    (("en",), {"language": "und"}, {UNKNOWN}, ["und"]),
    (("en",), {"language": "*"}, {WAL, RIVER, GERMAN, UNKNOWN}, []),
    (("en",), {"language": "*", "host": "fluesse.example"}, {GERMAN}, []),
    (("en",), {"host": "fluesse.example"}, set(), ["en"]),
]


@pytest.mark.parametrize(("operator", "parameters", "urls", "searched"), LANGUAGES)
async def test_the_operator_chooses_the_languages_of_requests_that_name_none(
    operator: tuple[str, ...], parameters: dict[str, Any], urls: set[str], searched: list[str]
) -> None:
    stores = await searchable([*STATEMENTS, statement(UNKNOWN, "1 2 3 log", language="")])
    answer = (await ask(stores, languages=operator, q="river log fluss", **parameters)).json()
    assert {result["url"] for result in answer["results"]} == urls
    assert answer["languages"] == searched


async def test_pages_of_results_are_disjoint_and_complete(stores: Stores) -> None:
    seen = []
    for page in (1, 2, 3):
        answer = (await ask(stores, q="log riffle fluss", page=page, per_page=1)).json()
        seen += [result["url"] for result in answer["results"]]
        assert answer["has_next"] is (page < 3)
    assert len(seen) == len(set(seen)) == 3


async def test_explain_gives_timings_model_and_the_state_of_each_part(stores: Stores) -> None:
    answer = (await ask(stores, q="log", explain="true")).json()
    explained = answer["explain"]
    assert explained["parts"] == {"sparse": "ok", "dense": "ok", "index": "ok"}
    parts = ("terms", "embed", "retrieve", "rank", "sentences", "similar")
    assert set(explained["timings_ms"]) == {f"{part}_ms" for part in parts}
    assert (explained["model"], explained["fusion"]) == ("feature-hashing/1", "scores")
    assert 0 < explained["meaning_weight"] < 1


async def test_the_query_is_published_without_anything_about_the_person(stores: Stores) -> None:
    sent: list[Event] = []
    answer = (await ask(stores, sent=sent, limits=PUBLISHED, q=" Write-Ahead  log")).json()
    assert len(sent) == 1
    event = sent[0]
    assert isinstance(event, QueryMade)
    assert event.results == tuple(UUID(result["page_id"]) for result in answer["results"])
    assert event.results[0] == page_id(WAL)


async def test_kafka_being_down_costs_no_answer(stores: Stores) -> None:
    async def refuse(event: Event, cause: str | None = None) -> None:
        raise ConnectionError("no broker")

    app = gateway(stores, publish=refuse, limits=PUBLISHED)
    async with client(app) as web:
        assert (await web.get("/api/v1/search", params={"q": "log"})).status_code == 200
        await app.state.gateway.search.drain()
        assert "riffle_gateway_events_unpublished_total 1.0" in (await web.get("/metrics")).text


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_without_the_embedder_words_are_searched(stores: Stores, broken: Any) -> None:
    stores.embedder = broken
    response = await ask(stores, deadline_seconds=2.0, q="log", explain=1)
    answer = response.json()
    assert response.status_code == 200
    assert answer["partial"] is True
    assert [reason["part"] for reason in answer["reasons"]] == ["dense"]
    assert answer["explain"]["parts"] == {"sparse": "ok", "dense": "failed", "index": "ok"}
    assert [result["url"] for result in answer["results"]] == [WAL]


async def test_a_query_without_terms_is_searched_by_meaning(stores: Stores) -> None:
    answer = (await ask(stores, q="🌊", explain=1)).json()
    assert answer["explain"]["parts"] == {"sparse": "empty", "dense": "ok", "index": "ok"}
    assert answer["partial"] is False


async def test_without_embedder_and_terms_nothing_can_be_searched(stores: Stores) -> None:
    stores.embedder = Dead()
    response = await ask(stores, q="🌊")
    assert response.status_code == 503
    assert response.json()["type"] == "urn:riffle:problem:search-unavailable"


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_without_the_index_search_is_unavailable(stores: Stores, broken: Any) -> None:
    stores.vectors = broken
    response = await ask(stores, deadline_seconds=0.2, q="log")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "urn:riffle:problem:search-unavailable"


async def test_vectors_of_another_model_leave_the_words(stores: Stores) -> None:
    class Newer(MemoryEmbedder):
        async def embed(self, texts: Any, role: Any, **options: Any) -> Vectors:
            return (await super().embed(texts, role))[:, :8]

    stores.embedder = Newer()
    answer = (await ask(stores, q="log")).json()
    assert answer["partial"] is True
    assert [result["url"] for result in answer["results"]] == [WAL]


class Counting(MemoryEmbedder):
    """An embedder that records its texts. `model` may be exchanged, and `down` makes it fail."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.model = ModelInfo("feature-hashing", "1", 64)
        self.down = False

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        if self.down:
            self.texts.append("failed")
            return await Dead().info()  # type: ignore[no-any-return]  # it raises
        return self.model

    async def embed(self, texts: Any, role: Any, **options: Any) -> Vectors:
        self.texts += texts
        return await super().embed(texts, role)


async def test_a_query_is_embedded_once_and_again_for_another_model(stores: Stores) -> None:
    stores.embedder = embedder = Counting()
    async with client(gateway(stores)) as web:
        for query in ("log", " log ", "LOG", "log"):
            await web.get("/api/v1/search", params={"q": query})
        assert embedder.texts == ["log", "LOG"]
        embedder.model = ModelInfo("feature-hashing", "2", 64)
        for query in ("river", "log"):
            await web.get("/api/v1/search", params={"q": query})
    assert embedder.texts == ["log", "LOG", "river", "log"]


async def test_an_embedder_that_failed_three_times_is_not_asked_for_a_while(stores: Stores) -> None:
    stores.embedder = embedder = Counting()
    embedder.down = True
    async with client(gateway(stores)) as web:
        for number in range(6):
            answer = (await web.get("/api/v1/search", params={"q": f"log {number}"})).json()
            assert answer["partial"] is True
    assert embedder.texts == ["failed"] * 4, "three queries, and the look whether it is the model of the index"


async def test_an_empty_index_finds_nothing(stores: Stores) -> None:
    stores.vectors = MemoryIndex()
    answer = (await ask(stores, q="log")).json()
    assert (answer["results"], answer["has_next"], answer["partial"]) == ([], False, False)


REFUSED = [
    # parameters, status, kind, at fault
    ({}, 400, "query-empty", "q"),
    ({"q": "\x00"}, 400, "query-not-text", "q"),
    ({"q": "x" * 2_001}, 400, "query-too-long", "q"),
    ({"q": "a", "page": "x"}, 400, "invalid-parameter", "page"),
    ({"q": "a", "page": "0"}, 400, "invalid-parameter", "page"),
    ({"q": "a", "page": "100"}, 400, "invalid-parameter", "page"),
    ({"q": "a", "per_page": "9" * 400}, 400, "invalid-parameter", "per_page"),
    ({"q": "a", "host": "a/b"}, 400, "invalid-parameter", "host"),
    ({"q": "a", "language": "-"}, 400, "invalid-parameter", "language"),
    ({"q": "a", "explain": "perhaps"}, 400, "invalid-parameter", "explain"),
]


@pytest.mark.parametrize(("parameters", "status", "kind", "at_fault"), REFUSED)
async def test_a_wrong_request_is_answered_with_a_problem(
    stores: Stores, parameters: dict[str, Any], status: int, kind: str, at_fault: str
) -> None:
    response = await ask(stores, **parameters)
    problem = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, problem["status"]) == (status, status)
    assert problem["type"] == f"urn:riffle:problem:{kind}"
    assert (problem["parameter"], problem["instance"]) == (at_fault, "/api/v1/search")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None)
@given(
    raw=st.lists(
        st.tuples(st.sampled_from(["q", "page", "per_page", "host", "language", "explain"]), st.binary(max_size=30))
    )
)
def test_no_query_string_breaks_anything(raw: list[tuple[str, bytes]]) -> None:
    """Any bytes at all, percent-encoded: never a 5xx, on the API or on the page."""

    async def statuses() -> list[int]:
        query = "&".join(f"{name}=" + "".join(f"%{byte:02x}" for byte in value) for name, value in raw)
        async with client(gateway(await searchable(STATEMENTS))) as web:
            return [(await web.get(f"{path}?{query}")).status_code for path in ("/api/v1/search", "/search")]

    for status in asyncio.run(statuses()):
        assert status < 500


MIRRORS = [f"https://sqlite{number:02}.example/wal.html?from=<i>{number}" for number in range(12)]


async def make_duplicates(stores: Stores, copies: list[str]) -> None:
    """Make the page on write-ahead logging the representative of these."""
    for url in (WAL, *copies):
        await stores.fingerprints.put(Fingerprint(page_id(url), "same", 1, url, 1), 1)
        await stores.fingerprints.set_representative(page_id(url), page_id(WAL), 1)


async def test_a_result_lists_its_duplicates(stores: Stores) -> None:
    await make_duplicates(stores, MIRRORS[:3])
    results = {each["url"]: each for each in (await ask(stores, q="log river")).json()["results"]}
    pages = [{"page_id": str(page_id(url)), "url": url} for url in MIRRORS[:3]]
    assert results[WAL]["similar"] == {"count": 3, "more": False, "pages": pages}
    assert "similar" not in results[RIVER]


async def test_of_many_similar_pages_ten_are_given(stores: Stores) -> None:
    await make_duplicates(stores, MIRRORS)
    similar = (await ask(stores, q="log", host="sqlite.org")).json()["results"][0]["similar"]
    assert (similar["count"], similar["more"], len(similar["pages"])) == (10, True, 10)


@pytest.mark.parametrize("broken", [Dead(), Hanging()], ids=["dead", "hanging"])
async def test_similar_pages_that_are_not_known_cost_no_results(stores: Stores, broken: Any) -> None:
    stores.fingerprints = broken
    answer = (await ask(stores, q="log")).json()
    assert answer["results"][0]["url"] == WAL
    assert answer["partial"] is True
    assert [reason["part"] for reason in answer["reasons"]] == ["similar"]
    assert "similar" not in answer["results"][0]


async def test_a_sentence_that_stands_before_the_first_one_is_shown_once() -> None:
    first = statement("https://a.example/", "The pump runs at night.", title="Pumps")
    second = statement(
        "https://a.example/", "It is loud then, and the pump shakes.", context=("The pump runs at night.",)
    )
    app = gateway(await searchable([first, second | {"title": "Pumps"}]), deadline_seconds=20.0)
    async with client(app) as web:
        page = (await web.get("/search", params={"q": "loud pump shakes"}, headers={"accept": "text/html"})).text
    assert 'class="before">The pump runs at night.</span>' in page
    assert len(re.findall("runs at night", page)) == 1
