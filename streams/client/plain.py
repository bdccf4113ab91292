"""The client for plain code."""

import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self, cast

import httpx2

from streams.client import requests
from streams.client.requests import ApiError, ApiRequest, ModelAnswer, NotReached, answer_of
from streams.client.types import (
    Extract,
    PageDocument,
    PageRecord,
    PageStatement,
    Result,
    SearchAnswer,
    SimilarAnswer,
)

Sort = Literal["relevance", "date"]


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
        self._http = http or httpx2.Client(timeout=timeout_seconds, follow_redirects=False)
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

    def search(
        self,
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
    ) -> SearchAnswer:
        """Search, and return one page of results. Raises ApiError and NotReached."""
        request = requests.get(
            "search",
            q=q,
            page=page,
            per_page=per_page,
            cursor=cursor,
            host=host,
            language=language,
            include=requests.texts_of(include),
            exclude=requests.texts_of(exclude),
            sort=sort,
            exact=exact,
            explain=explain,
        )
        return cast(SearchAnswer, self._json(request))

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

    def similar(self, page: str, count: int = 10) -> SimilarAnswer:
        """Return pages whose content is similar to a page's, given by its id or URL."""
        return cast(SimilarAnswer, self._json(requests.get("similar", page=page, count=count)))

    def page(self, page: str) -> PageRecord:
        """Return the whole history of a page, given by its id or URL: why it is, or is not, indexed."""
        return cast(PageRecord, self._json(requests.get(requests.page_path(page))))

    def extract(self, url: str, *, fetch: bool = False) -> Extract:
        """Return the document, statements and facts of a page. With `fetch`, an unknown page is fetched now."""
        return cast(Extract, self._json(requests.get("extract", url=url, fetch=fetch)))

    def document(self, page_id: str, *, ref: str = "") -> PageDocument:
        """Return the document of an indexed page. `ref`: the `document_ref` of an event."""
        return cast(PageDocument, self._json(requests.get(f"{requests.page_path(page_id)}/document", ref=ref)))

    def statements(self, page_id: str, *, ref: str = "") -> Iterator[PageStatement]:
        """Yield all statements of an indexed page, in order. `ref`: the `statements_ref` of an event."""
        for part in self._parts(page_id, "statements", ref):
            for statement in part["statements"]:
                yield cast(PageStatement, statement)

    def vectors(self, page_id: str, *, ref: str = "") -> Iterator[list[float]]:
        """Yield the vectors of a page's statements, in the order of the statements."""
        for part in self._parts(page_id, "vectors", ref):
            for vector in part["vectors"]:
                yield cast(list[float], vector)

    def answer(self, q: str, *, then: str | Sequence[str] = ()) -> ModelAnswer:
        """Return the answer of the gateway's language model. `then`: the further questions of a conversation.

        Raises ApiError, of the kind `no-model` where the gateway has none, and NotReached if the answer broke off.
        """
        answer = self._ask(requests.get("answer", q=q, then=requests.texts_of(then)))
        found = answer_of(answer.text)
        if not found["end"]:
            raise NotReached(f"the answer of {self._address} broke off before its end")
        return found

    def feed(self, q: str) -> str:
        """Return the newest results of a query as a feed (Atom)."""
        answer = self._ask(requests.get("feed", q=q))
        return answer.text

    def _parts(self, page_id: str, what: str, ref: str) -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            path = f"{requests.page_path(page_id)}/{what}"
            part = self._json(requests.get(path, ref=ref, after=after, limit=requests.PART))
            yield part
            ref, after = part["ref"], part.get("next")

    def _json(self, request: ApiRequest) -> Any:
        answer = self._ask(request)
        content = _content_of(answer)
        if not isinstance(content, dict):  # such as the page of a proxy where people sign in
            raise requests.error_of(answer.status_code, answer.headers, content)
        return content

    def _ask(self, request: ApiRequest) -> httpx2.Response:
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
                    return answer
                failure = requests.error_of(answer.status_code, answer.headers, _content_of(answer))
            except httpx2.RequestError as error:
                failure = NotReached(f"{self._address} does not answer ({requests.reason_of(error)})")
            pause = requests.pause_before(tried, failure if isinstance(failure, ApiError) else None)
            if pause is None:
                raise failure
            time.sleep(pause)


def _content_of(answer: httpx2.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
