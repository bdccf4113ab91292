"""`/sites/NAME`: the search of a site, for people, and the box by which other pages lead to it.

The box is plain HTML: a form that leads here. It needs no script and no third party, and nothing is loaded until
somebody searches. A private site has no such page, since people have no key.
"""

from dataclasses import replace

from fastapi import APIRouter, Request
from markupsafe import escape
from starlette.responses import HTMLResponse, Response

from streams.gateway.access.guard import Guard
from streams.gateway.clicks.links import plain_link
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.templates import Views
from streams.gateway.search.service import SearchService
from streams.search.request import Parameters
from streams.stores.protocols import Site

CACHE = {"Cache-Control": "private, max-age=60"}


def site_routes(service: SearchService, guard: Guard, views: Views, public_url: str) -> APIRouter:
    """Return the route. `public_url` is the gateway's address for people, or empty if it is not known."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/sites/{name}", methods=["GET", "HEAD"])
    async def site(request: Request, name: str, q: str = "", cursor: str = "") -> Response:
        found = (await guard.sites()).get(name)
        if found is None or found.is_private:
            hint = "Operators make sites with `riffle sites add`."
            raise ProblemError(Problem("unknown-site", f"No site has the name {name[:60]}.", hint))
        if not q.strip():
            base = (public_url or str(request.base_url)).rstrip("/")
            content = views.render("site.html", request, site=found, answer=None, box=box_of(found, base))
            return HTMLResponse(content, headers=CACHE)
        charge = await guard.charge_person(request)
        # Nobody who comes here has a key: a private site that has pages of these hosts keeps them.
        visible = replace(await guard.visible_to_people(), only=found.hosts)
        answer = await service.start(q, visible, Parameters(cursor=cursor), exact=True).answer()
        charge.spend(service.cost_of(answer))
        of_site = {"in_site": True, "leave": plain_link}
        content = views.render("site.html", request, site=found, answer=answer, query=answer.query, **of_site)
        return HTMLResponse(content, headers=CACHE)

    return router


def box_of(site: Site, base: str) -> str:
    """Return the HTML of the box for other pages. `base` is the gateway's address."""
    title = escape(f"Search {site.title}")
    return (
        f'<form action="{escape(base)}/sites/{escape(site.name)}" method="get" role="search">\n'
        f"  <label>{title}\n"
        '    <input type="search" name="q" required></label>\n'
        '  <button type="submit">Search</button>\n'
        "</form>"
    )
