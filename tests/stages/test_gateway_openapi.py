"""The API does what its description says: schemathesis asks whatever the description allows, and what it does not.

It runs over the app with the memory stores. A text without letters is a valid string and no query, so a refusal of
valid data is not a fault here; each refusal must be a documented problem.
"""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode, checks

from streams.stores.opener import Stores
from tests.stages.gateway_fakes import gateway, searchable, statement

URL = "https://logs.example/wal"
checks.load_all_checks()
CHECKS: Any = checks.CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "unsupported_method",
        "allow_header_conformance",
    ]
)
VALID, WRONG = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
ANY_DATA_IS_VALID = {"page", "suggest"}
"""Operations that take any text, and have no wrong data."""
OPERATIONS = [
    operation["operationId"]
    for path, operations in gateway(Stores()).openapi()["paths"].items()
    for operation in operations.values()
    if path.startswith("/api/")
]
ASKED = [
    (name, mode) for name in OPERATIONS for mode in (VALID, WRONG) if mode == VALID or name not in ANY_DATA_IS_VALID
]


@pytest.fixture(scope="module")
def api() -> Any:
    app = gateway(asyncio.run(searchable([statement(URL, "The write-ahead log.")])), allowed_hosts=("*",))
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)


@pytest.mark.parametrize(("name", "mode"), ASKED)
def test_every_answer_is_as_described(api: Any, name: str, mode: GenerationMode) -> None:
    operation = api.find_operation_by_id(name)

    @settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
