"""`/feedback`: a person says whether a result helped, by a form in the menu of the result.

The form carries the sealed payload of the result's link, so nobody can rate what was not shown, or rate it twice. One
event (`results.rated`) is sent in the background. The person is led back to the results, with a message that is shown
once.
"""

from collections.abc import Callable, Sequence

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from schemas import ResultRated
from streams.gateway.clicks.links import SpentLinks
from streams.gateway.clicks.routes import read_click
from streams.gateway.context import GatewayContext
from streams.gateway.http.keys import Key
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import read_form, refuse_other_sites
from streams.gateway.preferences.cookies import Cookies
from streams.gateway.preferences.routes import page_of_form

THANKS = "Thank you. Your feedback says nothing about you."
_ANSWERS = {"yes": True, "no": False}


def feedback_routes(
    context: GatewayContext, keys: Sequence[Key], cookies: Cookies, publish: Callable[[ResultRated, str], None]
) -> APIRouter:
    """Return the route. `publish` sends an event in the background, with its cause: it neither waits nor fails."""
    router, spent = APIRouter(include_in_schema=False), SpentLinks()

    @router.post("/feedback")
    async def feedback(request: Request) -> Response:
        refuse_other_sites(request)
        form = await read_form(request)
        click = read_click(form.get("c", ""), keys, context)
        helpful = _ANSWERS.get(form.get("helped", ""))
        if helpful is None:
            raise ProblemError(Problem("invalid-form", "It says neither yes nor no."))
        if spent.spend(click):
            publish(
                ResultRated(query_hash=click.query_hash, page_id=click.page_id, position=click.rank, helpful=helpful),
                click.cause,
            )
        response = RedirectResponse(page_of_form(form, "/"), 303, headers={"Cache-Control": "no-store"})
        cookies.write_message(request, response, THANKS)
        return response

    return router
