"""`/preferences`: what a person has set, and the forms that change it. The server keeps nothing of it.

Each form is answered with 303 and a message that the next page shows once. Preferences of a link or a file are applied
only by a form that the person sends.
"""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from streams.gateway.http.languages import named_languages
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
from streams.plain_text import message

HERE = "/preferences"
_NO_STORE = {"Cache-Control": "no-store"}


def _says(rule: str, site: str) -> str:
    """Return the message about a site that has this rule now. Raises InvalidPreferences."""
    match rule:
        case "raised":
            return message("%(site)s is now raised.", site=site)
        case "lowered":
            return message("%(site)s is now lowered.", site=site)
        case "hidden":
            return message("%(site)s is now hidden.", site=site)
        case "":
            return message("%(site)s is now without a rule.", site=site)
    raise InvalidPreferences(message("There is no such rule."))


def preferences_routes(cookies: Cookies, views: Views, *, can_show_adult: bool) -> APIRouter:
    """Return the routes. `can_show_adult`: the operator leaves adult pages in, so that a person may leave them out."""
    router = APIRouter(include_in_schema=False)

    def show(request: Request, own: Preferences, shared: str = "", status: int = 200, error: str = "") -> Response:
        values = {
            "own": own,
            "shared": shared,
            "error": error,
            "page_languages": named_languages(),
            "is_on": cookies.are_on,
            "can_show_adult": can_show_adult,
        }
        content = views.render("preferences.html", request, **values)
        return HTMLResponse(content, status_code=status, headers=_NO_STORE)

    def saved(
        request: Request, preferences: Preferences, says: str, back: str = HERE, *, site: str = "", rule: str = ""
    ) -> Response:
        response = RedirectResponse(back, 303, headers=_NO_STORE)
        cookies.write(request, response, preferences)
        cookies.write_message(request, response, views.say(request, says), site=site, rule=rule)
        return response

    async def form_of(request: Request) -> dict[str, str]:
        if not cookies.are_on:
            hint = message("The operator of this search page sets RIFFLE_GATEWAY__KEYS.")
            raise ProblemError(Problem("preferences-off", message("It has no key to sign them with."), hint))
        refuse_other_sites(request)
        return await read_form(request)

    @router.get(HERE)
    async def preferences(request: Request) -> Response:
        return show(request, cookies.read(request))

    @router.post(HERE)
    async def save(request: Request) -> Response:
        form = await form_of(request)
        own, faults = read_fields(form)
        if not faults:
            return saved(request, own, message("Your preferences are saved in this browser."))
        listed = " ".join(views.say(request, fault) for fault in faults)
        partly = message("Your preferences are saved in this browser, but not all: %(faults)s", faults=listed)
        return saved(request, own, partly)

    @router.post(f"{HERE}/site")
    async def site(request: Request) -> Response:
        form = await form_of(request)
        rule = form.get("rule", "")
        try:
            former, host = cookies.read(request), read_site(form.get("site", ""))
            says = _says(rule, host)
            own, undo = former.with_site(host, rule), former.rule_of(host)
        except (InvalidPreferences, ValueError) as error:
            return show(request, cookies.read(request), status=400, error=error.args[0])
        return saved(request, own, says, _page_of_form(form), site=host, rule=undo)

    @router.get(f"{HERE}/export")
    async def export(request: Request) -> Response:
        content = cookies.read(request).model_dump_json(indent=2) + "\n"
        headers = {
            **_NO_STORE,
            "Vary": "Cookie",
            "Content-Disposition": 'attachment; filename="riffle-preferences.json"',
        }
        return Response(content, media_type="application/json", headers=headers)

    @router.get(f"{HERE}/shared")
    async def shared(request: Request, p: str = "") -> Response:
        try:
            found = read_link(p)
        except InvalidPreferences as error:
            return show(request, cookies.read(request), status=400, error=error.args[0])
        return show(request, found, shared=found.to_link())

    @router.post(f"{HERE}/import")
    async def import_preferences(request: Request) -> Response:
        form = await form_of(request)
        try:
            found = read_link(form["p"]) if form.get("p") else read_json(form.get("file", ""))
        except InvalidPreferences as error:
            return show(request, cookies.read(request), status=400, error=error.args[0])
        return saved(request, found, message("The preferences are applied in this browser."))

    @router.post(f"{HERE}/reset")
    async def reset(request: Request) -> Response:
        await form_of(request)
        return saved(request, Preferences(), message("Your preferences are removed."))

    return router


def _page_of_form(form: dict[str, str]) -> str:
    """Return the page of results that the form was sent from; never an address of another site."""
    back = form.get("back", "")
    is_own = back.startswith("/search?") and back.isprintable() and back.isascii() and "\\" not in back
    return back if is_own else HERE
