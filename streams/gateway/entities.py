"""`/api/v1/entities` and `/entities/{id}`: the entity that a text asks for, and entities by their ids."""

from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from streams.errors import RiffleError
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.access.sight import Sight
from streams.gateway.context import GatewayContext
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.http.problems import ProblemError, records_unavailable, unknown_entity
from streams.gateway.http.templates import Views
from streams.knowledge.lookup.panel import Panel
from streams.knowledge.lookup.source import PanelSource

MAX_TEXT_CHARS = 500
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: examples.problem_response("A parameter is not valid", examples.PROBLEM_EMPTY),
    **examples.ACCESS_PROBLEMS,
    503: examples.problem_response("The records do not answer", examples.PROBLEM_RECORDS),
}
_NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: examples.problem_response("There is no such entity", examples.PROBLEM_UNKNOWN_ENTITY)
}
Id = Annotated[str, Path(max_length=300, description="`Q42`, `enwiki:Albedo`, or the id of an own entity.")]


class EntityAnswer(BaseModel):
    """The entity that a text asks for."""

    query: str
    panel: Panel | None = None


def entity_routes(context: GatewayContext, source: PanelSource, views: Views, guard: Guard) -> APIRouter:
    router = APIRouter()

    @router.get(
        "/api/v1/entities",
        tags=["entities"],
        dependencies=[Depends(refuse_unknown)],
        summary="The entity that a text asks for",
        description=(
            "The panel that a search for this text shows: an entity, or the choice between several with one name. "
            "`panel` is absent if none is probable enough."
        ),
        responses={200: examples.json_response("What was found", examples.ENTITY), **PROBLEMS},
        response_model_exclude_defaults=True,
    )
    async def entities(
        response: Response,
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        q: Annotated[str, Query(max_length=MAX_TEXT_CHARS, description="A name or a question.", examples=["Albedo"])],
        confidence: Annotated[float | None, Query(ge=0, le=1, description="Minimum probability.")] = None,
    ) -> EntityAnswer:
        response.headers["Cache-Control"] = "no-store"
        sight = charge.sight
        asked = source.look_up(q, minimum=confidence, only=sight.only, hidden=sight.private)
        return EntityAnswer(query=q, panel=await _or_problem(context, asked))

    @router.get(
        "/api/v1/entities/{entity:path}",
        tags=["entities"],
        dependencies=[Depends(refuse_unknown)],
        summary="An entity by its id",
        description="The panel of an entity, with its facts, their sources, and statements of the index.",
        responses={200: examples.json_response("The entity", examples.PANEL), **PROBLEMS, **_NOT_FOUND},
        response_model_exclude_defaults=True,
    )
    async def entity_by_id(
        response: Response, charge: Annotated[Charge, Depends(guard.needs("search"))], entity: Id
    ) -> Panel:
        response.headers["Cache-Control"] = "no-store"
        return await _panel(context, source, entity, charge.sight)

    @router.get("/entities/{entity:path}", include_in_schema=False)
    async def page(request: Request, entity: Id) -> Response:
        await guard.check_person(request)
        panel = await _panel(context, source, entity, await guard.sight_of_people())
        return HTMLResponse(views.render("entity.html", request, found=panel), headers={"Cache-Control": "no-cache"})

    return router


async def _panel(context: GatewayContext, source: PanelSource, entity_id: str, sight: Sight) -> Panel:
    panel = await _or_problem(context, source.panel_of(entity_id, only=sight.only, hidden=sight.private))
    if panel is None:
        raise ProblemError(unknown_entity(entity_id))
    return panel


async def _or_problem(context: GatewayContext, asked: Awaitable[Panel | None]) -> Panel | None:
    """Return what was asked of the stores. Raises ProblemError if they don't answer."""
    try:
        return await asked
    except (RiffleError, TimeoutError) as error:
        context.metrics.count_failure("records", error)
        raise ProblemError(records_unavailable("The store of entities does not answer.", error)) from error
