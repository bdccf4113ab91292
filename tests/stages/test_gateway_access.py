"""Keys, scopes, budgets and sites at the gateway, as its clients see them."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
import uvicorn

from schemas.ids import page_id
from streams.gateway.access.clients import make_key
from streams.gateway.serve import listen, server_config
from streams.settings import AccessSettings, GatewaySettings
from streams.stores.opener import Stores
from streams.stores.page_record import Deduplicated, Normalized
from streams.stores.protocols import ApiKey, PageLink, Site
from tests.stages.gateway_fakes import Dead, client, gateway, searchable, statement

ASK = "/api/v1/search?q=log"


@pytest.fixture
async def stores() -> Stores:
    return await searchable([
        statement("https://docs.example/wal", "The write-ahead log."),
        statement("https://other.example/wal", "A log of wood."),
    ])  # fmt: skip


async def new_key(stores: Stores, **fields: Any) -> dict[str, str]:
    """The header of a new key."""
    wanted = ApiKey("", "test", b"", fields.pop("scopes", ("search", "pages")), **fields)
    seed = fields.get("per_minute", 0) + fields.get("expires", 0) + len(fields.get("site", "")) + len(wanted.scopes)
    text, key = make_key(wanted, bytes([seed % 251]) * 38)
    await stores.api_keys.put(key, 1)
    return {"Authorization": f"Bearer {text}"}


async def test_by_default_nobody_needs_a_key_and_nothing_is_counted(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        answer = await web.get(ASK)
    assert answer.status_code == 200
    assert "ratelimit" not in answer.headers


async def test_a_gateway_may_answer_keys_only(stores: Stores) -> None:
    header = await new_key(stores)
    async with client(gateway(stores, access=AccessSettings(anonymous=False))) as web:
        refused, answered, page = await web.get(ASK), await web.get(ASK, headers=header), await web.get("/search?q=log")
    assert (refused.status_code, refused.json()["type"]) == (401, "urn:riffle:problem:key-needed")
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert (answered.status_code, page.status_code) == (200, 200)


REFUSED = [
    ({"revoked": 1}, 401, "key-refused", "The key was revoked."),
    ({"expires": 1}, 401, "key-refused", "The key has expired."),
    ({"scopes": ("pages",)}, 403, "scope-missing", "The key does not have the scope `search`."),
    ({"site": "gone"}, 401, "key-refused", "The site of the key was removed."),
]


@pytest.mark.parametrize(("fields", "status", "kind", "detail"), REFUSED)
async def test_a_refused_key(stores: Stores, fields: dict[str, Any], status: int, kind: str, detail: str) -> None:
    header = await new_key(stores, **fields)
    async with client(gateway(stores)) as web:
        answer = await web.get(ASK, headers=header)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:riffle:problem:{kind}")
    assert answer.json()["detail"] == detail


async def test_a_wrong_key_is_not_taken_for_nobody(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        answer = await web.get(ASK, headers={"Authorization": "Bearer rfl_wrong"})
    assert answer.status_code == 401


async def test_headers_have_the_budget_of_a_key_until_it_ends(stores: Stores) -> None:
    header = await new_key(stores, per_minute=3, per_day=100)
    async with client(gateway(stores)) as web:
        answers = [await web.get(ASK, headers=header) for _ in range(4)]
        other = await web.get(ASK)
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[0].headers["RateLimit-Policy"] == '"minute";q=3;w=60, "day";q=100;w=86400'
    assert answers[0].headers["RateLimit"].startswith('"minute";r=3;t=0, "day";r=100;t=')
    assert answers[3].headers["Retry-After"] == "21"
    assert answers[3].json()["type"] == "urn:riffle:problem:too-many-requests"
    assert answers[3].headers["RateLimit"].startswith('"minute";r=0;t=60, "day";r=97;t=')
    assert other.status_code == 200, "clients have budgets of their own"


async def test_keys_and_addresses_without_budgets_of_their_own_have_those_of_the_settings(stores: Stores) -> None:
    header = await new_key(stores)
    access = AccessSettings(key_per_minute=7, key_per_day=90, anonymous_per_day=1)
    async with client(gateway(stores, access=access)) as web:
        answer = await web.get(ASK, headers=header)
        anonymous = [(await web.get(ASK)).status_code for _ in range(2)]
    assert answer.headers["RateLimit-Policy"] == '"minute";q=7;w=60, "day";q=90;w=86400'
    assert anonymous == [200, 429]


@pytest.mark.parametrize(
    ("who", "has_key", "refused"), [("nobody", True, True), ("keys", False, True), ("everybody", False, False)]
)
async def test_who_may_have_a_page_fetched(stores: Stores, who: Any, has_key: bool, refused: bool) -> None:
    header = await new_key(stores, scopes=("extract", "pages")) if has_key else {}
    async with client(gateway(stores, access=AccessSettings(fetch_now=who))) as web:
        answer = await web.get("/api/v1/extract?fetch=true&url=https://127.0.0.1/", headers=header)
    assert (answer.json()["type"] == "urn:riffle:problem:fetch-not-allowed") is refused


async def test_a_deep_page_costs_more_than_a_first_one(stores: Stores) -> None:
    header = await new_key(stores, per_minute=10)
    async with client(gateway(stores)) as web:
        deep = await web.get(f"{ASK}&page=9&per_page=50", headers=header)
        after = await web.get(ASK, headers=header)
    assert (deep.status_code, after.headers["RateLimit"]) == (200, '"minute";r=1;t=54')


async def test_addresses_have_budgets_also_for_the_result_page(stores: Stores) -> None:
    access = AccessSettings(anonymous_per_minute=2, trusted_proxies=("127.0.0.1",))
    async with client(gateway(stores, access=access)) as web:
        first = [await web.get(path, headers={"X-Forwarded-For": "192.0.2.1"}) for path in (ASK, "/search?q=log", ASK)]
        people = await web.get("/search?q=log", headers={"X-Forwarded-For": "192.0.2.1", "Accept": "text/html"})
        second = await web.get(ASK, headers={"X-Forwarded-For": "192.0.2.2"})
    assert [each.status_code for each in first] == [200, 200, 429]
    assert (people.status_code, "Too many requests" in people.text) == (429, True)
    assert second.status_code == 200


FREE = {
    # route, why it costs nothing
    "/": "the empty form",
    "/api/v1/suggest": "asked at each letter, and answered from memory or one row; its own deadline bounds it",
    "/suggest": "as /api/v1/suggest",
    "/api/v1/index": "one sample in ten minutes for all who see the same, from memory",
    "/healthz": "probes",
    "/privacy": "a text",
    "/help": "a text",
    "/static/{name}": "files of the gateway",
    "/favicon.ico": "a file",
    "/robots.txt": "a text",
    "/opensearch.xml": "a text",
    "/api/v1/openapi.json": "a text",
    "/api/v1/schemas": "a text",
    "/api/v1/schemas/{name}": "a text",
    "/api/v1/asyncapi.json": "a text",
    "/preferences": "reads one cookie",
    "/preferences/export": "reads one cookie",
    "/preferences/shared": "reads its own address",
    "/act": "reads its own address, and leads on",
}
EXAMPLES = {
    "{page_id:uuid}": "6ba7b810-9dad-51d1-80b4-00c04fd430c8", "{page:path}": "https%3A%2F%2Fdocs.example%2Fwal",
    "{entity:path}": "Q1", "{name}": "docs",
}  # fmt: skip
QUERY = "?" + "&".join((
    "q=log", "url=https://docs.example/wal", "page=6ba7b810-9dad-51d1-80b4-00c04fd430c8", "by=short",
))  # fmt: skip


def routes_of(routes: Any) -> dict[str, Any]:
    """The paths below these routes, with the names of their parameters; None where all are allowed."""
    found: dict[str, Any] = {}
    for route in routes:
        router = getattr(route, "original_router", None)
        if router:
            found |= routes_of(router.routes)
        elif "GET" in (route.methods or ()):
            found[route.path] = {each.alias for each in route.dependant.query_params} if "/api/" in route.path else None
    return found


SITES = "/api/v1/sites"
KEYED = ("/api/v1/crawls", "/api/v1/hooks", "/api/v1/changes", SITES)
"""The routes that answer nobody without a key: each request with one costs its key a unit."""


@pytest.mark.parametrize("path", [path if path != SITES else f"{path}/docs/words" for path in KEYED])
async def test_a_route_for_keys_alone_has_a_price(stores: Stores, path: str) -> None:
    header = await new_key(stores, per_minute=1, scopes=("write", "changes"))
    async with client(gateway(stores)) as web:
        without = await web.get(path)
        asked = [(await web.get(path, headers=header)).status_code for _ in range(2)]
    assert (without.status_code, asked[1]) == (401, 429)


async def test_each_route_has_a_price_or_is_named_as_free(stores: Stores) -> None:
    """A budget of one unit allows one request, of a program and of a person alike."""
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    access = AccessSettings(anonymous_per_minute=1, trusted_proxies=("127.0.0.1",))
    app = gateway(stores, limits={"publish_clicks": True, "keys": ("k" * 32,)}, admin_port=1, access=access)
    free = set()
    async with client(app) as web:
        for number, (path, known) in enumerate(routes_of(app.routes).items()):
            address = path
            for placeholder, value in EXAMPLES.items():
                address = address.replace(placeholder, value)
            pairs = [pair for pair in QUERY[1:].split("&") if known is None or pair.partition("=")[0] in known]
            if path in ("/api/v1/search", "/search", "/sites/{name}"):
                pairs = [pair for pair in pairs if not pair.startswith("page=")]
            headers = {"X-Forwarded-For": f"192.0.2.{number}", "Accept": "text/html, application/json"}
            asked = [await web.get(f"{address}?{'&'.join(pairs)}", headers=headers) for _ in range(2)]
            assert asked[0].status_code != 429, path
            if asked[1].status_code != 429 and not path.startswith(KEYED):
                free.add(path)
    assert free == set(FREE)


SENT = {
    # route that is sent something -> what; the others only read forms of people, or free ones
    "/api/v1/search/batch": {"searches": [{"q": "log"}]},
}
FREE_TO_SEND = {
    # route, why it costs nothing
    **dict.fromkeys(
        ("/preferences", *(f"/preferences/{form}" for form in ("site", "reset", "import"))), "write a cookie"
    ),
    "/mcp": "says what tools there are; each call of a tool costs what its route of the API does",
}


def tool_call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


async def test_what_is_sent_has_a_price_or_is_named_as_free(stores: Stores) -> None:
    access = AccessSettings(anonymous_per_minute=1, trusted_proxies=("127.0.0.1",))
    app = gateway(stores, limits={"publish_clicks": True, "keys": ("k" * 32,)}, admin_port=1, access=access)
    paths = [
        str(getattr(route, "path", "")) for route in app.routes if "POST" in (getattr(route, "methods", None) or ())
    ]
    free = set()
    async with client(app) as web:
        for number, path in enumerate(paths):
            headers = {"X-Forwarded-For": f"192.0.2.{number}", "Accept": "application/json, text/event-stream"}
            asked = [await web.post(path, headers=headers, json=SENT.get(path, {})) for _ in range(2)]
            if asked[1].status_code != 429 and not path.startswith(KEYED):
                free.add(path)
    assert free == set(FREE_TO_SEND)


async def test_a_call_of_a_tool_costs_what_its_route_does(stores: Stores) -> None:
    access = AccessSettings(anonymous_per_minute=2, trusted_proxies=("127.0.0.1",))
    app = gateway(stores, access=access)
    headers = {"X-Forwarded-For": "192.0.2.1", "Accept": "application/json, text/event-stream"}
    async with client(app) as web:
        calls = [await web.post("/mcp", headers=headers, json=tool_call("search", {"query": "log"})) for _ in range(3)]
        answer = await web.get(ASK, headers=headers)
    await app.state.gateway.tools.close()
    assert ["budget" in call.text for call in calls] == [False, False, True]
    assert answer.status_code == 429, "one budget"


MADE_UP = [
    *({"X-Forwarded-For": f"192.0.2.{number}"} for number in range(3)),
    {"X-Forwarded-For": "2001:db8::1"},
    {"X-Forwarded-For": "192.0.2.4, 127.0.0.1"},
    {"X-Forwarded-For": "unknown"},
    {"Forwarded": 'for="[2001:db8::2]";proto=https;by=127.0.0.1'},
    {"X-Real-IP": "192.0.2.5"},
    {"X-Client-IP": "192.0.2.6", "True-Client-IP": "192.0.2.6"},
    {"CF-Connecting-IP": "192.0.2.7", "X-Forwarded-Proto": "https"},
    {"X-Original-Forwarded-For": "192.0.2.8", "Via": "1.1 192.0.2.8"},
]
"""Headers by which proxies name the client that asked them (RFC 7239, and those before it), each with another one."""


async def test_a_real_server_believes_no_header_that_the_settings_do_not_name(stores: Stores) -> None:
    """uvicorn by itself believes `X-Forwarded-For` of its own machine, where every local proxy passes it on."""
    app = gateway(stores, access=AccessSettings(anonymous_per_minute=2), allowed_hosts=("127.0.0.1",))
    settings = GatewaySettings(port=0)
    listening = listen(settings)
    server = uvicorn.Server(server_config(app, settings))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with httpx2.AsyncClient(base_url=base, trust_env=False) as web:
        asked = [(await web.get(ASK, headers=headers)).status_code for headers in MADE_UP]
    server.should_exit = True
    await serving
    assert asked == [200, 200, *[429] * (len(MADE_UP) - 2)]


async def test_deep_results_cost_people_what_they_cost_programs(stores: Stores) -> None:
    access = AccessSettings(anonymous_per_minute=30, trusted_proxies=("127.0.0.1",))
    async with client(gateway(stores, access=access)) as web:
        answered = {}
        for number, path in enumerate((f"{ASK}&page=50", "/search?q=log&page=50")):
            headers = {"X-Forwarded-For": f"192.0.2.{number}", "Accept": "text/html, application/json"}
            asked = [(await web.get(path, headers=headers)).status_code for _ in range(8)]
            answered[path] = asked.count(200)
    assert len(set(answered.values())) == 1, answered
    assert max(answered.values()) < 8


async def test_two_gateways_share_the_budget_of_a_key(stores: Stores) -> None:
    header = await new_key(stores, per_minute=4)
    first, second = gateway(stores), gateway(stores)
    async with client(first) as web, client(second) as other:
        assert [(await web.get(ASK, headers=header)).status_code for _ in range(4)] == [200] * 4
        await first.state.gateway.guard.limiter.close()
        assert (await other.get(ASK, headers=header)).status_code == 429


async def test_while_the_records_are_down_people_search_and_known_keys_work(stores: Stores) -> None:
    header, unknown = await new_key(stores, per_minute=100), await new_key(stores, per_minute=200)
    app = gateway(stores)
    async with client(app) as web:
        assert (await web.get(ASK, headers=header)).status_code == 200
        stores.api_keys = stores.notes = Dead()
        assert (await web.get(ASK, headers=header)).status_code == 200
        assert (await web.get(ASK)).status_code == 200
        assert (await web.get(ASK, headers=unknown)).status_code == 503


async def test_a_key_of_a_site_finds_its_pages_only(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",)), 1)
    header = await new_key(stores, site="docs")
    async with client(gateway(stores)) as web:
        own, everybody = await web.get(ASK, headers=header), await web.get(ASK)
        foreign = await web.get(f"{ASK}&include=other.example", headers=header)
        record = await web.get("/api/v1/pages/https%3A%2F%2Fother.example%2Fwal", headers=header)
    assert {each["host"] for each in own.json()["results"]} == {"docs.example"}
    assert len(everybody.json()["results"]) == 2
    assert (foreign.status_code, record.status_code) == (400, 404)


async def test_the_pages_of_a_private_site_are_found_by_its_keys_only(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",), is_private=True), 1)
    header, foreign = await new_key(stores, site="docs"), await new_key(stores, per_minute=7)
    access = AccessSettings(private_sites=True)
    async with client(gateway(stores, access=access)) as web:
        own, page = await web.get(ASK, headers=header), await web.get("/search?q=log")
        others = [await web.get(ASK), await web.get(ASK, headers=foreign)]
    assert {each["host"] for each in own.json()["results"]} == {"docs.example"}
    for each in others:
        assert {result["host"] for result in each.json()["results"]} == {"other.example"}
    assert "docs.example" not in page.text


async def test_a_private_site_below_a_host_of_another_site_stays_private() -> None:
    texts = {"docs.example": "The write-ahead log.", "intern.docs.example": "Salaries are in a log of the third floor."}
    domains = {"sites": ["docs.example", "intern.docs.example"]}
    pages = [statement(f"https://{host}/wal", text) for host, text in texts.items()]
    stores = await searchable([pages[0], pages[1] | domains])
    await stores.api_keys.put_site(Site("all", "All", ("docs.example",)), 1)
    await stores.api_keys.put_site(Site("intern", "Intern", ("intern.docs.example",), is_private=True), 1)
    wider, own = await new_key(stores, site="all"), await new_key(stores, site="intern")
    async with client(gateway(stores, access=AccessSettings(private_sites=True))) as web:
        seen = [await web.get(ASK, headers=header) for header in (wider, own)]
        page = await web.get("/sites/all?q=log")
    assert [{result["host"] for result in each.json()["results"]} for each in seen] == [{host} for host in texts]
    assert "https://docs.example/wal" in page.text
    assert "intern.docs.example" not in page.text


async def store_record(stores: Stores, url: str, duplicate_of: str = "") -> None:
    """Store that a page was normalized, and is a duplicate of another one."""
    normalized = Normalized.of_row({"url": url, "generation": 1, "title": "Wood"})
    await stores.pages.put(page_id(url), normalized, 1)
    if duplicate_of:
        row = {"url": url, "generation": 1, "canonical_page_id": str(page_id(duplicate_of))}
        await stores.pages.put(page_id(url), Deduplicated.of_row(row), 1)


async def test_the_labs_show_no_page_of_a_private_site(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",), is_private=True), 1)
    for host in ("docs", "other"):
        await store_record(stores, f"https://{host}.example/wal")
    async with client(gateway(stores, access=AccessSettings(private_sites=True))) as web:
        for path in ("/labs/page", "/labs/statements"):
            hidden, shown = [await web.get(f"{path}?url={host}.example/wal") for host in ("docs", "other")]
            assert hidden.status_code == 404
            assert ("never seen" in hidden.text, "never seen" in shown.text) == (True, False), path


async def test_the_record_of_a_page_names_no_page_that_the_client_may_not_see(stores: Stores) -> None:
    url, docs = "https://other.example/wal", "https://docs.example/wal"
    await store_record(stores, url, duplicate_of=docs)
    link = PageLink("other.example", page_id(url), 1, "https://docs.example/plans", "The plan of 2027")
    await stores.host_links.put_page_links([link], at=1)
    await stores.api_keys.put_site(Site("docs", "Docs", ("docs.example",), is_private=True), 1)
    for access, is_named in ((AccessSettings(), True), (AccessSettings(private_sites=True), False)):
        async with client(gateway(stores, access=access)) as web:
            record, page = await web.get(f"/api/v1/pages/{quote(url, safe='')}"), await web.get(f"/page?url={url}")
        for answer in (record, page):
            assert answer.status_code == 200
            assert ("docs.example" in answer.text) is is_named
            assert ("The plan of 2027" in answer.text) is is_named


async def test_until_sites_are_known_private_ones_are_shown_to_nobody(stores: Stores) -> None:
    stores.api_keys = Dead()
    async with client(gateway(stores, access=AccessSettings(private_sites=True))) as web:
        assert (await web.get(ASK)).status_code == 503
    async with client(gateway(stores)) as web:
        assert (await web.get(ASK)).status_code == 200


async def test_the_page_of_a_site_searches_its_hosts_by_itself(stores: Stores) -> None:
    await stores.api_keys.put_site(Site("docs", "Docs & more", ("docs.example",)), 1)
    await stores.api_keys.put_site(Site("secret", "Secret", ("other.example",), is_private=True), 1)
    async with client(gateway(stores)) as web:
        start, found = await web.get("/sites/docs"), await web.get("/sites/docs?q=log")
        sent = await web.get("/sites/docs?q=log&after=2020-01-01&language=en")
        nothing, private = await web.get("/sites/docs?q=wood"), await web.get("/sites/secret?q=log")
    assert "<h1>Search Docs &amp; more</h1>" in start.text
    assert "&lt;form" not in start.text, "the box is for the owner, who has made the site by a command"
    assert 'href="https://docs.example/"' in start.text, "a way back to the site"
    assert 'href="/sites/docs?q=log&amp;sort=date"' in found.text, "the filters stay on the site"
    assert (sent.status_code, sent.headers["location"]) == (
        303,
        "/sites/docs?q=log+after%3A2020-01-01&language=en",
    )
    assert "https://docs.example/wal" in found.text
    assert "other.example" not in found.text + nothing.text
    assert private.status_code == 404


HANDBOOK = "https://handbook.example"
PREFLIGHT = {
    "Origin": HANDBOOK,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "authorization",
}


async def test_scripts_of_other_origins_ask_the_api_only_where_the_operator_names_them(stores: Stores) -> None:
    header = await new_key(stores, per_minute=9)
    async with client(
        gateway(stores, limits={"cors_origins": (HANDBOOK,)}, access=AccessSettings(anonymous=False))
    ) as web:
        before = await web.options(ASK, headers=PREFLIGHT)
        asked = await web.get(ASK, headers={"Origin": HANDBOOK, **header})
        refused = await web.get(ASK, headers={"Origin": HANDBOOK})
        foreign = await web.options(ASK, headers={**PREFLIGHT, "Origin": "https://evil.example"})
        page = await web.get("/search?q=log", headers={"Origin": HANDBOOK})
        typed = await web.get("/api/v1/suggest?q=lo", headers={"Origin": HANDBOOK, **header})
    assert (before.status_code, before.headers["Access-Control-Allow-Origin"]) == (200, HANDBOOK)
    assert "Authorization" in before.headers["Access-Control-Allow-Headers"]
    assert (asked.status_code, refused.status_code, typed.status_code) == (200, 401, 200)
    for answer in (asked, refused, typed):  # a script reads why it was refused, too
        assert answer.headers["Access-Control-Allow-Origin"] == HANDBOOK
        assert "Origin" in answer.headers["Vary"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "RateLimit" in asked.headers["Access-Control-Expose-Headers"]
    assert foreign.status_code == 400
    assert "Access-Control-Allow-Origin" not in {*foreign.headers, *page.headers}


async def test_by_default_no_script_of_another_origin_asks_the_api(stores: Stores) -> None:
    async with client(gateway(stores)) as web:
        before, asked = await web.options(ASK, headers=PREFLIGHT), await web.get(ASK, headers={"Origin": HANDBOOK})
    assert before.status_code == 405
    assert "Access-Control-Allow-Origin" not in {*before.headers, *asked.headers}
