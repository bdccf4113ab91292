"""The gateway answers as SearXNG, Tavily, Open WebUI and OpenAI do: the form of each, and Riffle's rules in it.

The programs themselves are tried by tests/stages/test_use_riffle_from.py.
"""

import base64
from typing import Any

import httpx2
import numpy as np
import pytest

from schemas.ids import page_id
from streams.gateway.compatible.loading import MAX_PAGES
from streams.gateway.compatible.openai import MAX_TEXTS
from streams.gateway.search import spelling
from streams.settings import AccessSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Site
from tests.stages.gateway_fakes import Dead, client, gateway, statement
from tests.stages.test_gateway_access import new_key
from tests.stages.test_gateway_content import TEXTS, URL, filled

KEPT = "https://kept.example/"
DATED = "https://dated.example/"


async def stores_of(*others: dict[str, Any]) -> Stores:
    """Stores with the page of seven statements, one that is kept from models, and one with a date and an antecedent."""
    dated = statement(DATED, "It holds the log of 2024.", title="Dated", context=["Archive", "The archive is a hall."])
    dated |= {"published": "2024-05-06", "published_day": 19849}
    made = await filled(statement(KEPT, "A secret log that no model reads."), dated, *others)
    for url, directives in ((KEPT, ["noai"]), (DATED, [])):
        row = {"url": url, "generation": 1, "directives": directives}
        await made.pages.put(page_id(url), Normalized.of_row(row), 1)
    return made


@pytest.fixture
async def stores() -> Stores:
    return await stores_of()


async def ask(web: httpx2.AsyncClient, path: str, **sent: Any) -> Any:
    answer = await web.post(path, json=sent)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


# SearXNG


async def test_searxng_has_the_fields_that_its_programs_read(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        asked = {"q": "the log", "format": "json"}
        answers = [
            await web.get("/searxng/search", params={**asked, "engines": "google"}),
            await web.post("/searxng/search", params=asked, headers={"Accept": "application/json"}),
            await web.get("/searxng", params={"q": "the log", "format": "json", "safesearch": "1", "theme": "simple"}),
            await web.post("/searxng/", data={"q": "the log", "format": "json", "language": "all"}),
        ]
    found = answers[0].json()
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.headers["cache-control"] for answer in answers] == ["no-store"] * 4
    urls = [sorted(each["url"] for each in answer.json()["results"]) for answer in answers]
    assert urls == [urls[0]] * 4
    assert set(found) == {
        "query", "number_of_results", "results", "answers", "corrections", "infoboxes", "suggestions",
        "unresponsive_engines",
    }  # fmt: skip
    assert found["number_of_results"] == len(found["results"]) == 4
    result = next(each for each in found["results"] if each["url"] == DATED)
    assert (result["title"], result["engines"], result["category"]) == ("Dated", ["riffle"], "general")
    assert (result["publishedDate"], result["parsed_url"][:3]) == (
        "2024-05-06T00:00:00",
        ["https", "dated.example", "/"],
    )
    assert result["content"] == "The archive is a hall. It holds the log of 2024.", "with the sentence that `It` needs"


SEARXNG = [
    # what is asked beside `q`, the hosts that are found
    ({"pageno": "2"}, []),
    # So SearXNG's own `json_engine` asks for its first page.
    ({"pageno": ""}, ["dated.example", "docs.example", "kept.example", "other.example"]),
    ({"language": "de"}, []),
    ({"language": "en-US"}, ["dated.example", "docs.example", "kept.example", "other.example"]),
    ({"language": "auto"}, ["dated.example", "docs.example", "kept.example", "other.example"]),
    ({"time_range": "month"}, []),
    ({"q": "the log site:docs.example"}, ["docs.example"]),
    ({"categories": "images"}, []),
    ({"categories": "images,general"}, ["dated.example", "docs.example", "kept.example", "other.example"]),
]


@pytest.mark.parametrize(("asked", "hosts"), SEARXNG, ids=[str(asked) for asked, _ in SEARXNG])
async def test_parameters_of_searxng(stores: Stores, asked: dict[str, str], hosts: list[str]) -> None:
    async with client(gateway(stores)) as web:
        answer = await web.get("/searxng/search", params={"q": "the log", "format": "json", **asked})
    found = answer.json()
    assert sorted(each["parsed_url"][1] for each in found["results"]) == hosts
    assert bool(found["unresponsive_engines"]) is (asked == {"categories": "images"})


WRONG_SEARXNG = [
    # parameters, status, what the error says
    ({"format": "json"}, 400, "No query was given"),
    ({"q": "log"}, 403, "format=json"),
    ({"q": "log", "format": "rss"}, 403, "format=json"),
    ({"q": "log", "format": "json", "time_range": "decade"}, 400, "time_range"),
    ({"q": "log", "format": "json", "pageno": "none"}, 400, "pageno"),
    ({"q": "log", "format": "json", "pageno": "0"}, 400, "pageno"),
    ({"q": "log", "format": "json", "language": "no language"}, 400, "language"),
]


@pytest.mark.parametrize(("asked", "status", "says"), WRONG_SEARXNG)
async def test_a_wrong_request_gets_searxngs_error(
    stores: Stores, asked: dict[str, str], status: int, says: str
) -> None:
    async with client(gateway(stores)) as web:
        answer = await web.get("/searxng/search", params=asked, headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert says in answer.json()["error"]


async def test_a_calculation_is_an_answer(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        found = (await web.get("/searxng/search", params={"q": "15% of 80", "format": "json"})).json()
        answer = (await ask(web, "/tavily/search", query="15% of 80", include_answer=True))["answer"]
        without = (await ask(web, "/tavily/search", query="15% of 80"))["answer"]
    assert [each["answer"] for each in found["answers"]] == ["12"]
    assert (answer, without) == ("12", None)


async def test_a_corrected_query_is_in_corrections(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "CORRECTING_SECONDS", 20.0)
    app = gateway(stores, deadline_seconds=20.0, limits={"spelling": True})
    app.state.gateway.search.spelling.load()
    async with client(app) as web:
        found = (await web.get("/searxng/search", params={"q": "statemnt about the log", "format": "json"})).json()
    assert found["corrections"] == ["statement about the log"]
    assert found["results"]


async def test_a_part_that_fails_is_named(stores: Stores) -> None:
    stores.embedder = Dead()
    async with client(gateway(stores)) as web:
        found = (await web.get("/searxng/search", params={"q": "the log", "format": "json"})).json()
    assert [name for name, _ in found["unresponsive_engines"]] == ["riffle dense"]
    assert found["results"]


# What holds for every form


FORMS = [
    # path, what is sent, the list of results, the names of address and text
    ("/tavily/search", {"query": "log", "max_results": 10}, "results", "url", "content"),
    ("/openwebui/search", {"query": "log", "count": 10}, "", "link", "snippet"),
]


@pytest.mark.parametrize(("path", "sent", "at", "address", "text"), FORMS)
async def test_a_page_that_is_kept_from_models_has_no_text(
    stores: Stores, path: str, sent: dict[str, Any], at: str, address: str, text: str
) -> None:
    async with client(gateway(stores)) as web:
        found = await ask(web, path, **sent)
        searxng = (await web.get("/searxng/search", params={"q": "log", "format": "json"})).json()["results"]
    texts = {each[address]: each[text] for each in (found[at] if at else found)}
    assert texts[KEPT] == ""
    assert texts[DATED]
    assert {each["url"]: each["content"] for each in searxng}[KEPT] == ""


NONSENSE = "zzqy xkvw"


async def test_what_is_only_near_is_no_result(stores: Stores) -> None:
    """No other form can say that nothing was found and that these are only the nearest pages."""
    async with client(gateway(stores, deadline_seconds=20.0, limits={"min_confidence": 0.9})) as web:
        near = (await web.get("/api/v1/search", params={"q": NONSENSE})).json()
        searxng = (await web.get("/searxng/search", params={"q": NONSENSE, "format": "json"})).json()
        tavily = await ask(web, "/tavily/search", query=NONSENSE)
        open_webui = await ask(web, "/openwebui/search", query=NONSENSE, count=3)
    assert near["nearest_only"]
    assert (searxng["results"], searxng["number_of_results"], tavily["results"], open_webui) == ([], 0, [], [])


ASKED: list[tuple[str, str, dict[str, Any]]] = [
    # method, path, what is sent
    ("GET", "/searxng/search?q=log&format=json", {}),
    ("POST", "/tavily/search", {"query": "log"}),
    ("POST", "/tavily/extract", {"urls": URL}),
    ("POST", "/openwebui/search", {"query": "log"}),
    ("POST", "/openwebui/load", {"urls": [URL]}),
    ("POST", "/v1/embeddings", {"input": "log", "model": "feature-hashing"}),
    ("GET", "/v1/models", {}),
]


def error_of(path: str, answer: httpx2.Response) -> str:
    """The sentence of an error, where the program of this path reads it."""
    sent = answer.json()
    match path.split("/")[1]:
        case "searxng":
            return str(sent["error"])
        case "tavily":
            return str(sent["detail"]["error"])
        case "openwebui":
            return str(sent["detail"])
    return str(sent["error"]["message"])


@pytest.mark.parametrize(("method", "path", "sent"), ASKED, ids=[path for _, path, _ in ASKED])
async def test_keys_budgets_and_errors_are_those_of_the_api(
    stores: Stores, method: str, path: str, sent: dict[str, Any]
) -> None:
    header, none = await new_key(stores, per_minute=1), await new_key(stores, scopes=("answer",))
    async with client(gateway(stores, access=AccessSettings(anonymous=False))) as web:
        given = sent if method == "POST" else None
        nobody, wrong, other, answered, spent = [
            await web.request(method, path, headers={"Accept": "text/html", **headers}, json=given)
            for headers in ({}, {"Authorization": "Bearer tvly-x"}, none, header, header)
        ]
        foreign = await web.request(method, path, headers={"Host": "evil.example", **header}, json=given)
        named = {"X-API-Key": none["Authorization"].split()[1]}
        by_name = await web.request(method, path, headers=named, json=given)
    assert answered.status_code == 200, answered.text
    assert answered.headers["RateLimit"]
    refused = (
        (by_name, 403, "scope"),
        (nobody, 401, "key"),
        (wrong, 401, "form of a key"),
        (other, 403, "scope"),
        (spent, 429, "budget"),
    )
    for answer, status, says in (*refused, (foreign, 403, "another name")):
        assert answer.status_code == status
        assert says in error_of(path, answer)
    assert "evil.example" not in str(foreign.headers)
    assert spent.headers["Retry-After"]


@pytest.mark.parametrize("path", ["/searxng/search?q=log&format=json", "/tavily/search", "/openwebui/search"])
async def test_the_pages_of_a_private_site_are_found_by_its_keys_only(path: str) -> None:
    made = await stores_of(statement("https://private.example/", "The log of a private site."))
    await made.api_keys.put_site(Site("own", "Own", ("private.example",), is_private=True), 1)
    key = await new_key(made, site="own", scopes=("search", "pages"))
    sent = {"query": "log"}
    async with client(gateway(made, access=AccessSettings(private_sites=True))) as web:
        answers = [
            await (web.get(path, headers=headers) if "?" in path else web.post(path, json=sent, headers=headers))
            for headers in ({}, key)
        ]
        load = await web.post("/openwebui/load", json={"urls": ["https://private.example/"]})
    assert ["private.example" in answer.text for answer in answers] == [False, True]
    assert load.json() == []


WRONG_BODIES = [
    # what is sent, status, what the error says
    (b"not json", 400, "JSON"),
    (b"[]", 400, "The body"),
    (b'{"query": "log", "max_results": 1000, "count": 1000}', 400, "less than or equal"),
    (b'{"query": "  "}', 400, "No query"),
    (b'{"query": "\\ud800"}', 400, "The body"),
    (b'{"query": "' + b"x" * 200_000 + b'"}', 413, "too large"),
]


@pytest.mark.parametrize("path", ["/tavily/search", "/openwebui/search"])
@pytest.mark.parametrize(("body", "status", "says"), WRONG_BODIES, ids=[says for _, _, says in WRONG_BODIES])
async def test_a_wrong_body_is_refused_in_words(stores: Stores, path: str, body: bytes, status: int, says: str) -> None:
    async with client(gateway(stores)) as web:
        answer = await web.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert says in error_of(path, answer)
    assert "pydantic" not in answer.text


# Tavily


async def test_tavily_has_the_fields_that_its_clients_read(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        found = await ask(
            web, "/tavily/search", query="the log", max_results=3, search_depth="advanced", include_images=True,
            topic="general", include_raw_content="markdown", country="germany",
        )  # fmt: skip
    assert (found["query"], found["images"], found["follow_up_questions"]) == ("the log", [], None)
    assert found["request_id"]
    assert found["response_time"] >= 0
    scores = [each["score"] for each in found["results"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert (scores[0], min(scores) >= 0) == (1.0, True)
    raw = {each["url"]: each["raw_content"] for each in found["results"]}
    assert raw[URL] == "\n\n".join(TEXTS)


TAVILY = [
    # parameters, the hosts that are found
    ({"include_domains": ["docs.example"]}, ["docs.example"]),
    ({"include_domains": ["docs.example"], "include_domains_mode": "prefer"}, 4),
    ({"exclude_domains": ["docs.example", "kept.example"]}, ["dated.example", "other.example"]),
    ({"start_date": "2024-01-01", "end_date": "2024-12-31"}, ["dated.example"]),
    ({"start_date": "2025-01-01"}, []),
    ({"time_range": "w"}, []),
    ({"language": "de", "filter_by_language": True}, []),
    ({"language": "de"}, 4),
    ({"max_results": 0}, []),
    ({"max_results": 2}, 2),
]


@pytest.mark.parametrize(("asked", "hosts"), TAVILY, ids=[str(asked) for asked, _ in TAVILY])
async def test_parameters_of_tavily(stores: Stores, asked: dict[str, Any], hosts: list[str] | int) -> None:
    async with client(gateway(stores)) as web:
        found = await ask(web, "/tavily/search", query="the log", **asked)
    shown = sorted(httpx2.URL(each["url"]).host for each in found["results"])
    assert (len(shown) if isinstance(hosts, int) else shown) == hosts


async def test_tavily_extracts_pages_and_says_which_it_has_not(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        found = await ask(web, "/tavily/extract", urls=[URL, "https://unknown.example/", "ftp://x", KEPT, URL])
        one = await ask(web, "/tavily/extract", urls=URL)
        many = await web.post(
            "/tavily/extract", json={"urls": [f"https://a.example/{n}" for n in range(MAX_PAGES + 1)]}
        )
    assert [each["url"] for each in found["results"]] == [each["url"] for each in one["results"]] == [URL]
    assert found["results"][0]["raw_content"] == "\n\n".join(TEXTS)
    failures = {each["url"]: each["error"] for each in found["failed_results"]}
    assert list(failures) == ["https://unknown.example/", "ftp://x", KEPT]
    assert "never seen this page" in failures["https://unknown.example/"]
    assert "not the address of a web page" in failures["ftp://x"]
    assert (many.status_code, "at most 20" in error_of("/tavily", many)) == (400, True)


@pytest.mark.parametrize(("directive", "fails"), [("noai", "noai"), ("nosnippet", "nosnippet"), ("max-snippet:20", "")])
async def test_an_extraction_has_what_the_publisher_lets_models_have(directive: str, fails: str) -> None:
    async with client(gateway(await filled(directives=[directive]))) as web:
        found = await ask(web, "/tavily/extract", urls=URL)
        loaded = await ask(web, "/openwebui/load", urls=[URL])
    if fails:
        assert (found["results"], loaded) == ([], [])
        assert fails in found["failed_results"][0]["error"].lower()
    else:
        assert len(found["results"][0]["raw_content"]) <= 20
        assert loaded[0]["page_content"] == found["results"][0]["raw_content"]


async def test_each_page_of_an_extraction_costs_what_a_page_costs(stores: Stores) -> None:
    header = await new_key(stores, per_minute=60)
    async with client(gateway(stores)) as web:
        web.headers.update(header)
        before = (await web.get("/v1/models")).headers["RateLimit"]
        await ask(web, "/openwebui/load", urls=[URL, KEPT, DATED])
        after = (await web.get("/v1/models")).headers["RateLimit"]
    left = [int(each.split("r=")[1].split(";")[0]) for each in (before, after)]
    assert left[0] - left[1] == 3 + 1, "three pages, and the request that asks for what is left"


# Open WebUI


async def test_open_webui_gets_links_and_pages(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        found = await ask(web, "/openwebui/search", query="the log", count=2)
        pages = await ask(web, "/openwebui/load", urls=[URL, "https://unknown.example/"])
    assert len(found) == 2
    assert all(set(each) == {"link", "title", "snippet"} for each in found)
    assert pages == [
        {"page_content": "\n\n".join(TEXTS), "metadata": {"source": URL, "title": "Logs", "language": "en"}}
    ]


# OpenAI


async def test_embeddings_are_those_of_the_index(stores: Stores) -> None:
    texts = ["the log", "another text"]
    async with client(gateway(stores)) as web:
        names = [each["id"] for each in (await web.get("/v1/models")).json()["data"]]
        floats = await ask(web, "/v1/embeddings", input=texts, model=names[0], user="me")
        coded = await ask(web, "/v1/embeddings", input=texts, model=names[1], encoding_format="base64")
    own = await stores.embedder.embed(texts, "passage")
    got = np.array([each["embedding"] for each in floats["data"]], dtype=np.float32)
    decoded = np.array([np.frombuffer(base64.b64decode(each["embedding"]), dtype="<f4") for each in coded["data"]])
    assert names[1] == f"{names[0]}-query"
    assert np.allclose(got, own, atol=1e-6)
    assert np.array_equal(decoded, await stores.embedder.embed(texts, "query"))
    assert [each["index"] for each in floats["data"]] == [0, 1]
    assert (floats["object"], floats["model"], floats["usage"]["prompt_tokens"]) == ("list", names[0], 4)


WRONG_EMBEDDINGS = [
    # what is sent, status, code, what the error says
    ({"input": "x", "model": "text-embedding-3-small"}, 404, "no-model", "There is no model text-embedding-3-small"),
    ({"input": "x", "dimensions": 7}, 400, "invalid-parameter", "dimensions"),
    ({"input": [1, 2]}, 400, "invalid-parameter", "check_embedding_ctx_length"),
    ({"input": [[1, 2]]}, 400, "invalid-parameter", "check_embedding_ctx_length"),
    ({"input": []}, 400, "invalid-parameter", "0 texts"),
    ({"input": ["x"] * (MAX_TEXTS + 1)}, 400, "invalid-parameter", "257 texts"),
    ({"input": ["x", " "]}, 400, "invalid-parameter", "empty text"),
    ({"input": "x" * 20_001}, 400, "invalid-parameter", "20,001 characters"),
    ({"input": "x", "encoding_format": "int8"}, 400, "invalid-parameter", "encoding_format"),
]


@pytest.mark.parametrize(("sent", "status", "code", "says"), WRONG_EMBEDDINGS)
async def test_a_wrong_request_for_embeddings_gets_openais_error(
    stores: Stores, sent: dict[str, Any], status: int, code: str, says: str
) -> None:
    async with client(gateway(stores)) as web:
        [name, _] = [each["id"] for each in (await web.get("/v1/models")).json()["data"]]
        answer = await web.post("/v1/embeddings", json={"model": name, **sent})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, code, "invalid_request_error")
    assert says in error["message"]


async def test_without_a_model_embeddings_say_when_to_ask_again(stores: Stores) -> None:
    stores.embedder = Dead()
    async with client(gateway(stores)) as web:
        answers = [await web.get("/v1/models"), await web.post("/v1/embeddings", json={"input": "x", "model": "x"})]
    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "server_error")
        assert answer.headers["retry-after"]


async def test_many_texts_cost_more_than_one(stores: Stores) -> None:
    header = await new_key(stores, per_minute=60)
    async with client(gateway(stores)) as web:
        web.headers.update(header)
        name = (await web.get("/v1/models")).json()["data"][0]["id"]
        left = []
        for texts in (["x"], ["x"] * 25, ["x"]):
            answer = await web.post("/v1/embeddings", json={"input": texts, "model": name})
            left.append(int(answer.headers["RateLimit"].split("r=")[1].split(";")[0]))
    assert [left[0] - left[1], left[1] - left[2]] == [1, 3]
