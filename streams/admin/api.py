"""`/admin/api/v1`: the actions of operators on hosts of the frontier, for programs.

They are the actions of the forms, behind the same key: each is in the audit log before it begins, and is a job.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from schemas.envelope import utc_from_micros
from streams.admin.access import Operator
from streams.admin.actions import Actions
from streams.admin.figures import Reader
from streams.admin.jobs import Job, TooManyJobs
from streams.admin.signing_in import SignIn, impossible, unauthorized, unavailable
from streams.crawl.urls import InvalidUrl, host_of, with_scheme
from streams.errors import RiffleError, TransientError
from streams.gateway.http import examples
from streams.gateway.http.forms import refuse_other_sites
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.http.problems import Problem, ProblemError
from streams.maintenance.frontier_hosts import describe_order

PREFIX = "/admin/api/v1"
BUSY_SECONDS = 30
"""Time after which an action is tried again that found too many jobs (seconds)."""
MAX_COUNT = 1_000
_NO_STORE = {"Cache-Control": "no-store"}
_HOST = "www.example.org"

_Route = TypeVar("_Route", bound=Callable[..., Any])


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class ShownHost(_Model):
    """A host that waits for a request, or that has an order."""

    host: str
    due: datetime | None = Field(description="Time of its next request at the earliest. Null: nothing waits.")
    order: str = Field(description="The order of operators in words. Empty: none.")


class Hosts(_Model):
    """The hosts of the frontier."""

    hosts: int = Field(description="Number of hosts that wait for a request.")
    shown: tuple[ShownHost, ...] = Field(description="The first of them by time, then other hosts with orders.")


class Action(_Model):
    """An action that began, as the job that carries it out."""

    job: int = Field(description="Number of the job: `GET /jobs/{job}` says how far it is.")
    command: str = Field(description="The same on a command line.")
    state: Literal["running", "done", "failed"]
    lines: tuple[str, ...] = Field(description="The last lines that the job said.")

    @classmethod
    def of(cls, job: Job) -> "Action":
        state: Literal["running", "done", "failed"] = "failed" if job.status else "done"
        return cls(
            job=job.number,
            command=job.command,
            state="running" if job.status is None else state,
            lines=tuple(job.lines),
        )


class Delay(BaseModel):
    """A minimum delay between two requests."""

    model_config = ConfigDict(extra="forbid")

    seconds: float = Field(ge=0, le=86_400, description="0: as robots.txt has it.", examples=[10])


class Budget(BaseModel):
    """A maximum number of pages."""

    model_config = ConfigDict(extra="forbid")

    pages: int = Field(ge=0, le=10**9, description="In each crawl. 0: as each crawl has it.", examples=[500])


class Order(_Model):
    """The order of operators for a host."""

    blocked: bool
    delay_seconds: float
    max_pages: int
    note: str


class HostDetails(_Model):
    """A host of the frontier, as `riffle frontier show HOST --json` shows it."""

    model_config = ConfigDict(extra="allow")

    host: str
    state: str = Field(description="`ready`, `waiting`, `deferred`, `blocked` or `idle`.")
    waiting: int = Field(description="URLs that wait: 10,000 means that many or more.")
    quality: dict[str, Any] = Field(description="Its quality from 0 to 1 (`score`), with its parts.")
    left_out: dict[str, int] = Field(description="URLs that were left out as traps, by the name of the trap.")
    order: Order


HostName = Annotated[
    str, Path(min_length=1, max_length=260, description="The name of the host.", examples=[_HOST], pattern=r"^[^/]+$")
]


def _problem(description: str, problem: Problem) -> dict[str, Any]:
    return examples.problem_response(description, problem.to_json(f"{PREFIX}/hosts/{_HOST}"))


def _busy(error: TooManyJobs) -> Problem:
    return Problem(503, "unavailable", "Too many jobs run", f"{error}.", headers={"Retry-After": str(BUSY_SECONDS)})


def _unknown(what: str) -> Problem:
    return Problem(404, "not-found", "It is not known", what)


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The host, or a value, is not one", Problem(400, "invalid-action", "This can't be done")),
    401: _problem("The key of operators is missing or wrong", unauthorized()),
    503: _problem("A server does not answer, or too many jobs run", unavailable(RiffleError("Kafka does not answer"))),
}
READ_PROBLEMS = {**PROBLEMS, 404: _problem("The frontier does not know the host", _unknown("No such host."))}


def admin_api_routes(reader: Reader, actions: Actions, sign_in: SignIn) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix=PREFIX, tags=["hosts"], dependencies=[Depends(refuse_unknown)])
    signed_in = Depends(sign_in)

    def name_of(host: str) -> str:
        try:
            return host_of(with_scheme(host, actions.settings.crawl.origins))
        except InvalidUrl as error:
            raise ProblemError(impossible(RiffleError(f"{host!r} is no name of a host: {error}"))) from None

    async def begin(request: Request, operator: Operator, action: str, host: str, **fields: str) -> Response:
        refuse_other_sites(request)
        try:
            job = await actions.order(action, {"host": name_of(host), **fields}, operator.name)
        except TooManyJobs as error:
            raise ProblemError(_busy(error)) from error
        except TransientError as error:
            raise ProblemError(unavailable(error)) from error
        except RiffleError as error:
            raise ProblemError(impossible(error)) from error
        begun = Action.of(job)
        status = 202 if begun.state == "running" else 200
        return JSONResponse(begun.model_dump(mode="json"), status, _NO_STORE)

    def acts(path: str, summary: str) -> Callable[[_Route], _Route]:
        found: dict[int | str, dict[str, Any]] = {
            202: {"model": Action, "description": "It has begun, and takes a while"}
        }
        return router.post(
            f"/hosts/{{host}}/{path}", operation_id=path, summary=summary, response_model=Action,
            responses={**found, **PROBLEMS},
        )  # fmt: skip

    @router.get("/hosts", operation_id="hosts", summary="Hosts by the time of their next request", responses=PROBLEMS)
    async def hosts(
        _: Annotated[Operator, signed_in], response: Response, count: Annotated[int, Query(ge=1, le=MAX_COUNT)] = 30
    ) -> Hosts:
        try:
            due, orders = await reader.due_hosts(), {order.host: order for order in (await reader.orders()).shown}
        except TransientError as error:
            raise ProblemError(unavailable(error)) from error
        response.headers.update(_NO_STORE)
        times = {host: utc_from_micros(at) if at > 0 else None for host, at in due[:count]}
        names = dict.fromkeys([*times, *orders])
        shown = (ShownHost(host=host, due=times.get(host), order=describe_order(orders.get(host))) for host in names)
        return Hosts(hosts=len(due), shown=tuple(shown))

    @router.get("/hosts/{host}", operation_id="host", summary="One host", responses=READ_PROBLEMS)
    async def host(_: Annotated[Operator, signed_in], response: Response, host: HostName) -> HostDetails:
        name = name_of(host)
        try:
            found = await reader.host(name)
        except TransientError as error:
            raise ProblemError(unavailable(error)) from error
        if found is None:
            raise ProblemError(_unknown(f"The frontier does not know {name}."))
        response.headers.update(_NO_STORE)
        return HostDetails.model_validate(found.to_json())

    @acts("block", "Request nothing from a host, and remove its pages from the index")
    async def block(request: Request, by: Annotated[Operator, signed_in], host: HostName) -> Response:
        return await begin(request, by, "block", host)

    @acts("unblock", "Crawl a host again, and bring its stored pages back without a request")
    async def unblock(request: Request, by: Annotated[Operator, signed_in], host: HostName) -> Response:
        return await begin(request, by, "unblock", host)

    @acts("purge", "Drop the URLs of a host that wait now")
    async def purge(request: Request, by: Annotated[Operator, signed_in], host: HostName) -> Response:
        return await begin(request, by, "purge", host)

    @acts("delay", "Set the minimum delay between two requests to a host")
    async def delay(request: Request, by: Annotated[Operator, signed_in], host: HostName, value: Delay) -> Response:
        return await begin(request, by, "delay", host, seconds=f"{value.seconds:.3f}".rstrip("0").rstrip("."))

    @acts("budget", "Set how many pages of a host each crawl may fetch")
    async def budget(request: Request, by: Annotated[Operator, signed_in], host: HostName, value: Budget) -> Response:
        return await begin(request, by, "budget", host, pages=str(value.pages))

    @router.get("/jobs/{number}", operation_id="job", summary="A job that was started here", responses=READ_PROBLEMS)
    async def job(
        _: Annotated[Operator, signed_in], response: Response, number: Annotated[int, Path(ge=1, le=10**9)]
    ) -> Action:
        found = next((one for one in actions.jobs.all if one.number == number), None)
        if found is None:
            raise ProblemError(_unknown(f"There is no job {number}, or it was forgotten."))
        response.headers.update(_NO_STORE)
        return Action.of(found)

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request, _: Annotated[Operator, signed_in]) -> Response:
        return JSONResponse(request.app.openapi(), headers=_NO_STORE)

    return router


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the operators' app."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="Riffle for operators",
            version="1",
            description="Actions on hosts. Every failure is answered with problem details (RFC 9457).",
            routes=app.routes,
        )
        components = document.setdefault("components", {})
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "basic"}}
        components["schemas"]["Problem"] = examples.PROBLEM_SCHEMA
        for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own form, which this API never uses
            components["schemas"].pop(unused, None)
        document["security"] = [{"key": []}]
        for operation in (operation for path in document["paths"].values() for operation in path.values()):
            operation["responses"].pop("422", None)  # a wrong value is answered with 400
            operation["responses"] = {**examples.EVERYWHERE, **operation["responses"]}
        app.openapi_schema = document
    return app.openapi_schema
