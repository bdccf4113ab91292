"""Values that a later release added to a list of values, and how a reader of this release handles them.

A field with a fixed list of values has one of two annotations, which its JSON Schema shows:

    ReadAs("link")  `x-unknown-read-as`: a reader that meets another value reads it as this one
    Waits()         `x-unknown-waits`: the event can't be handled without the value, so it waits for a newer reader

Only fields with one of them may get more values (tests/unit/schemas/compatibility.py). A producer is never allowed
another value.
"""

from dataclasses import dataclass
from typing import Any, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

READ_AS, WAITS = "x-unknown-read-as", "x-unknown-waits"


@dataclass(frozen=True, slots=True)
class ReadAs:
    """A reader reads an unknown value as `value`, which is one of the list."""

    value: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        known = get_args(source)
        assert self.value in known, f"{self.value!r} is not one of {known}"

        def read(value: Any, info: core_schema.ValidationInfo) -> Any:
            unknown = info.mode == "json" and isinstance(value, str) and value not in known
            return self.value if unknown else value

        return core_schema.with_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), READ_AS: self.value}


@dataclass(frozen=True, slots=True)
class Waits:
    """An event with an unknown value waits for a newer reader. `Event.from_json` raises NewerEvent."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), WAITS: True}
