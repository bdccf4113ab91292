"""`/privacy`: what this gateway stores about the people who search, for those people.

docs/concepts/privacy.md says the same to operators, for a whole installation.
"""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from streams.gateway.http.templates import Views
from streams.settings import GatewaySettings


def privacy_routes(settings: GatewaySettings, views: Views) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.api_route("/privacy", methods=["GET", "HEAD"])
    async def privacy(request: Request) -> Response:
        return HTMLResponse(views.render("privacy.html", request, published=settings.publish_queries))

    return router
