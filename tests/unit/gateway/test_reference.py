"""docs/reference/api.md and the code name the same problems, statuses, parameters and metrics."""

import re
from pathlib import Path
from typing import Any, get_args

from streams.gateway.http.metrics import Metrics
from streams.ledger.status import Status
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import gateway

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs/reference/api.md").read_text()


def section(heading: str) -> str:
    return REFERENCE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_problems_are_documented() -> None:
    documented = set(re.findall(r"^\| `([a-z-]+)` \| \d{3} \|", section("Problems"), re.M))
    folders = (ROOT / "streams/gateway", ROOT / "streams/search")
    source = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    in_code = set(re.findall(r"(?:Problem\(\s*\d{3},|InvalidQuery\()\s*\"([a-z-]+)\"", source))
    assert in_code
    assert documented == in_code


def test_statuses_of_a_page_are_documented() -> None:
    documented = re.search(r"`status` is one of (.*?);", section("The history of a page"), re.S)
    assert documented
    assert set(re.findall(r"`(\w+)`", documented[1])) == set(get_args(Status))


def test_parameters_of_a_search_are_documented() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", section("Search"), re.M)
    operation: dict[str, Any] = gateway(Stores()).openapi()["paths"]["/api/v1/search"]["get"]
    assert documented == [parameter["name"] for parameter in operation["parameters"]]


def test_metrics_are_documented() -> None:
    documented = set(re.findall(r"`(riffle_\w+?)(?:_total)?`", section("Metrics")))
    assert documented == {metric.name for metric in Metrics().registry.collect()}
