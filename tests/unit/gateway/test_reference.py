"""The pages of the API and the code name the same problems, statuses, parameters and metrics."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from streams.errors import QueryFault
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.problems import KINDS, STATUS_AND_TITLE, of_status
from streams.ledger.status import Status
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import client, gateway

ROOT = Path(__file__).parents[3]
PAGES = ("api.md", "api-search.md", "api-pages.md", "gateway.md")
REFERENCE = "\n".join((ROOT / "docs/reference" / page).read_text() for page in PAGES)


def section(heading: str) -> str:
    return REFERENCE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_problems_are_documented_with_their_status() -> None:
    documented = dict(re.findall(r"^\| `([a-z-]+)` \| (\d(?:\d\d|xx)) \|", section("Problems"), re.M))
    assert set(documented) == set(KINDS), "mypy refuses other kinds in the code"
    statuses = {kind: str(status) for kind, (status, _) in STATUS_AND_TITLE.items()}
    assert statuses | dict.fromkeys(get_args(QueryFault), "400") | {of_status(400).kind: "4xx"} == documented
    folders = (ROOT / "streams/gateway", ROOT / "streams/search", ROOT / "streams/admin")
    source = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    in_code = set(re.findall(r"(?:Problem|_unavailable|InvalidQuery)\(\s*\"([a-z-]+)\"", source))
    assert in_code | {of_status(400).kind} == set(documented), "each kind has a use"


async def test_an_unknown_path_and_a_wrong_method_have_documented_kinds() -> None:
    async with client(gateway(Stores())) as web:
        problems = [(await web.get("/api/v1/nothing")).json(), (await web.put("/api/v1/search")).json()]
    assert [problem["type"].rpartition(":")[2] for problem in problems] == ["not-found", "method-not-allowed"]


def test_the_openapi_document_names_each_kind_of_problem() -> None:
    schema: dict[str, Any] = gateway(Stores()).openapi()["components"]["schemas"]["Problem"]
    assert set(KINDS) <= set(re.findall(r"`([a-z-]+)`", schema["properties"]["type"]["description"]))


def paths_of(routes: Iterable[Any]) -> set[str]:
    """Return the paths of routes and of the routers among them."""
    found = set[str]()
    for route in routes:
        router = getattr(route, "original_router", None)
        found |= paths_of(router.routes) if router else {route.path}
    return found


def to_forward(paths: Iterable[str]) -> set[str]:
    """Return what a reverse proxy is to forward: `/first` of a path, or `/first/` if more follows."""
    return {path if path.count("/") == 1 else path[: path.index("/", 1) + 1] for path in paths}


def test_a_reverse_proxy_forwards_what_is_not_for_operators() -> None:
    """The app with all that can be turned on has the paths of the list, and no path that is named as the operators'."""
    app = gateway(Stores(), admin_port=9_000, limits={"publish_clicks": True, "keys": ("k" * 32,)})
    public, operators = to_forward(paths_of(app.routes)), to_forward(paths_of(app.state.admin.routes))
    text = section("Limits, and a reverse proxy")
    documented = re.findall(r"`(/[^`]*)`", "".join(re.findall(r"^\|.*\| (`/.*)\|$", text, re.M)))
    kept = set(re.findall(r"`(/[^`]*)`", text.partition("are for operators")[0].rpartition("\n\n")[2]))
    assert len(documented) == len(set(documented))
    assert set(documented) == public - {"/healthz"}
    assert kept == operators - set(documented)


def test_statuses_of_a_page_are_documented() -> None:
    documented = re.search(r"`status` is one of (.*?);", section("The history of a page"), re.S)
    assert documented
    assert set(re.findall(r"`(\w+)`", documented[1])) == set(get_args(Status))


def test_parameters_of_a_search_are_documented() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", section("Search"), re.M)
    operation: dict[str, Any] = gateway(Stores()).openapi()["paths"]["/api/v1/search"]["get"]
    assert documented == [parameter["name"] for parameter in operation["parameters"]]


def test_metrics_are_documented() -> None:
    documented = set(re.findall(r"`((?:riffle|process)_\w+?)(?:_total)?`", section("Metrics")))
    assert documented == {metric.name for metric in Metrics().registry.collect()}
