"""The generated modules of the Python client: types, the requests of all operations, and the form for asyncio."""

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docs.generate.schemas import json_schema
from schemas import PageFetched
from streams.gateway.app import create_app
from streams.gateway.http import openapi_3_0
from streams.settings import Settings
from streams.stores.opener import Stores

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "streams" / "client"
TYPES, OPERATIONS, PLAIN, AIO = (CLIENT / f"{name}.py" for name in ("types", "operations", "plain", "aio"))
OF_API = "/api/v1/"
BY_HAND = frozenset({"put_pages"})
"""Operations whose requests have several forms: `requests.put_page` and `put_lines`."""
READERS = {
    "answer": ("read_answer", "ModelAnswer"),
    "summary": ("read_answer", "ModelAnswer"),
    "rank": ("read_ranked", "RankedPages"),
    "ask": ("read_steps", "AnswerInSteps"),
    "feed": ("read_text", "str"),
}
"""The readers of answers that are no JSON object, and what these return."""
BESIDE = (
    "PageLine",
    "LineWritten",
    "PageWritten",
    "PageIndexedEvent",
    "PageRemovedEvent",
    "PageFetchedEvent",
    "HookTestedEvent",
)
"""Types that no generated request returns: lines of many pages, and events."""
_REF = re.compile(r"#/components/schemas/(\w+)")
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_OPERATIONS_HEAD = '''"""A function for each operation of the API, made by `make schemas` of the OpenAPI document.

They return requests, which the methods of the clients with the same names send.
"""

from collections.abc import Sequence
from typing import Literal

from .requests import ApiRequest, {imports}
from .types import {types}

'''
_HEAD = '''"""The types of the API's answers and events, made by `make schemas` of the OpenAPI document."""

from typing import Any, Literal, NotRequired, TypedDict

'''
_ASYNC = (
    (r"The client for plain code\.", "The client for asyncio: `make schemas` makes it of `plain.py`."),
    (r"import time\n", "import asyncio\n"),
    (r"Callable, Generator, Iterable, Iterator\b", "AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable"),
    (r"-> (Iterator|Generator)\b", r"-> Async\1"),
    (r"import closing\b", "import aclosing"),
    (r"\bwith closing\(", "async with aclosing("),
    (r"\bwith self\._http", "async with self._http"),
    (r"for chunk in answer\.iter_bytes", "async for chunk in answer.aiter_bytes"),
    (r"\banswer\.read\(", "await answer.aread("),
    (r"for event in events", "async for event in events"),
    (r"time\.monotonic\(\)", "asyncio.get_running_loop().time()"),
    (r"P\], T\]:", "P], Coroutine[Any, Any, T]]:"),
    (r'"Riffle"', '"AsyncRiffle"'),
    (r"class Riffle:", "class AsyncRiffle:"),
    (r"httpx2\.Client", "httpx2.AsyncClient"),
    (r"\bplain_client\b", "plain_async_client"),
    (r"\n    def (?!__init__)", "\n    async def "),
    (r"__enter__", "__aenter__"),
    (r"__exit__", "__aexit__"),
    (r"(?<=[ (])self\.(_ask|search|crawl|_http\.request)\(", r"await self.\1("),
    (r"\bself\.(_http\.)?close\(\)", r"await self.\1aclose()"),
    (r"async def close\(", "async def aclose("),
    (r"`close`", "`aclose`"),
    (r"time\.sleep\(", "await asyncio.sleep("),
)
"""The changes that make the form for asyncio of the plain one."""


def client_types() -> str:
    """Return the module with a type for each schema of an answer or event, and for each one within."""
    document = api_document()
    schemas: dict[str, Any] = document["components"]["schemas"] | _fetched_event(document)
    wanted = [*BESIDE, *filter(None, (_answer_of(each) for _, _, each in _operations(document)))]
    for name in wanted:  # it grows
        wanted += [ref for ref in _REF.findall(json.dumps(schemas[name])) if ref not in wanted]
    return _formatted(_HEAD + "\n\n".join("\n".join(_typed_dict(name, schemas[name])) for name in sorted(set(wanted))))


def _fetched_event(document: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of the event of a crawl's stream that no webhook hears, which the document does not have."""
    text = json.dumps(json_schema(PageFetched)).replace("#/$defs/", "#/components/schemas/")
    fetched: dict[str, Any] = json.loads(text)
    schemas = {PageFetched.__name__: fetched, **fetched.pop("$defs", {})}
    made: dict[str, Any] = openapi_3_0.converted({"components": {"schemas": schemas}})["components"]["schemas"]
    event = json.loads(json.dumps(document["components"]["schemas"]["PageRemovedEvent"]))
    event["description"] = "A page was fetched for a crawl, or could not be."
    event["properties"] |= {
        "type": {"type": "string", "enum": [PageFetched.event_type()]},
        "data": {"$ref": f"#/components/schemas/{PageFetched.__name__}"},
    }
    return {**made, "PageFetchedEvent": event}


def client_operations() -> str:
    """Return the module with a function for each operation."""
    document = api_document()
    made = [
        "\n".join(_function(document, method, path, operation)) for method, path, operation in _operations(document)
    ]
    code = "\n\n".join(made)
    helpers = ("key_of_request", "path_of", "request", "texts_of", "read_nothing")
    used = {*helpers, *(name for pair in READERS.values() for name in pair if name != "str")}
    types = {name for each in _operations(document) if (name := _answer_of(each[2]))}
    return _formatted(_OPERATIONS_HEAD.format(imports=", ".join(sorted(used)), types=", ".join(sorted(types))) + code)


def api_document() -> dict[str, Any]:
    """Return the OpenAPI document of the API."""
    app = create_app(Settings(), Stores(), publish=None, clock=lambda: datetime.now(UTC))
    document: dict[str, Any] = app.openapi()
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the method, the path and the description of each operation of the API that has a function."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path.startswith(OF_API) and operation["operationId"] not in BY_HAND:
                yield method, path.removeprefix(OF_API.rstrip("/")), operation


def _answer_of(operation: dict[str, Any]) -> str:
    """Return the name of the schema of an answer; empty for one that is no JSON object."""
    done = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    schema = done.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _function(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    name = operation["operationId"]
    lines = [operation["summary"].rstrip(".") + ".", " ".join(operation["description"].split())]
    needed, optional, sent = list[str](), list[str](), defaultdict[str, list[str]](list)
    for one in _inputs(document, operation):
        own = one["name"].lower().replace("-", "_")
        assert not keyword.iskeyword(own), own
        schema, default = one["schema"], one["schema"].get("default")
        is_list = schema.get("type") == "array"
        kind = "str | Sequence[str]" if is_list and schema["items"].get("type") == "string" else _type_of(schema)
        kind = kind.replace("list[", "Sequence[")
        if one.get("required"):
            needed.append(f"{own}: {kind}")
        elif own == "q":  # what a person typed comes first, also if it may be nothing
            needed.append(f"{own}: {kind} = {default!r}")
        elif is_list or default is not None:
            optional.append(f"{own}: {kind} = {tuple(default or ()) if is_list else default!r}")
        else:
            optional.append(f"{own}: {kind} = ''" if kind == "str" else f"{own}: {kind} | None = None")
        value = f"texts_of({own})" if kind == "str | Sequence[str]" else own
        if one["name"] == "Idempotency-Key":
            value = f"key_of_request({own})"
        sent[one["in"]].append(f"{one['name']!r}: {f'list({own})' if is_list and value == own else value}")
        if text := " ".join(one.get("description", schema.get("description", "")).split()):
            lines.append(f"{own}: {text}")
    reader, answer = READERS.get(name, ("", _answer_of(operation) or "None"))
    reader = reader or ("" if answer != "None" else "read_nothing")
    text = re.sub(r"\{(\w+)(:\w+)?\}", r"{path_of(\1)}", path)
    star = ["*"] if optional else []
    yield f"def {name}({', '.join([*needed, *star, *optional])}) -> ApiRequest[{answer}]:"
    first, *rest = (textwrap.wrap(each, 112) for each in lines)
    doc = [*first, "", *rest[0], ""]
    doc += [("" if place == 0 else "    ") + line for each in rest[1:] for place, line in enumerate(each)]
    yield textwrap.indent('"""' + "\n".join(doc).strip() + '\n"""', "    ")
    parts = [repr(method.upper()), f"f{text!r}" if "{" in text else repr(text), "{" + ", ".join(sent["query"]) + "}"]
    if "requestBody" in operation:
        parts.append("body={" + ", ".join(sent["body"]) + "}")
    if sent["header"]:
        parts.append("headers={" + ", ".join(sent["header"]) + "}")
    if reader:
        parts.append(f"read={reader}")
    yield f"    return request({', '.join(parts)})"


def _inputs(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of an operation, and the fields of its body in the same form."""
    yield from operation.get("parameters", ())
    if body := operation.get("requestBody"):
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        schema = document["components"]["schemas"][name]
        for field, value in schema["properties"].items():
            yield {"name": field, "in": "body", "schema": value, "required": field in schema.get("required", ())}


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
        assert not keyword.iskeyword(field), field
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
        return " | ".join(dict.fromkeys(_type_of(each) for each in schema["anyOf"]))
    if "allOf" in schema:
        (one,) = schema["allOf"]
        return _type_of(one)
    match schema.get("type"):
        case "array":
            return f"list[{_type_of(schema.get('items', {}))}]"
        case "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {_type_of(values) if isinstance(values, dict) else 'Any'}]"
        case str(kind):
            return _SIMPLE[kind]
    return "Any"


def _formatted(code: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    file = ["--line-length", "120", "--stdin-filename", "made.py", "-"]
    for command in ([ruff, "check", "-q", "--select", "I", "--fix", *file], [ruff, "format", *file]):
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=True)  # noqa: S603 (our own formatter)
        code = done.stdout
    return code
