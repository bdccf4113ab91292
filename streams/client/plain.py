"""The client for plain code."""

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2

from streams.client import requests
from streams.client.requests import ApiError, ApiRequest, NotReached
from streams.client.types import PageStatement, Result
from streams.plain_http import plain_client

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, ApiRequest[T]]) -> Callable[Concatenate["Riffle", P], T]:
    """Return the method that sends the request which `build` returns, and returns its answer."""

    def method(self: "Riffle", /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return self._ask(build(*arguments, **keywords))

    return requests.describe(method, build)


class Riffle:
    """A client of one gateway. It keeps connections open: use it as a context manager, or call `close` at the end."""

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        key: str = "",
        *,
        timeout_seconds: float = 60.0,
        http: httpx2.Client | None = None,
    ) -> None:
        """`address` is the gateway's, `key` a key of its API. `http`: a client of your own, with its own settings.

        Raises ValueError if the address does not begin with http:// or https://, or if no header can carry the key.
        """
        self._address, self._headers = requests.base_of(address), requests.headers_of(key)
        self._http = http or plain_client(timeout=timeout_seconds, follow_redirects=False)
        self._is_own = http is None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A client that was given stays open: it is its owner's."""
        if self._is_own:
            self._http.close()

    search = _method(requests.search)
    index = _method(requests.index)
    similar = _method(requests.similar)
    page = _method(requests.page)
    extract = _method(requests.extract)
    document = _method(requests.document)
    answer = _method(requests.answer)
    feed = _method(requests.feed)

    def results(self, q: str, *, limit: int = 100, **parameters: Any) -> Iterator[Result]:
        """Yield results, page by page, each once, also while pages are indexed. Parameters: as of `search`."""
        parameters.setdefault("per_page", min(limit, 50))
        cursor, left = "", limit
        while left > 0:
            answer = self.search(q, cursor=cursor, **parameters)
            for result in answer["results"][:left]:
                yield result
            left -= len(answer["results"])
            cursor = answer.get("next", "")
            if not cursor:
                return

    def statements(self, page_id: str, *, ref: str = "") -> Iterator[PageStatement]:
        """Yield all statements of an indexed page, in order. `ref`: the `statements_ref` of an event."""
        for part in self._parts(page_id, "statements", ref):
            for statement in part["statements"]:
                yield statement

    def vectors(self, page_id: str, *, ref: str = "") -> Iterator[list[float]]:
        """Yield the vectors of a page's statements, in the order of the statements."""
        for part in self._parts(page_id, "vectors", ref):
            for vector in part["vectors"]:
                yield vector

    def _parts(self, page_id: str, what: str, ref: str) -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            part = self._ask(requests.part(page_id, what, ref, after))
            yield part
            ref, after = part["ref"], part.get("next")

    def _ask(self, request: ApiRequest[T]) -> T:
        """Return the answer to a request, which is repeated if that may help. Raises ApiError and NotReached."""
        tried = 0
        while True:
            tried += 1
            failure: ApiError | NotReached
            try:
                answer = self._http.request(
                    "GET",
                    self._address + request.path,
                    params=request.parameters,
                    headers=self._headers,
                )
                if answer.is_success:
                    return request.read(answer)
                failure = requests.error_of(answer.status_code, answer.headers, requests.content_of(answer))
            except httpx2.RequestError as error:
                failure = NotReached(f"{self._address} does not answer ({requests.reason_of(error)})")
            pause = requests.pause_before(tried, failure if isinstance(failure, ApiError) else None)
            if pause is None:
                raise failure
            time.sleep(pause)
