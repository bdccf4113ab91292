"""The client for asyncio: `make schemas` makes it of `plain.py`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2

from streams.client import requests
from streams.client.requests import ApiError, ApiRequest, NotReached
from streams.client.types import PageStatement, Result
from streams.plain_http import plain_async_client

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, ApiRequest[T]]) -> Callable[Concatenate["AsyncRiffle", P], Coroutine[Any, Any, T]]:
    """Return the method that sends the request which `build` returns, and returns its answer."""

    async def method(self: "AsyncRiffle", /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return await self._ask(build(*arguments, **keywords))

    return requests.describe(method, build)


class AsyncRiffle:
    """A client of one gateway. It keeps connections open: use it as a context manager, or call `aclose` at the end."""

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        key: str = "",
        *,
        timeout_seconds: float = 60.0,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """`address` is the gateway's, `key` a key of its API. `http`: a client of your own, with its own settings.

        Raises ValueError if the address does not begin with http:// or https://, or if no header can carry the key.
        """
        self._address, self._headers = requests.base_of(address), requests.headers_of(key)
        self._http = http or plain_async_client(timeout=timeout_seconds, follow_redirects=False)
        self._is_own = http is None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. A client that was given stays open: it is its owner's."""
        if self._is_own:
            await self._http.aclose()

    search = _method(requests.search)
    index = _method(requests.index)
    similar = _method(requests.similar)
    page = _method(requests.page)
    extract = _method(requests.extract)
    document = _method(requests.document)
    answer = _method(requests.answer)
    feed = _method(requests.feed)

    async def results(self, q: str, *, limit: int = 100, **parameters: Any) -> AsyncIterator[Result]:
        """Yield results, page by page, each once, also while pages are indexed. Parameters: as of `search`."""
        parameters.setdefault("per_page", min(limit, 50))
        cursor, left = "", limit
        while left > 0:
            answer = await self.search(q, cursor=cursor, **parameters)
            for result in answer["results"][:left]:
                yield result
            left -= len(answer["results"])
            cursor = answer.get("next", "")
            if not cursor:
                return

    async def statements(self, page_id: str, *, ref: str = "") -> AsyncIterator[PageStatement]:
        """Yield all statements of an indexed page, in order. `ref`: the `statements_ref` of an event."""
        async for part in self._parts(page_id, "statements", ref):
            for statement in part["statements"]:
                yield statement

    async def vectors(self, page_id: str, *, ref: str = "") -> AsyncIterator[list[float]]:
        """Yield the vectors of a page's statements, in the order of the statements."""
        async for part in self._parts(page_id, "vectors", ref):
            for vector in part["vectors"]:
                yield vector

    async def _parts(self, page_id: str, what: str, ref: str) -> AsyncIterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            part = await self._ask(requests.part(page_id, what, ref, after))
            yield part
            ref, after = part["ref"], part.get("next")

    async def _ask(self, request: ApiRequest[T]) -> T:
        """Return the answer to a request, which is repeated if that may help. Raises ApiError and NotReached."""
        tried = 0
        while True:
            tried += 1
            failure: ApiError | NotReached
            try:
                answer = await self._http.request(
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
            await asyncio.sleep(pause)
