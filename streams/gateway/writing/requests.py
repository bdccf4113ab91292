"""Parts of the routes that write: bodies with a bound, repetitions, and stores or Kafka that do not answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from streams.allowed_origins import AllowedOrigins, origin_of
from streams.crawl.domains import is_page_below
from streams.crawl.urls import InvalidUrl, possible_urls
from streams.errors import RiffleError, UsageError
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.problems import RETRY_SECONDS, Problem, ProblemError
from streams.gateway.http.requests import read_bytes
from streams.writing.idempotency import MAX_CHARS, OtherRequest, Repetitions, StillAnswered
from streams.writing.pages import WRITE_SECONDS
from streams.writing.rights import NotWritable

MAX_JSON_BYTES = 64 * 1024
Model = TypeVar("Model", bound=BaseModel)
WRITE_PROBLEMS = (
    *openapi.ACCESS_PROBLEMS,
    ("The body is not valid, or a value in it", Problem("invalid-body", "depth: Input should be greater than 0.")),
    ("The request is too large", Problem("too-large", f"The body has more than {MAX_JSON_BYTES:,} bytes.")),
)
"""The problems of all requests that write."""
REPEATED_PROBLEMS = (
    ("Another request with this `Idempotency-Key` is being answered", Problem("still-answered")),
    ("This `Idempotency-Key` was used for another request", Problem("repeated-otherwise")),
)
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A name of this request that you choose. A repetition within a day gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
}


class Body(BaseModel):
    """The body of a request. Fields that it does not have are refused: a misspelt one would do something else."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def json_body(model: type[BaseModel], example: Mapping[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what OpenAPI says of a body that `parse_body` reads, and of headers."""
    content = {"application/json": {"schema": openapi.body_schema(model), "example": example}}
    return {"requestBody": {"required": True, "content": content}, "parameters": list(parameters)}


async def read_body(request: Request, max_bytes: int = MAX_JSON_BYTES) -> bytes:
    """Return the body. Raises ProblemError for one that is longer."""
    return await read_bytes(request, max_bytes, Problem("too-large", f"The body has more than {max_bytes:,} bytes."))


def parse_body(body: bytes, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(step) for step in fault["loc"])[:100]
        detail = f"{name}: {fault['msg']}." if name else f"{fault['msg']}."
        hint = f"The fields are {', '.join(model.model_fields)}."
        raise ProblemError(Problem("invalid-body", detail, hint, name)) from None


def check_prefix(text: str, example: str) -> None:
    """Raise UsageError if a text can't be the beginning of the addresses of a host's pages."""
    if "/" not in text.split("://", 1)[-1]:
        raise UsageError(f"a prefix has the host and a `/`, such as {example}")


def prefix_of(text: str, origins: AllowedOrigins, hosts: Collection[str]) -> str:
    """Return the beginning of the addresses that a client wants to hear of, as pages have it. Raises UsageError.

    It is public, as addresses of the web are, unless the operator named its origin, or the key its host: `hosts`. A
    name that can't be public stays as it is: who names it gets no page by that.
    """
    if not text:
        return ""
    check_prefix(text, "https://docs.example/")
    try:
        public, own = (found := possible_urls(text))[0], found[-1]
    except InvalidUrl as error:
        raise UsageError(f"{text[:200]!r} can't be the beginning of an address: {error}") from None
    return own if origins.allows(origin_of(own)) or is_page_below(own, hosts) else origins.place(public)


@asynccontextmanager
async def writing(context: GatewayContext) -> AsyncIterator[None]:
    """Limit the time of what is written, and make problems of failures. Raises ProblemError."""
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            yield
    except NotWritable as error:
        raise ProblemError(Problem("not-writable", _sentence(error), "Use a key of that domain.")) from error
    except UsageError as error:
        raise ProblemError(Problem("invalid-body", _sentence(error))) from error
    except (RiffleError, TimeoutError) as error:
        context.metrics.count_failure("records", error)
        detail = "Kafka or the store of page records does not answer. Nothing says what was written before."
        hint = "Repeat the request in a few seconds: with the same `Idempotency-Key`, nothing is done twice."
        headers = {"Retry-After": str(RETRY_SECONDS)}
        raise ProblemError(Problem("unavailable", detail, hint, headers=headers)) from error


async def once(
    context: GatewayContext,
    repetitions: Repetitions,
    request: Request,
    client: str,
    body: bytes,
    do: Callable[[str], Awaitable[BaseModel]],
) -> Response:
    """Answer a request that makes something: `do` gets the id of what is made, and returns the answer.

    With an `Idempotency-Key`, a repetition gets the first answer, and an id that follows from the key: so a repetition
    after a crash makes nothing a second time. Raises ProblemError.
    """
    given = request.headers.get("idempotency-key")
    if given is None:
        return _made(_packed(await do(uuid4().hex[:12])))
    if not 1 <= len(given) <= MAX_CHARS:
        raise ProblemError(Problem("invalid-body", f"`Idempotency-Key` has 1 to {MAX_CHARS} characters."))
    what = f"{request.method} {request.url.path}\n".encode() + body
    repeatable = repetitions.of(client, given, what, uuid4().hex)
    try:
        async with writing(context):
            answer = await repeatable.begin()
    except ProblemError as problem:
        match problem.__cause__:
            case OtherRequest():
                hint = "Choose another `Idempotency-Key` for another request."
                raise ProblemError(Problem("repeated-otherwise", hint=hint)) from None
            case StillAnswered():
                again = {"Retry-After": "1"}
                raise ProblemError(Problem("still-answered", hint="Ask again in a second.", headers=again)) from None
        raise
    if answer is None:
        try:
            answer = _packed(await do(repeatable.id))
        except BaseException:
            async with writing(context):
                await repeatable.give_up()
            raise
        async with writing(context):
            await repeatable.keep(answer)
    return _made(answer)


def _packed(answer: BaseModel) -> bytes:
    return answer.model_dump_json(exclude_none=True).encode()


def _made(answer: bytes) -> Response:
    location = orjson.loads(answer).get("self", "")
    headers = {"Cache-Control": "no-store", **({"Location": location} if location else {})}
    return Response(answer, 201, headers, "application/json")


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
