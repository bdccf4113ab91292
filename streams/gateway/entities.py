"""`/api/v1/entities` and `/entities/{id}`: the entity that a text asks for, and entities by their ids."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.problems import ProblemError, unknown_entity
from streams.gateway.http.requests import api_router
from streams.gateway.http.templates import Views
from streams.gateway.page.lookup import or_problem
from streams.gateway.preferences.cookies import Cookies, accepted_by
from streams.knowledge.lookup.panel import Panel
from streams.knowledge.lookup.source import PanelSource
from streams.pages.text.language import read_accepted
from streams.search.retrieval.model_fit import reader_of
from streams.stores.protocols import Visible

MAX_TEXT_CHARS = 500
VARY = "Accept-Language"
NO_ENTITIES = "The store of entities does not answer."
_PROBLEMS = (
    ("A parameter is not valid", openapi.NO_QUERY),
    *openapi.ACCESS_PROBLEMS,
    ("The records do not answer", openapi.NO_RECORDS),
)
PROBLEMS = openapi.problem_responses("/api/v1/entities", *_PROBLEMS)
PROBLEMS_OF_ID = openapi.problem_responses(
    "/api/v1/entities/Q0", *_PROBLEMS, ("There is no such entity", unknown_entity("Q0"))
)
Id = Annotated[str, Path(max_length=300, description="`Q42`, `enwiki:Albedo`, or the id of an own entity.")]


Accepted = Annotated[str, Header(alias="accept-language", description="The languages that the reader reads.")]


class EntityAnswer(BaseModel):
    """The entity that a text asks for."""

    query: str
    panel: Panel | None = None


def entity_routes(
    context: GatewayContext, source: PanelSource, views: Views, cookies: Cookies, guard: Guard
) -> APIRouter:
    router, api = APIRouter(), api_router("entities")

    @api.get(
        "/entities",
        summary="The entity that a text asks for",
        description=(
            "The panel that a search for this text shows: an entity, or the choice between several with one name. "
            "`panel` is absent if none is probable enough."
        ),
        responses={200: openapi.json_response("What was found", "entity"), **PROBLEMS},
        response_model_exclude_defaults=True,
    )
    async def entities(
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        q: Annotated[str, Query(max_length=MAX_TEXT_CHARS, description="A name or a question.", examples=["Albedo"])],
        response: Response,
        confidence: Annotated[float | None, Query(ge=0, le=1, description="Minimum probability.")] = None,
        accepted: Accepted = "",
    ) -> EntityAnswer:
        response.headers["Vary"] = VARY
        reader = reader_of(q, read_accepted(accepted))
        async with or_problem(context, NO_ENTITIES):
            panel = await source.look_up(q, charge.visible, minimum=confidence, reader=reader)
        return EntityAnswer(query=q, panel=panel)

    @api.get(
        "/entities/{entity:path}",
        summary="An entity by its id",
        description="The panel of an entity, with its facts, their sources, and statements of the index.",
        responses={200: openapi.json_response("The entity", "panel"), **PROBLEMS_OF_ID},
        response_model_exclude_defaults=True,
    )
    async def entity_by_id(
        charge: Annotated[Charge, Depends(guard.needs("search"))],
        entity: Id,
        response: Response,
        accepted: Accepted = "",
    ) -> Panel:
        response.headers["Vary"] = VARY
        return await _panel(context, source, entity, charge.visible, accepted)

    @router.get("/entities/{entity:path}", include_in_schema=False)
    async def page(request: Request, entity: Id) -> Response:
        charge = await guard.charge_person(request)
        accepted = accepted_by(cookies.read(request), request)
        panel = await _panel(context, source, entity, charge.visible, accepted)
        return HTMLResponse(views.render("entity.html", request, found=panel), headers={"Cache-Control": "no-cache"})

    router.routes.extend(api.routes)
    return router


async def _panel(
    context: GatewayContext, source: PanelSource, entity_id: str, visible: Visible, accepted: str
) -> Panel:
    async with or_problem(context, NO_ENTITIES):
        panel = await source.panel_of(entity_id, visible, reader_of("", read_accepted(accepted)))
    if panel is None:
        raise ProblemError(unknown_entity(entity_id))
    return panel
