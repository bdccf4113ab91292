"""Forms that people send: read within limits, and refused if another site has sent them.

A form changes something, so a form of another site must not reach it: a request that a browser marks as coming from
another site is refused (`Sec-Fetch-Site`, `Origin`). No page needs a secret for that.
"""

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from streams.gateway.http.problems import Problem, ProblemError

MAX_FORM_BYTES = 20_000
MAX_FORM_FIELDS = 20


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a posted form, the last of each name, and the text of a file. Raises ProblemError."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise ProblemError(Problem(413, "form-too-large", "The form is too large"))
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _read_parts(request, bytes(body))
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise ProblemError(_invalid()) from None
    return {name: values[-1] for name, values in fields.items()}


async def _read_parts(request: Request, body: bytes) -> dict[str, str]:
    async def stream() -> AsyncIterator[bytes]:
        yield body

    try:
        parser = MultiPartParser(request.headers, stream(), max_files=1, max_fields=MAX_FORM_FIELDS)  # type: ignore[arg-type]  # an iterator is enough
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise ProblemError(_invalid()) from None
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        fields[name] = (await value.read()).decode("utf-8", "replace") if isinstance(value, UploadFile) else value
    await form.close()
    return fields


def refuse_other_sites(request: Request) -> None:
    """Raise ProblemError for a form of another site. A program that sends no such headers is no browser."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")
    if site != "same-origin" or foreign:
        raise ProblemError(Problem(403, "foreign-form", "This form is of another site", "Nothing was written."))


def _invalid() -> Problem:
    return Problem(400, "invalid-form", "The form can't be read", "It has too many fields, or is damaged.")
