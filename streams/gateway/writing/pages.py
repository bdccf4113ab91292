"""`PUT` and `DELETE /api/v1/pages`: own files become pages, one or a thousand at a time, and leave the index again."""

import asyncio
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import Response

from streams.errors import UsageError
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.gateway.http.requests import api_router
from streams.gateway.writing.requests import WRITE_PROBLEMS, Body, check_prefix, parse_body, read_body, writing
from streams.media_types import media_type
from streams.writing.pages import MAX_REMOVED, OwnPages, Written
from streams.writing.rights import Writer

JSON_LINES = ("application/x-ndjson", "application/jsonl")
MAX_LINES = 1_000
MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""Maximum size of a request of JSON lines (bytes)."""
BASE64_SHARE = 3 / 4
LINE_EXTRA_BYTES = 16 * 1024
"""Maximum size of a line beside the file in it (bytes)."""
BATCH_LINES = 16
BATCH_BYTES = 16 * 1024 * 1024
"""Maximum number and size of the lines whose pages are written at once."""
WRITES_AT_ONCE = 4
"""Maximum number of requests whose files a gateway reads at once. Others wait."""
_URL = Query(max_length=2_048, description="Address of the page.", examples=["https://docs.example/guide.html"])
_PREFIX = Query(
    max_length=2_048,
    description="In place of `url`: the beginning of the addresses, with the host and a `/`.",
    examples=["https://docs.example/old/"],
)
_PROBLEMS = openapi.problem_responses("/api/v1/pages", *WRITE_PROBLEMS)


class PageLine(Body):
    """A line of many pages: the file is `text`, or `base64`."""

    url: str = Field(min_length=1, max_length=2_048)
    content_type: str = Field("text/html; charset=utf-8", max_length=200)
    text: str | None = None
    base64: str | None = None

    def body(self) -> bytes:
        """Return the file. Raises UsageError."""
        if (self.text is None) == (self.base64 is None):
            raise UsageError("a line has either `text` or `base64`")
        if self.text is not None:
            return self.text.encode("utf-8", "replace")
        try:
            return b64decode(self.base64 or "", validate=True)
        except (NoBase64, ValueError):
            raise UsageError("`base64` is not valid") from None


class PageWritten(ApiModel):
    """A page that the stages have now: its history says what becomes of it."""

    url: str
    page_id: UUID
    status: Literal["accepted"] = "accepted"
    history: str = Field(description="The path of its history: whether it is searchable, or why not.")


class LineWritten(ApiModel):
    """The answer for one of many pages."""

    line: int = Field(description="Its place in the request, from 1.")
    status: Literal["accepted", "refused"]
    url: str | None = None
    page_id: UUID | None = None
    history: str | None = Field(None, description="The path of its history: whether it is searchable, or why not.")
    problem: dict[str, Any] | None = None


def _line_schema() -> dict[str, str]:
    schema = LineWritten.model_json_schema()
    schema["properties"]["problem"] = openapi.reference("Problem")
    openapi.name_schemas({LineWritten.__name__: schema})
    return openapi.reference(LineWritten.__name__)


class PagesRemoved(ApiModel):
    """The pages that leave the index now."""

    removed: int = Field(description=f"At most {MAX_REMOVED:,}.")
    more: bool = Field(False, description="There are more of them: ask again.")


def own_page_routes(context: GatewayContext, pages: OwnPages, guard: Guard) -> APIRouter:
    router = api_router("writing")
    charged = Annotated[Charge, Depends(guard.needs("write"))]
    places = asyncio.Semaphore(WRITES_AT_ONCE)
    max_bytes = context.settings.crawl.max_body_bytes
    done = openapi.written_response(
        PageWritten,
        "The stages have the page. JSON lines: an answer for each, also for those not taken",
        "page_written",
    )
    example = {"line": 1, **openapi.EXAMPLES["page_written"]}
    done["content"][JSON_LINES[0]] = {"schema": _line_schema(), "example": example}

    @router.put(
        "/pages",
        summary="Write own pages",
        description=(
            "The body is a file (HTML, Markdown, text, PDF, EPUB, OpenDocument, Office, RTF) with its media type, and "
            f"becomes the page at `url`. Or it is JSON lines (`application/x-ndjson`) of up to {MAX_LINES:,} pages: "
            "`url`, `content_type`, and `text` or `base64`. They are answered with a line for each."
        ),
        response_class=Response,
        responses={200: done, **_PROBLEMS},
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    "text/html": {"schema": {"type": "string"}, "example": "<title>Guide</title><p>Press the key."},
                    JSON_LINES[0]: {"schema": openapi.body_schema(PageLine)},
                },
            }
        },
    )
    async def put_pages(charge: charged, request: Request, url: Annotated[str, _URL] = "") -> Response:
        writer = await guard.writer_of(charge)
        content_type = request.headers.get("content-type", "")
        if media_type(content_type).essence in JSON_LINES:
            if url:
                raise ProblemError(invalid_parameter("url", "Each line has its own `url`."))
            async with places:
                answers = [line async for line in _put_lines(request, charge, writer)]
            return Response(b"".join(answers), 200, _NO_STORE, JSON_LINES[0])
        if not url:
            raise ProblemError(invalid_parameter("url", "The address of the page is missing."))
        async with places:
            written = await _put(charge, writer, url, content_type, await read_body(request, max_bytes))
        return Response(_accepted(written).model_dump_json().encode(), 200, _NO_STORE, "application/json")

    @router.delete(
        "/pages",
        summary="Remove own pages",
        description="A page leaves the index, and comes back when it is written again: no crawl brings it back.",
        responses={200: openapi.json_response("They leave the index now", "pages_removed"), **_PROBLEMS},
    )
    async def delete_pages(
        charge: charged, url: Annotated[str, _URL] = "", prefix: Annotated[str, _PREFIX] = ""
    ) -> PagesRemoved:
        if bool(url) == bool(prefix):
            raise ProblemError(invalid_parameter("url", "Name either `url` or `prefix`."))
        writer = await guard.writer_of(charge)
        async with writing(context):
            address = pages.address_of(writer, url or prefix)
            if url:
                await pages.remove(writer, address)
                return PagesRemoved(removed=1)
            check_prefix(prefix, "https://docs.example/old/")
            found = await pages.remove_below(writer, address)
        return PagesRemoved(removed=found.removed, more=found.more)

    async def _put(charge: Charge, writer: Writer, url: str, content_type: str, body: bytes) -> Written:
        """Write one page. Raises ProblemError."""
        async with writing(context):
            address = pages.address_of(writer, url)
        await guard.take_quota(charge, 1)
        async with writing(context):
            written = await pages.put(address, content_type, body)
        if written.refused:
            raise ProblemError(_refused(written))
        return written

    async def _put_line(request: Request, charge: Charge, writer: Writer, number: int, line: bytes) -> bytes:
        """Write the page of a line, and return the answer."""
        try:
            given = parse_body(line, PageLine)
            async with writing(context):
                body = given.body()
                if len(body) > max_bytes:
                    raise UsageError(f"the file has more than {max_bytes:,} bytes")
            answer = _accepted(await _put(charge, writer, given.url, given.content_type, body)).model_dump(mode="json")
        except ProblemError as error:
            answer = _refused_line(request, error)
        return orjson.dumps({"line": number, **answer}, option=orjson.OPT_APPEND_NEWLINE)

    async def _put_lines(request: Request, charge: Charge, writer: Writer) -> AsyncIterator[bytes]:
        """Write the pages of all lines, some at once, and yield an answer for each, in their order.

        A body that breaks a limit has a last answer that says so: what stood before is written.
        """
        number = 0
        try:
            async for batch in _batches(_lines(request, int(max_bytes / BASE64_SHARE) + LINE_EXTRA_BYTES)):
                first, number = number + 1, number + len(batch)
                lines = (_put_line(request, charge, writer, n, line) for n, line in enumerate(batch, first))
                for answer in await asyncio.gather(*lines):
                    yield answer
        except ProblemError as error:
            last = {"line": number + 1, **_refused_line(request, error)}
            yield orjson.dumps(last, option=orjson.OPT_APPEND_NEWLINE)

    return router


_NO_STORE = {"Cache-Control": "no-store"}


def _accepted(written: Written) -> PageWritten:
    return PageWritten(url=written.url, page_id=written.page_id, history=f"/api/v1/pages/{written.page_id}")


def _refused(written: Written) -> Problem:
    if written.refused == "removed on request":
        hint = "Only the operator brings it back: `riffle remove --undo`."
        return Problem("not-writable", "The page was removed on request.", hint)
    reason = written.refused
    return Problem("invalid-body", f"{reason[:1].upper()}{reason[1:]}.")


def _refused_line(request: Request, error: ProblemError) -> dict[str, Any]:
    return {"status": "refused", "problem": error.problem.to_json(request.url.path)}


async def _batches(lines: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield lines together that are handled at once: few, and of a bounded size. A fault comes behind what is whole."""
    batch: list[bytes] = []
    try:
        async for line in lines:
            batch.append(line)
            if len(batch) == BATCH_LINES or sum(map(len, batch)) > BATCH_BYTES:
                yield batch
                batch = []
    except ProblemError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


async def _lines(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the lines of a body that are not empty. Raises ProblemError for one that is too long, or too many."""
    left, total, count = bytearray(), 0, 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > MAX_REQUEST_BYTES:
            raise ProblemError(Problem("too-large", f"The body has more than {MAX_REQUEST_BYTES:,} bytes."))
        left += chunk
        if b"\n" not in chunk and len(left) <= max_bytes:
            continue
        *whole, rest = left.split(b"\n")
        left = bytearray(rest)
        for line in whole:
            if line.strip():
                count += 1
                yield _bounded(bytes(line), max_bytes, count)
        _bounded(bytes(left), max_bytes, count)
    if left.strip():
        yield _bounded(bytes(left), max_bytes, count + 1)


def _bounded(line: bytes, max_bytes: int, number: int) -> bytes:
    if number > MAX_LINES:
        raise ProblemError(Problem("too-large", f"The body has more than {MAX_LINES:,} lines."))
    if len(line) > max_bytes:
        raise ProblemError(Problem("too-large", f"A line has more than {max_bytes:,} bytes."))
    return line
