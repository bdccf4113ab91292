"""The requests of the client, and when a failed one is repeated: what both forms of the client share. Pure."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import update_wrapper
from typing import Any, Generic, Literal, TypedDict, TypeVar
from urllib.parse import quote

import httpx2

from streams.client.types import Extract, IndexContents, PageDocument, PageRecord, SearchAnswer, SimilarAnswer

TRIES = 3
"""Maximum number of tries of a request."""
PAUSE_SECONDS = 0.5
"""Pause before the second try (seconds). It doubles with each try."""
MAX_PAUSE_SECONDS = 30.0
"""Maximum pause that the gateway may ask for (`Retry-After`). A longer one is an error at once."""
AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which a request is repeated: the client only reads, so each request may be repeated."""
PART = 500
"""Number of statements or vectors of a request."""
USER_AGENT = "riffle-python/1"

Sort = Literal["relevance", "date"]
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class ApiError(Exception):
    """The gateway refused a request, or could not answer it: the problem (RFC 9457) that it sent."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after_seconds: float | None = None) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).removeprefix("urn:riffle:problem:")
        """The kind of the problem, such as `too-many-requests`. Kinds are stable."""
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        self.hint = str(problem.get("hint", ""))
        self.parameter = str(problem.get("parameter", ""))
        self.retry_after_seconds = retry_after_seconds
        parts = (f"{status} {self.title}".strip(), self.detail, self.hint)
        super().__init__(": ".join(part for part in parts[:2] if part) + (f" {self.hint}" if self.hint else ""))


class NotReached(Exception):
    """The gateway can't be reached, or did not answer in time."""


class ModelAnswer(TypedDict):
    """The events of an answer by a language model, after its end."""

    sentences: list[dict[str, Any]]
    """Each has its `text`, and the `statement` that says it, with `url`, `title` and `text`."""
    end: dict[str, Any]
    """The outcome: `status`, and the `reason` why there is no answer."""


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[T]):
    """A GET request to the API, and the function that reads its answer."""

    path: str
    parameters: Mapping[str, Any]
    read: Callable[[httpx2.Response], T]


def search(
    q: str,
    *,
    page: int = 1,
    per_page: int = 10,
    cursor: str = "",
    host: str = "",
    language: str = "",
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    sort: Sort = "relevance",
    exact: bool = False,
    explain: bool = False,
) -> ApiRequest[SearchAnswer]:
    """Search, and return one page of results. Raises ApiError and NotReached."""
    place: dict[str, Any] = {"page": page, "per_page": per_page, "cursor": cursor, "sort": sort}
    where: dict[str, Any] = {"host": host, "include": texts_of(include), "exclude": texts_of(exclude)}
    return _get("search", q=q, **place, **where, language=language, exact=exact, explain=explain)


def index() -> ApiRequest[IndexContents]:
    """Return hosts and languages of a sample of the pages that the key can find."""
    return _get("index")


def similar(page: str, count: int = 10) -> ApiRequest[SimilarAnswer]:
    """Return pages whose content is similar to a page's, given by its id or URL."""
    return _get("similar", page=page, count=count)


def page(page: str) -> ApiRequest[PageRecord]:
    """Return the whole history of a page, given by its id or URL: why it is, or is not, indexed."""
    return _get(_page_path(page))


def extract(url: str, *, fetch: bool = False) -> ApiRequest[Extract]:
    """Return the document, statements and facts of a page. With `fetch`, an unknown page is fetched now."""
    return _get("extract", url=url, fetch=fetch)


def document(page_id: str, *, ref: str = "") -> ApiRequest[PageDocument]:
    """Return the document of an indexed page. `ref`: the `document_ref` of an event."""
    return _get(f"{_page_path(page_id)}/document", ref=ref)


def part(page_id: str, what: str, ref: str, after: int) -> ApiRequest[dict[str, Any]]:
    """Return a part of the `statements` or `vectors` of an indexed page."""
    return _get(f"{_page_path(page_id)}/{what}", ref=ref, after=after, limit=PART)


def answer(q: str, *, then: str | Sequence[str] = ()) -> ApiRequest[ModelAnswer]:
    """Return the answer of the gateway's language model. `then`: the further questions of a conversation.

    Raises ApiError, of the kind `no-model` where the gateway has none, and NotReached if the answer broke off.
    """
    return _get("answer", _read_answer, q=q, then=texts_of(then))


def feed(q: str) -> ApiRequest[str]:
    """Return the newest results of a query as a feed (Atom)."""
    return _get("feed", lambda answer: answer.text, q=q)


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


def _read_object(answer: httpx2.Response) -> Any:
    content = content_of(answer)
    if not isinstance(content, dict):  # such as the page of a proxy where people sign in
        raise error_of(answer.status_code, answer.headers, content)
    return content


def _read_answer(answer: httpx2.Response) -> ModelAnswer:
    events = list(events_of(answer.text))
    sentences = [content for name, content in events if name == "sentence"]
    end = dict(events).get("end")
    if not end:
        raise NotReached(f"the answer of {answer.url.scheme}://{answer.url.netloc.decode()} broke off before its end")
    return {"sentences": sentences, "end": end}


def _get(path: str, read: Callable[[httpx2.Response], Any] = _read_object, **parameters: Any) -> ApiRequest[Any]:
    """Return a request. Parameters without a value are left out."""
    given = {name: _text(value) for name, value in parameters.items() if value not in (None, "", [], ())}
    return ApiRequest(f"/api/v1/{path}", given, read)


def _page_path(page: str) -> str:
    return f"pages/{quote(str(page), safe='')}"


def pause_before(tried: int, error: ApiError | None) -> float | None:
    """Return the pause before the next try (seconds), or None if there is none. `tried`: number of tries so far."""
    if tried >= TRIES or (error is not None and error.status not in AGAIN):
        return None
    if error is not None and error.retry_after_seconds is not None:
        return error.retry_after_seconds if error.retry_after_seconds <= MAX_PAUSE_SECONDS else None
    if error is not None and error.kind in ("not-fetched", "not-readable"):
        return None
    return PAUSE_SECONDS * 2.0 ** (tried - 1)


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


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else list(value) if isinstance(value, tuple) else value


def events_of(stream: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the content of each event, as the API writes them, up to an event that broke off."""
    for block in stream.strip().split("\n\n"):
        name, _, data = block.partition("\n")
        if name.startswith("event: ") and data.startswith("data: "):
            try:
                content = json.loads(data[6:])
            except ValueError:
                return
            yield name[7:], content
