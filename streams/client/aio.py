"""The client for asyncio: `make schemas` makes it of `plain.py`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2

from . import operations, requests
from .errors import ApiError, NotDone, NotReached
from .plain_http import plain_async_client
from .requests import ApiRequest
from .streaming import EventReader, StreamEvent
from .types import CrawlAnswer, LineWritten, PageLine, PageStatement, Result

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

    search = _method(operations.search)
    feed = _method(operations.feed)
    suggest = _method(operations.suggest)
    index = _method(operations.index)
    similar = _method(operations.similar)
    entities = _method(operations.entities)
    entity_by_id = _method(operations.entity_by_id)
    answer = _method(operations.answer)
    summary = _method(operations.summary)
    rank = _method(operations.rank)
    ask = _method(operations.ask)
    related = _method(operations.related)
    site_words = _method(operations.site_words)
    put_site_words = _method(operations.put_site_words)
    page = _method(operations.page)
    document = _method(operations.document)
    extract = _method(operations.extract)
    begin_crawl = _method(operations.begin_crawl)
    list_crawls = _method(operations.list_crawls)
    crawl = _method(operations.crawl)
    cancel_crawl = _method(operations.cancel_crawl)
    put_page = _method(requests.put_page)
    delete_pages = _method(operations.delete_pages)
    make_hook = _method(operations.make_hook)
    list_hooks = _method(operations.list_hooks)
    hook = _method(operations.hook)
    remove_hook = _method(operations.remove_hook)
    switch_on_hook = _method(operations.switch_on_hook)
    exchange_secret = _method(operations.exchange_secret)
    test_hook = _method(operations.test_hook)
    deliveries = _method(operations.deliveries)

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
        after: int | None = 0
        while after is not None:
            part = await self._ask(operations.statements(page_id, ref=ref, after=after, limit=requests.PART))
            for statement in part["statements"]:
                yield statement
            ref, after = part["ref"], part.get("next")

    async def vectors(self, page_id: str, *, ref: str = "") -> AsyncIterator[list[float]]:
        """Yield the vectors of a page's statements, in the order of the statements."""
        after: int | None = 0
        while after is not None:
            part = await self._ask(operations.vectors(page_id, ref=ref, after=after, limit=requests.PART))
            for vector in part["vectors"]:
                yield vector
            ref, after = part["ref"], part.get("next")

    async def put_pages(self, pages: Iterable[PageLine]) -> AsyncIterator[LineWritten]:
        """Write pages, as many as there are, and yield the answer for each, in their order: also for those refused.

        `page_line` makes them. Requests have up to 1,000 pages; `line` of an answer counts all of them.
        """
        before = 0
        for lines in requests.batches_of(pages):
            for written in await self._ask(requests.put_lines(lines)):
                written["line"] += before
                yield written
            before += len(lines)

    async def wait_for_crawl(self, crawl_id: str, *, timeout_seconds: float = 3_600.0) -> CrawlAnswer:
        """Return a crawl when it is done, so that its pages are searchable, or cancelled. Raises NotDone."""
        ends = asyncio.get_running_loop().time() + timeout_seconds
        while True:
            crawl = await self.crawl(crawl_id)
            if crawl["state"] in ("done", "cancelled"):
                return crawl
            if asyncio.get_running_loop().time() >= ends:
                raise NotDone(f"the crawl {crawl_id} is not done after {timeout_seconds:,.0f} s. {crawl['says']}")
            await asyncio.sleep(requests.LOOK_SECONDS)

    async def crawl_events(self, crawl_id: str, *, last_event_id: str = "") -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of a crawl from its begin on, or behind a place, up to its `end`."""
        async with aclosing(self._stream(operations.crawl_events(crawl_id, last_event_id=last_event_id))) as events:
            async for event in events:
                yield event
                if event.name == "end":
                    return

    async def changes(self, *, prefix: str = "", last_event_id: str = "") -> AsyncGenerator[StreamEvent, None]:
        """Yield the pages that become searchable, or are removed, from now on, or behind a place: without an end.

        A program that ends keeps the `id` of its last event, and begins with it as `last_event_id` the next time.
        """
        async with aclosing(self._stream(operations.changes(prefix=prefix, last_event_id=last_event_id))) as events:
            async for event in events:
                yield event

    async def _stream(self, request: ApiRequest[Any]) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of a stream, which is opened again behind its last event when it ends or breaks off.

        Raises ApiError, and NotReached after some minutes without an answer.
        """
        reader, tried, tries = EventReader(request.headers.get("Last-Event-ID", "")), 0, requests.TRIES
        while True:
            failure: ApiError | NotReached | None = None
            reader.begin()
            place = {"Last-Event-ID": reader.last_id} if reader.last_id else {}
            try:
                async with self._http.stream(
                    request.method,
                    self._address + request.path,
                    params=request.parameters,
                    headers={**self._headers, **place},
                    timeout=requests.STREAM_SECONDS,
                ) as answer:
                    if answer.is_success:
                        tried, tries = 0, requests.STREAM_TRIES
                        async for chunk in answer.aiter_bytes():
                            for event in reader.read(chunk):
                                yield event
                    else:
                        await answer.aread()
                        failure = requests.error_of(answer.status_code, answer.headers, requests.content_of(answer))
            except httpx2.RequestError as error:
                failure = NotReached(f"{self._address} does not answer ({requests.reason_of(error)})")
            tried += 1
            pause = requests.pause_before(tried, failure if isinstance(failure, ApiError) else None, tries)
            if pause is None:
                raise failure or NotReached(f"{self._address} ends each stream at once")
            await asyncio.sleep(pause)

    async def _ask(self, request: ApiRequest[T]) -> T:
        """Return the answer to a request, which is repeated if that may help. Raises ApiError and NotReached."""
        tried = 0
        while True:
            tried += 1
            failure: ApiError | NotReached
            try:
                answer = await self._http.request(
                    request.method,
                    self._address + request.path,
                    params=request.parameters,
                    headers={**self._headers, **request.headers},
                    content=request.body,
                )
                if answer.is_success:
                    return request.read(answer)
                failure = requests.error_of(answer.status_code, answer.headers, requests.content_of(answer))
            except httpx2.RequestError as error:
                failure = NotReached(f"{self._address} does not answer ({requests.reason_of(error)})")
            pause = requests.pause_before(tried, failure if isinstance(failure, ApiError) else None)
            if pause is None or not request.may_be_repeated:
                raise failure
            await asyncio.sleep(pause)
