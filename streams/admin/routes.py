"""The pages of operators: read by GET, changed by POST with a token, and each change in the audit log."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from streams.admin.access import Operator, SignIn, impossible, unavailable
from streams.admin.actions import Actions
from streams.admin.figures import Reader
from streams.admin.jobs import TooManyJobs, match_reports, reports_elsewhere
from streams.admin.letters import MAX_VALUE_CHARS
from streams.admin.map_view import parse_window, view_map
from streams.errors import RiffleError, TransientError, UsageError
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import read_form, refuse_other_sites
from streams.gateway.http.templates import Views, address
from streams.maintenance.mapping import IndexMap

BUSY_SECONDS = 30
"""Time after which an action is tried again that found too many jobs (seconds): most jobs take longer than a moment."""
MAX_HOST_CHARS = 260
MAX_MESSAGE_CHARS = 300
_NO_STORE = {"Cache-Control": "no-store"}


def admin_routes(reader: Reader, actions: Actions, views: Views, operator_of: SignIn) -> APIRouter:
    """Return the routes."""
    router = APIRouter(include_in_schema=False)

    def show(
        template: str, request: Request, operator: Operator, *, status: int = 200, retry_after: int = 0, **values: Any
    ) -> Response:
        note = operator.read_note(request.query_params.get("note", ""))
        content = views.render(template, request, operator=operator, now=reader.now(), **{"message": note, **values})
        headers = {**_NO_STORE, **({"Retry-After": str(retry_after)} if retry_after else {})}
        return HTMLResponse(content, status_code=status, headers=headers)

    @router.get("/healthz")
    async def healthz() -> Response:
        """Answer that the process runs: probes have no key."""
        return PlainTextResponse("ok\n", headers=_NO_STORE)

    @router.get("/")
    async def root() -> Response:
        return RedirectResponse("/admin", 303)

    @router.get("/admin")
    async def overview(request: Request) -> Response:
        operator = await operator_of(request)
        found = await reader.overview()
        own, machine = tuple(actions.jobs.all), actions.jobs.machine
        jobs = match_reports(own, found.reports, machine)
        elsewhere = reports_elsewhere(own, found.reports, machine, reader.now())
        return show("admin.html", request, operator, view=found, jobs=jobs, elsewhere=elsewhere)

    @router.get("/admin/host")
    async def host(request: Request, name: str = "") -> Response:
        operator = await operator_of(request)
        name = name.strip().lower()[:MAX_HOST_CHARS]
        with _stores_needed():
            found = await reader.host(name) if name else None
            ordered = None if name else await reader.orders()
        return show("admin_host.html", request, operator, name=name, view=found, ordered=ordered)

    @router.get("/admin/letters")
    async def letters(request: Request, stage: str = "", error: str = "", after: str = "") -> Response:
        operator = await operator_of(request)
        try:
            with _stores_needed():
                found = await asyncio.to_thread(reader.read_letter_page, reader.settings, stage, error, after)
        except UsageError as failure:
            raise ProblemError(Problem("not-found", f"{failure}.", title="There are no such letters")) from failure
        values: dict[str, Any] = {"view": found, "stage": stage, "error": error, "max_chars": MAX_VALUE_CHARS}
        return show("admin_letters.html", request, operator, **values)

    @router.get("/admin/audit")
    async def audit(request: Request) -> Response:
        operator = await operator_of(request)
        with _stores_needed():
            entries = await asyncio.to_thread(actions.audit.read, reader.now())
        return show("admin_audit.html", request, operator, entries=entries)

    @router.get("/admin/map")
    async def index_map(request: Request) -> Response:
        operator = await operator_of(request)
        window = parse_window(dict(request.query_params))
        try:
            with _stores_needed():
                found = await reader.index_map()
        except ValueError as error:
            raise ProblemError(Problem("map-damaged", f"{error}.")) from error
        view = await asyncio.to_thread(view_map, found, window) if found else None
        return show("admin_map.html", request, operator, map=found, view=view, window=window, made_at=_time_of(found))

    @router.post("/admin/do/{action}")
    async def act(request: Request, action: str) -> Response:
        operator = await operator_of(request)
        refuse_other_sites(request)
        form = await read_form(request)
        if not operator.sent(form.get("token", "")):
            raise ProblemError(Problem("foreign-form", "Nothing was done.", title="This form is not of this page"))
        try:
            outcome = await actions.run(action, form, operator.name)
        except TooManyJobs as error:
            again = {"name": action, "fields": {name: value for name, value in form.items() if name != "token"}}
            values = {"running": error.running, "again": again}
            return show("admin_busy.html", request, operator, status=503, retry_after=BUSY_SECONDS, **values)
        except TransientError as error:
            raise ProblemError(unavailable(error)) from error
        except RiffleError as error:
            raise ProblemError(impossible(error)) from error
        note = operator.sign(outcome[:MAX_MESSAGE_CHARS])
        match form.get("back"):
            case "host":
                back = address("/admin/host", name=form.get("host", ""), note=note)
            case "letters":
                back = address("/admin/letters", stage=form.get("stage", ""), error=form.get("error", ""), note=note)
            case _:
                back = address("/admin", note=note)
        return RedirectResponse(back, 303)

    return router


@contextmanager
def _stores_needed() -> Iterator[None]:
    """Make a store that does not answer a problem of the page."""
    try:
        yield
    except TransientError as error:
        raise ProblemError(unavailable(error)) from error


def _time_of(found: IndexMap | None) -> datetime | None:
    """Return when a map was drawn, or None if there is none, or if its file says no time."""
    try:
        return datetime.fromisoformat(found.made_at) if found else None
    except ValueError:
        return None


def format_span(seconds: float | None) -> str:
    """Return a time in the largest fitting unit, for people."""
    if seconds is None:
        return "?"
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def format_ago(moment: datetime | None, now: datetime) -> str:
    """Return how long ago a moment was, or how far it is ahead, for people."""
    if moment is None:
        return "unknown"
    seconds = (now - moment).total_seconds()
    return f"{format_span(seconds)} ago" if seconds >= 0 else f"in {format_span(-seconds)}"
