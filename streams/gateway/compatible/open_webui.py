"""`/openwebui/search` and `/openwebui/load`: the external search engine and the external web loader of Open WebUI.

Open WebUI documents both as requests that it sends to a server of one's own (docs.openwebui.com).
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.compatible.loading import PageLoader
from streams.gateway.compatible.shown import results_of, text_of
from streams.gateway.http.requests import compatible_router, read_json
from streams.gateway.search.service import SearchService
from streams.search.request import MAX_PER_PAGE, Parameters

MAX_BODY_BYTES = 100_000


class WebSearch(BaseModel):
    """A search, as Open WebUI sends it."""

    query: str
    count: int = Field(5, ge=1, le=MAX_PER_PAGE)


class WebLoad(BaseModel):
    """The pages to load, as Open WebUI sends them."""

    urls: tuple[str, ...]


def open_webui_routes(service: SearchService, loader: PageLoader, guard: Guard) -> APIRouter:
    router = compatible_router("/openwebui")

    @router.post("/search")
    async def search(
        request: Request, charge: Annotated[Charge, Depends(guard.needs("search"))]
    ) -> list[dict[str, str]]:
        sent = await read_json(request, WebSearch, MAX_BODY_BYTES)
        answer = await service.ask(sent.query, charge, Parameters(per_page=sent.count))
        return [{"link": each.url, "title": each.title, "snippet": text_of(each)} for each in results_of(answer)]

    @router.post("/load")
    async def load(request: Request, charge: Annotated[Charge, Depends(guard.needs("pages"))]) -> list[dict[str, Any]]:
        """Return the pages that have a text: Open WebUI has no place for the others."""
        sent = await read_json(request, WebLoad, MAX_BODY_BYTES)
        pages = await loader.load(sent.urls, charge)
        return [
            {
                "page_content": page.text,
                "metadata": {"source": page.asked, "title": page.title, "language": page.language},
            }
            for page in pages
            if page.text
        ]

    return router
