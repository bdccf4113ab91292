"""`/preferences`: what a person has set, and the forms that change it. The server keeps nothing of it.

Each form is answered with 303 and a message that the next page shows once. Preferences of a link or a file are applied
only by a form that the person sends.
"""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import read_form, refuse_other_sites
from streams.gateway.http.templates import Views
from streams.gateway.preferences.cookies import Cookies
from streams.gateway.preferences.model import (
    InvalidPreferences,
    Preferences,
    read_fields,
    read_json,
    read_link,
    read_site,
)

HERE = "/preferences"
_NO_STORE = {"Cache-Control": "no-store"}
_SAYS = {"raised": "raised", "lowered": "lowered", "hidden": "hidden", "": "without a rule"}


def preferences_routes(cookies: Cookies, views: Views, *, can_show_adult: bool) -> APIRouter:
    """Return the routes. `can_show_adult`: the operator leaves adult pages in, so that a person may leave them out."""
    router = APIRouter(include_in_schema=False)

    def show(request: Request, own: Preferences, shared: str = "", status: int = 200, error: str = "") -> Response:
        values = {
            "own": own,
            "shared": shared,
            "error": error,
            "is_on": cookies.are_on,
            "can_show_adult": can_show_adult,
        }
        content = views.render("preferences.html", request, **values)
        return HTMLResponse(content, status_code=status, headers=_NO_STORE)

    def saved(
        request: Request, preferences: Preferences, message: str, back: str = HERE, *, site: str = "", rule: str = ""
    ) -> Response:
        response = RedirectResponse(back, 303, headers=_NO_STORE)
        cookies.write(request, response, preferences)
        cookies.write_message(request, response, message, site=site, rule=rule)
        return response

    async def form_of(request: Request) -> dict[str, str]:
        if not cookies.are_on:
            hint = "The operator of this search page sets RIFFLE_GATEWAY__KEYS."
            raise ProblemError(Problem("preferences-off", "It has no key to sign them with.", hint))
        refuse_other_sites(request)
        return await read_form(request)

    @router.api_route(HERE, methods=["GET", "HEAD"])
    async def preferences(request: Request) -> Response:
        return show(request, cookies.read(request))

    @router.post(HERE)
    async def save(request: Request) -> Response:
        form = await form_of(request)
        own, faults = read_fields(form)
        says = "Your preferences are saved in this browser"
        return saved(request, own, f"{says}, but not all: {' '.join(faults)}" if faults else f"{says}.")

    @router.post(f"{HERE}/site")
    async def site(request: Request) -> Response:
        form = await form_of(request)
        rule = form.get("rule", "")
        try:
            if rule not in _SAYS:
                raise InvalidPreferences("There is no such rule.")
            former, host = cookies.read(request), read_site(form.get("site", ""))
            own, undo = former.with_site(host, rule), former.rule_of(host)
            message = f"{host} is now {_SAYS[rule]}."
        except (InvalidPreferences, ValueError) as error:
            return show(request, cookies.read(request), status=400, error=str(error))
        return saved(request, own, message, _page_of_form(form), site=host, rule=undo)

    @router.api_route(f"{HERE}/export", methods=["GET", "HEAD"])
    async def export(request: Request) -> Response:
        content = cookies.read(request).model_dump_json(indent=2) + "\n"
        headers = {
            **_NO_STORE,
            "Vary": "Cookie",
            "Content-Disposition": 'attachment; filename="riffle-preferences.json"',
        }
        return Response(content, media_type="application/json", headers=headers)

    @router.api_route(f"{HERE}/shared", methods=["GET", "HEAD"])
    async def shared(request: Request, p: str = "") -> Response:
        try:
            found = read_link(p)
        except InvalidPreferences as error:
            return show(request, cookies.read(request), status=400, error=str(error))
        return show(request, found, shared=found.to_link())

    @router.post(f"{HERE}/import")
    async def import_preferences(request: Request) -> Response:
        form = await form_of(request)
        try:
            found = read_link(form["p"]) if form.get("p") else read_json(form.get("file", ""))
        except InvalidPreferences as error:
            return show(request, cookies.read(request), status=400, error=str(error))
        return saved(request, found, "The preferences are applied in this browser.")

    @router.post(f"{HERE}/reset")
    async def reset(request: Request) -> Response:
        await form_of(request)
        return saved(request, Preferences(), "Your preferences are removed.")

    return router


def _page_of_form(form: dict[str, str]) -> str:
    """Return the page of results that the form was sent from; never an address of another site."""
    back = form.get("back", "")
    is_own = back.startswith("/search?") and back.isprintable() and back.isascii() and "\\" not in back
    return back if is_own else HERE
