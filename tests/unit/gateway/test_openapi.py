"""The API's published description: valid, with true examples of every response."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from streams.stores.opener import Stores
from tests.stages.gateway_fakes import client, gateway


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    async def fetch() -> dict[str, Any]:
        async with client(gateway(Stores())) as web:
            found: dict[str, Any] = (await web.get("/api/v1/openapi.json")).json()
            return found

    return asyncio.run(fetch())


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path of each operation with it."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    from openapi_spec_validator import OpenAPIV30SpecValidator  # slow to import: not for each process of the tests

    assert document["openapi"].startswith("3.0")
    assert [str(error) for error in OpenAPIV30SpecValidator(document).iter_errors()] == []


def test_every_route_of_the_api_is_in_it(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {
        "/api/v1/search",
        "/api/v1/answer",
        "/api/v1/summary",
        "/api/v1/rank",
        "/api/v1/related",
        "/api/v1/ask",
        "/api/v1/suggest",
        "/api/v1/feed",
        "/api/v1/index",
        "/api/v1/similar",
        "/api/v1/extract",
        "/api/v1/pages/{page_id}/document",
        "/api/v1/pages/{page_id}/statements",
        "/api/v1/pages/{page_id}/vectors",
        "/api/v1/entities",
        "/api/v1/entities/{entity}",
        "/api/v1/pages/{page}",
        "/api/v1/pages",
        "/api/v1/crawls",
        "/api/v1/crawls/{crawl_id}",
        "/api/v1/crawls/{crawl_id}/events",
        "/api/v1/hooks",
        "/api/v1/hooks/{hook_id}",
        "/api/v1/hooks/{hook_id}/on",
        "/api/v1/hooks/{hook_id}/secret",
        "/api/v1/hooks/{hook_id}/test",
        "/api/v1/hooks/{hook_id}/deliveries",
        "/api/v1/changes",
        "/api/v1/sites/{name}/words",
        "/healthz",
        "/readyz",
        "/metrics",
    }


def test_every_operation_has_a_known_group_and_a_description(document: dict[str, Any]) -> None:
    """As linters of OpenAPI want it (tests/clients/test_linters.py). Security is written also where there is none."""
    known = {tag["name"] for tag in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert set(operation["tags"]) <= known, f"{method} {path}: add its tag to TAGS"
            assert operation["description"], f"{method} {path}"
            assert "security" in operation, f"{method} {path}"


def test_every_response_has_an_example_that_is_true_to_its_schema(document: dict[str, Any]) -> None:
    checked = 0
    for path, operation in operations_of(document):
        for status, response in operation["responses"].items():
            assert "content" in response or status == "204", f"{path} {status} says nothing"
            for content in response.get("content", {}).values():
                assert "example" in content, f"{path} {status} has no example"
                schema = {**content.get("schema", {}), "components": document["components"]}
                faults = [fault.message for fault in Draft202012Validator(schema).iter_errors(content["example"])]
                assert faults == [], f"{path} {status}: {faults}"
                checked += 1
    assert checked >= 70


OFTEN = {"401", "403", "429", "500", "503"}


def test_problems_are_declared_where_they_can_come(document: dict[str, Any]) -> None:
    assert set(document["paths"]["/api/v1/search"]["get"]["responses"]) == {"200", "400", *OFTEN}
    assert set(document["paths"]["/api/v1/pages/{page}"]["get"]["responses"]) == {"200", "400", "404", *OFTEN}


def test_each_route_of_the_api_declares_what_parameters_and_keys_can_cause(document: dict[str, Any]) -> None:
    for path, operation in operations_of(document):
        needed = ({"400"} if path.startswith("/api/") else set()) | (OFTEN if operation["security"] else set())
        assert needed <= set(operation["responses"]), path
