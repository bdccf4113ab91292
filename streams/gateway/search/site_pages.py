"""`/sites/NAME`: the search of a site, for people. It has the site's name and colour, and a way back to the site.

Other pages lead to it by a plain form, which `riffle sites add` prints. A private site has no such page, since people
have no key.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from streams.gateway.access.guard import Guard
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.templates import Views, address
from streams.gateway.search.html import SentChoices, result_values
from streams.gateway.search.service import SearchService
from streams.search.query_language.query import Choices, apply_choices
from streams.search.request import ALL_LANGUAGES, Parameters

CACHE = {"Cache-Control": "private, max-age=60"}


def site_routes(service: SearchService, guard: Guard, views: Views) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/sites/{name}")
    async def site(
        request: Request,
        name: str,
        sent: SentChoices,
        q: str = "",
        page: Annotated[int, Query(ge=1, le=1_000)] = 1,
        cursor: str = "",
        host: str = "",
        language: str = "",
        sort: str = "",
    ) -> Response:
        found = (await guard.sites()).get(name)
        if found is None or found.is_private:
            hint = "Operators make sites with `riffle sites add`."
            raise ProblemError(Problem("unknown-site", f"No site has the name {name[:60]}.", hint))
        of_site = {"site": found, "in_site": True, "here": request.url.path}
        if not q.strip():
            return HTMLResponse(views.render("site.html", request, **of_site, answer=None), headers=CACHE)
        if sent != Choices():
            chosen = apply_choices(q, sent, service.searcher.clock().date())
            again = address(request.url.path, q=chosen, host=host, language=language, sort=sort)
            return RedirectResponse(again, 303)
        charge = await guard.charge_person(request)
        # Nobody who comes here has a key: a private site that has pages of these hosts keeps them.
        visible = replace(await guard.visible_to_people(), only=found.hosts, site=found)
        given = Parameters(page=page, cursor=cursor, host=host, language=language, sort=sort)
        running = service.start(q, visible, given, exact=True)
        answer = await running.answer()
        charge.spend(service.cost_of(answer))
        everywhere = ALL_LANGUAGES if service.default_languages else ""
        values = result_values(answer, running.request, cursor, everywhere) | of_site
        return HTMLResponse(views.render("site.html", request, **values, is_ready=True), headers=CACHE)

    return router
