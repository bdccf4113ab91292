"""The form of requests and their answers, and when a failed one is repeated: both forms of the client share it. Pure.

`operations` has a function for each operation of the OpenAPI document. What a document can't say is here.
"""

import inspect
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import update_wrapper
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx2

from .errors import ApiError, NotReached
from .streaming import EventReader
from .types import LineWritten, PageLine, PageWritten

TRIES = 3
"""Maximum number of tries of a request."""
STREAM_TRIES = 8
"""Maximum number of tries to open a stream again that broke off: some minutes, in which a gateway starts anew."""
STREAM_SECONDS = 60.0
"""Time without a sign of life after which a stream counts as broken off (seconds). The gateway sends one each 15 s."""
LOOK_SECONDS = 2.0
"""Pause between two looks at a crawl (seconds)."""
PAUSE_SECONDS = 0.5
"""Pause before the second try (seconds). It doubles with each try."""
MAX_PAUSE_SECONDS = 30.0
"""Maximum pause that the gateway may ask for (`Retry-After`). A longer one is an error at once."""
AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which a request is repeated, if it may be."""
PART = 500
"""Number of statements or vectors of a request."""
LINES = 1_000
LINES_BYTES = 32 * 1024 * 1024
"""Maximum number and size of the pages of one request (bytes)."""
JSON_LINES = "application/x-ndjson"
USER_AGENT = "riffle-python/1"

T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class ModelAnswer(TypedDict):
    """The events of an answer by a language model, after its end."""

    sentences: list[dict[str, Any]]
    """Each has its `text`, and the `statement` that says it, with `url`, `title` and `text`."""
    end: dict[str, Any]
    """The outcome: `status`, and the `reason` why there is no answer."""


class RankedPages(TypedDict):
    """The results of a query, ordered by a criterion."""

    pages: list[dict[str, Any]]
    """Each has its `url`, its `place` before, its `judgement`, and the statements that `met` the criterion."""
    end: dict[str, Any]
    """The outcome: `status`, and the `reason` why nothing was judged."""


class AnswerInSteps(TypedDict):
    """The events of a question in steps, after its end."""

    steps: list[dict[str, Any]]
    """Each step when it has ended, with what it `asked` and found."""
    parts: list[dict[str, Any]]
    """Each has its `text`, whether it is `open`, and its `statements`, word for word."""
    end: dict[str, Any]
    """The outcome: what stayed `open`, why the research ended (`end`), and what it has `spent`."""


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[T]):
    """A request to the API, and the function that reads its answer."""

    path: str
    parameters: Mapping[str, Any]
    read: Callable[[httpx2.Response], T]
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def may_be_repeated(self) -> bool:
        """True if a second request changes no more than the first one did."""
        return self.method != "POST" or "Idempotency-Key" in self.headers


def request(
    method: str,
    path: str,
    query: Mapping[str, Any],
    *,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    read: Callable[[httpx2.Response], Any] | None = None,
) -> ApiRequest[Any]:
    """Return a request. Values that are empty are left out: the gateway has its own in their place."""
    given = {name: _text(value) for name, value in query.items() if not _is_empty(value)}
    sent = {name: value for name, value in (headers or {}).items() if value}
    content = None
    if body is not None:
        content = json.dumps({name: value for name, value in body.items() if not _is_empty(value)}).encode()
        sent["Content-Type"] = "application/json"
    return ApiRequest(f"/api/v1{path}", given, read or read_object, method, sent, content)


def put_page(url: str, content: bytes | str, content_type: str = "text/html; charset=utf-8") -> ApiRequest[PageWritten]:
    """Write a file as the page at an address: HTML, Markdown, text, PDF, EPUB or an office file with its media type.

    `history` of the answer is the path of its history: `page` says whether it is searchable, or why not.
    """
    body = content.encode() if isinstance(content, str) else content
    return ApiRequest("/api/v1/pages", {"url": url}, read_object, "PUT", {"Content-Type": content_type}, body)


def put_lines(lines: Sequence[bytes]) -> ApiRequest[list[LineWritten]]:
    """Write pages, each of which is a line of JSON: 1,000 at most."""
    headers = {"Content-Type": JSON_LINES, "Accept": JSON_LINES}
    return ApiRequest("/api/v1/pages", {}, _read_lines, "PUT", headers, b"\n".join(lines))


def batches_of(pages: Iterable[PageLine]) -> Iterator[list[bytes]]:
    """Yield the pages of each request as lines of JSON: bounded in number and size."""
    batch: list[bytes] = []
    size = 0
    for page in pages:
        line = json.dumps(page, ensure_ascii=False).encode("utf-8", "replace")
        if batch and (len(batch) == LINES or size + len(line) > LINES_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield batch


def describe(method: Method, build: Callable[..., Any]) -> Method:
    """Return a method of a client with the name, documentation and parameters of the function that `build` is."""
    own = inspect.signature(build)
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    update_wrapper(method, build)
    method.__dict__["__signature__"] = own.replace(parameters=[client, *own.parameters.values()])
    return method


def content_of(answer: httpx2.Response) -> Any:
    """Return the JSON of an answer; None if it is none."""
    try:
        return answer.json()
    except ValueError:
        return None


def read_object(answer: httpx2.Response) -> Any:
    content = content_of(answer)
    if not isinstance(content, dict):  # such as the page of a proxy where people sign in
        raise error_of(answer.status_code, answer.headers, content)
    return content


def read_text(answer: httpx2.Response) -> str:
    return answer.text


def read_nothing(answer: httpx2.Response) -> None:
    return None


def read_answer(answer: httpx2.Response) -> ModelAnswer:
    """Return the whole answer of a language model. Raises NotReached if it broke off."""
    sentences, end = _read_events(answer, "sentence")
    return {"sentences": sentences, "end": end}


def read_ranked(answer: httpx2.Response) -> RankedPages:
    """Return all results with their judgements. Raises NotReached if the answer broke off."""
    pages, end = _read_events(answer, "page")
    return {"pages": pages, "end": end}


def read_steps(answer: httpx2.Response) -> AnswerInSteps:
    """Return the steps, the parts and the end of a question in steps. Raises NotReached if it broke off."""
    steps, _ = _read_events(answer, "step")
    parts, end = _read_events(answer, "part")
    return {"steps": [each for each in steps if each["done"]], "parts": parts, "end": end}


def _read_events(answer: httpx2.Response, wanted: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    events = list(EventReader().read(answer.content))
    end = next((event.data for event in events if event.name == "end"), None)
    if end is None:
        raise NotReached(f"the answer of {answer.url.scheme}://{answer.url.netloc.decode()} broke off before its end")
    return [event.data for event in events if event.name == wanted], end


def _read_lines(answer: httpx2.Response) -> list[LineWritten]:
    try:
        return [json.loads(line) for line in answer.content.splitlines() if line.strip()]
    except ValueError:
        raise error_of(answer.status_code, answer.headers, None) from None


def page_line(url: str, content: bytes | str, content_type: str = "text/html; charset=utf-8") -> PageLine:
    """Return a page for `put_pages`: its address, a file, and the media type of the file."""
    if isinstance(content, str):
        return {"url": url, "content_type": content_type, "text": content}
    return {"url": url, "content_type": content_type, "base64": b64encode(content).decode()}


def path_of(text: object) -> str:
    """Return a text as one step of a path."""
    return quote(str(text), safe="")


def key_of_request(given: str) -> str:
    """Return the `Idempotency-Key` that a caller gave, or a new one: so a request may be repeated."""
    return given or uuid4().hex


def pause_before(tried: int, error: ApiError | None, tries: int = TRIES) -> float | None:
    """Return the pause before the next try (seconds), or None if there is none. `tried`: number of tries so far."""
    if tried >= tries or (error is not None and error.status not in AGAIN):
        return None
    if error is not None and error.retry_after_seconds is not None:
        return error.retry_after_seconds if error.retry_after_seconds <= MAX_PAUSE_SECONDS else None
    if error is not None and error.kind in ("not-fetched", "not-readable"):
        return None
    return min(PAUSE_SECONDS * 2.0 ** (tried - 1), MAX_PAUSE_SECONDS)


def base_of(address: str) -> str:
    """Return the gateway's address without a slash at its end. Raises ValueError if it is no address of HTTP."""
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"the gateway's address begins with http:// or https://, and this one does not: {address!r}")
    try:
        httpx2.URL(address)
    except httpx2.InvalidURL as error:
        raise ValueError(f"the gateway's address {address!r} can't be read: {error}") from error
    return address.rstrip("/")


def texts_of(texts: str | Sequence[str]) -> list[str]:
    """Return a list of texts. One text is a list of one, and not of its letters."""
    return [texts] if isinstance(texts, str) else list(texts)


def headers_of(key: str) -> dict[str, str]:
    """Return the headers of each request. White space around a key does not count: a file ends with a line's end.

    Raises ValueError, without the key, if no header can carry it.
    """
    key = key.strip()
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("the key has a character that no key has: a space, a control character, or one beyond ASCII")
    return {
        "User-Agent": USER_AGENT,
        "Accept": "application/json",
        **({"Authorization": f"Bearer {key}"} if key else {}),
    }


def reason_of(error: Exception) -> str:
    """Return the reason of a failed request. An illegal request has none: its text shows headers, and so secrets."""
    return type(error).__name__ if isinstance(error, httpx2.LocalProtocolError) else str(error) or type(error).__name__


def error_of(status: int, headers: Mapping[str, str], content: Any) -> ApiError:
    """Return the error of an answer with a problem, or of an answer of something else, such as a proxy."""
    problem = content if isinstance(content, dict) else {"title": "No answer of a Riffle gateway"}
    return ApiError(status, problem, _seconds_of(headers.get("retry-after", ""), headers.get("date", "")))


def _seconds_of(after: str, date: str) -> float | None:
    """Return the seconds of `Retry-After` (RFC 9110, 10.2.3): a number, or a time after the answer's `Date`."""
    if after.isascii() and after.isdigit():
        return float(after)
    try:
        seconds = (parsedate_to_datetime(after) - parsedate_to_datetime(date)).total_seconds()
    except (TypeError, ValueError):
        return None
    return max(seconds, 0.0)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple) and not value)


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value
