"""Static files: stylesheet, icon, robots.txt, and the OpenSearch description for browsers."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from streams.gateway.http.templates import Views

_KEPT_OUT = ("/search", "/sites/", "/act", "/page", "/labs/", "/api/")
ROBOTS = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in _KEPT_OUT)
"""The gateway's robots.txt. Results come from other sites' pages: other search engines should crawl those pages."""
_DAY = {"Cache-Control": "public, max-age=86400"}


def static_routes(views: Views, public_url: str) -> APIRouter:
    """Return the routes. `public_url` is the gateway's address for people, or empty if it is not known."""
    router = APIRouter(include_in_schema=False)

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return views.static.response(name)

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return views.static.response(views.static.address("riffle.svg").rpartition("/")[2])

    @router.get("/robots.txt")
    async def robots() -> Response:
        return PlainTextResponse(ROBOTS, headers=_DAY)

    @router.get("/opensearch.xml")
    async def opensearch(request: Request) -> Response:
        # Without a configured address the Host header decides: a shared cache must not keep an address of one client.
        headers = _DAY if public_url else {"Cache-Control": "no-store", "Vary": "Host"}
        base = (public_url or str(request.base_url)).rstrip("/")
        content = views.render("opensearch.xml", request, base=base)
        return Response(content, media_type="application/opensearchdescription+xml", headers=headers)

    return router
