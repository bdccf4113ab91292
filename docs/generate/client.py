"""The generated modules of the Python client: the types of answers, and the form for asyncio."""

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streams.gateway.app import create_app
from streams.settings import Settings
from streams.stores.opener import Stores

ROOT = Path(__file__).resolve().parents[2]
TYPES = ROOT / "streams" / "client" / "types.py"
PLAIN = ROOT / "streams" / "client" / "plain.py"
AIO = ROOT / "streams" / "client" / "aio.py"
ANSWERS = ("SearchAnswer", "IndexContents", "SimilarAnswer", "PageRecord", "Extract", "PageDocument", "PageStatement")
"""Schemas of the answers of the client's methods."""
_REF = re.compile(r"#/components/schemas/(\w+)")
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_HEAD = '''"""The types of the API's answers, made by `make schemas` of the OpenAPI document."""

from typing import Any, Literal, NotRequired, TypedDict

'''
_ASYNC = (
    (r"The client for plain code\.", "The client for asyncio: `make schemas` makes it of `plain.py`."),
    (r"import time\n", "import asyncio\n"),
    (r"Callable, Iterator\b", "AsyncIterator, Callable, Coroutine"),
    (r"-> Iterator\b", "-> AsyncIterator"),
    (r"P\], T\]:", "P], Coroutine[Any, Any, T]]:"),
    (r'"Riffle"', '"AsyncRiffle"'),
    (r"class Riffle:", "class AsyncRiffle:"),
    (r"httpx2\.Client", "httpx2.AsyncClient"),
    (r"\bplain_client\b", "plain_async_client"),
    (r"\n    def (?!__init__)", "\n    async def "),
    (r"__enter__", "__aenter__"),
    (r"__exit__", "__aexit__"),
    (r"(?<=[ (])self\.(_ask|search|_http\.request)\(", r"await self.\1("),
    (r"\bself\.(_http\.)?close\(\)", r"await self.\1aclose()"),
    (r"async def close\(", "async def aclose("),
    (r"`close`", "`aclose`"),
    (r"for part in self\._parts", "async for part in self._parts"),
    (r"time\.sleep\(", "await asyncio.sleep("),
)
"""The changes that make the form for asyncio of the plain one."""


def client_types() -> str:
    """Return the module with a type for each schema of an answer, and for each one within."""
    app = create_app(Settings(), Stores(), publish=None, clock=lambda: datetime.now(UTC))
    schemas: dict[str, Any] = app.openapi()["components"]["schemas"]
    wanted = list(ANSWERS)
    for name in wanted:  # it grows
        wanted += [ref for ref in _REF.findall(json.dumps(schemas[name])) if ref not in wanted]
    return _formatted(_HEAD + "\n\n".join("\n".join(_typed_dict(name, schemas[name])) for name in sorted(set(wanted))))


def async_client() -> str:
    """Return the module of the client for asyncio."""
    text = PLAIN.read_text()
    for pattern, replacement in _ASYNC:
        text, count = re.subn(pattern, replacement, text)
        assert count, pattern
    return _formatted(text)


def _typed_dict(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"class {name}(TypedDict):"
    if text := " ".join(schema.get("description", "").split()):
        yield from textwrap.wrap(f'"""{text}"""', 110, initial_indent="    ", subsequent_indent="    ")
        yield ""
    required = set(schema.get("required", ()))
    for field, value in schema["properties"].items():
        kind = _type_of(value)
        yield f"    {field}: {kind if field in required else f'NotRequired[{kind}]'}"


def _type_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f'"{schema["$ref"].rpartition("/")[2]}"'
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return "Literal[" + ", ".join(map(repr, schema["enum"])) + "]"
    if "anyOf" in schema:
        # An answer leaves out what has no value, so nothing is null in it.
        return _type_of(next(each for each in schema["anyOf"] if each.get("type") != "null"))
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"list[{_type_of(schema['prefixItems'][0])}]"
        case "array":
            return f"list[{_type_of(schema.get('items', {}))}]"
        case "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {_type_of(values) if isinstance(values, dict) else 'Any'}]"
        case str(kind):
            return _SIMPLE[kind]
    return "Any"


def _formatted(code: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--line-length", "120", "--stdin-filename", "made.py", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout  # noqa: S603 (our own formatter)
