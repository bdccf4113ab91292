"""`/api/v1/sites/{name}/words`: the own words of a site, by a key of the site that may write."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field

from schemas.envelope import micros_from_utc
from streams.crawl.audiences import SITES_SECONDS
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import api_router
from streams.gateway.writing.requests import WRITE_PROBLEMS, Body, json_body, parse_body, read_body, writing
from streams.search.own_words import MAX_BYTES, MAX_GROUPS, MAX_PINNED, MAX_TEXTS, checked
from streams.stores.protocols import Site

_NAME = Path(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$", description="The site's name.", examples=["docs"])
_UNKNOWN = Problem("unknown-site", "The key is not of a site with this name.", "Use a key of the site.")
_PROBLEMS = openapi.problem_responses(
    "/api/v1/sites/docs/words", *WRITE_PROBLEMS, ("The key is not of this site", _UNKNOWN)
)
_EXAMPLE = {
    "synonyms": [["k8s", "kubernetes"], ["sign in", "log in"]],
    "pinned": {"download": "https://docs.example/install"},
}


class NewWords(Body):
    """The own words of a site, in place of those that it has."""

    synonyms: tuple[tuple[str, ...], ...] = Field(
        (),
        max_length=MAX_GROUPS,
        description=f"Groups of 2 to {MAX_TEXTS} texts that mean the same, of few words.",
    )
    pinned: dict[str, str] = Field(
        {}, max_length=MAX_PINNED, description="Queries, each with the address of the page that comes first."
    )


class WordsAnswer(ApiModel):
    """The own words of a site, as they are compared with queries."""

    synonyms: tuple[tuple[str, ...], ...]
    pinned: dict[str, str]


def site_words_routes(context: GatewayContext, guard: Guard) -> APIRouter:
    router = api_router("writing")
    charged = Annotated[Charge, Depends(guard.needs("write"))]

    async def find(charge: Charge, name: str) -> Site:
        """Return the site of the request's key, as it is stored now. Raises ProblemError."""
        async with writing(context):
            sites = {site.name: site for site in await context.stores.api_keys.sites()}
        if charge.key.site != name or name not in sites:
            raise ProblemError(_UNKNOWN)
        return sites[name]

    @router.get(
        "/sites/{name}/words",
        summary="The own words of a site",
        description="The synonyms and pinned pages of the key's site.",
        responses={200: openapi.json_response("The words", "words"), **_PROBLEMS},
    )
    async def site_words(charge: charged, name: Annotated[str, _NAME]) -> WordsAnswer:
        return _answer(await find(charge, name))

    @router.put(
        "/sites/{name}/words",
        summary="Replace the own words of a site",
        description="Searches of the site's own search use them after some "
        f"{SITES_SECONDS:g} seconds. A pinned page has to be one of the site.",
        responses={200: openapi.json_response("The words", "words"), **_PROBLEMS},
        openapi_extra=json_body(NewWords, _EXAMPLE),
    )
    async def put_site_words(request: Request, charge: charged, name: Annotated[str, _NAME]) -> WordsAnswer:
        given = parse_body(await read_body(request, MAX_BYTES), NewWords)
        site = await find(charge, name)
        async with writing(context):
            changed = checked(site, given.synonyms, given.pinned.items())
            await context.stores.api_keys.put_site(changed, micros_from_utc(context.clock()))
        return _answer(changed)

    return router


def _answer(site: Site) -> WordsAnswer:
    return WordsAnswer(synonyms=site.synonyms, pinned=dict(site.pinned))
