"""The API key of each request to Qdrant, as its file has it at that moment."""

import httpx

from streams.settings import QdrantSettings


class SignedRequests(httpx.AsyncBaseTransport):
    """A transport that adds the API key and passes on to `inner`. Raises UsageError if its file was never readable."""

    def __init__(self, settings: QdrantSettings, inner: httpx.AsyncBaseTransport) -> None:
        self._settings, self._inner = settings, inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if key := self._settings.current_api_key():
            request.headers["api-key"] = key
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
