"""`/privacy`: what this gateway stores about the people who search, for those people.

docs/concepts/privacy.md says the same to operators, for a whole installation.
"""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from streams.gateway.http.templates import Views
from streams.settings import Settings


def privacy_routes(settings: Settings, views: Views) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.api_route("/privacy", methods=["GET", "HEAD"])
    async def privacy(request: Request) -> Response:
        own = settings.gateway
        values = {
            "published": own.publish_queries,
            "collected": settings.queries.collect and bool(own.keys),
            "asks_model": bool(settings.answers.url),
            "counts_addresses": _counts_addresses(settings),
            "min_people": settings.queries.min_people,
        }
        return HTMLResponse(views.render("privacy.html", request, **values))

    return router


def _counts_addresses(settings: Settings) -> bool:
    """Return whether budgets of addresses without a key are stored."""
    access, answers = settings.access, settings.answers
    has_budget = bool(access.anonymous_per_minute or access.anonymous_per_day)
    return has_budget or bool(answers.url and answers.per_person)
