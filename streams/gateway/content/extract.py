"""`/api/v1/extract`: the document, statements and facts of a page, of the index or fetched now."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from schemas.ids import page_id
from streams.gateway.access.costs import FETCH
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.content import examples as own_examples
from streams.gateway.content.answers import Extract, to_document, to_statement
from streams.gateway.content.reading import PageContent
from streams.gateway.content.web_page import WebPages
from streams.gateway.context import GatewayContext
from streams.gateway.http import examples
from streams.gateway.http.parameters import refuse_unknown
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.copies import refuse_directives
from streams.gateway.page.lookup import PageData, resolve

MAX_STATEMENTS = 200
"""Maximum statements of an answer."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    **examples.ACCESS_PROBLEMS,
    400: examples.problem_response("Not the address of a page", examples.PROBLEM_URL),
    404: examples.problem_response("The page is not in the index", own_examples.PROBLEM_NO_CONTENT),
    502: examples.problem_response("The page could not be fetched, or not be read", own_examples.PROBLEM_NOT_FETCHED),
    503: examples.problem_response("The records do not answer, or the page's host is busy", examples.PROBLEM_RECORDS),
}
_URL = Query(
    min_length=1, max_length=2_048, description="Address of the page.", examples=["https://sqlite.org/wal.html"]
)
_FETCH = "Fetch the page now if the index does not have it. Needs the scope `extract`, as the operator allows."


def extract_routes(context: GatewayContext, content: PageContent, web: WebPages, guard: Guard) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["content"], dependencies=[Depends(refuse_unknown)])
    who = context.settings.access.fetch_now

    @router.get(
        "/extract",
        summary="The content of a page",
        description=(
            "The document, statements and facts of a page of the index. With `fetch`, a page that is not in the index "
            "is fetched now, within the rules of the crawler, and nothing of it is stored."
        ),
        responses={200: examples.json_response("The content", own_examples.EXTRACT), **PROBLEMS},
        response_model_exclude_none=True,
    )
    async def extract(
        response: Response,
        charge: Annotated[Charge, Depends(guard.needs("pages"))],
        url: Annotated[str, _URL],
        fetch: Annotated[bool, Query(description=_FETCH)] = False,
    ) -> Extract:
        response.headers["Cache-Control"] = "no-store"
        try:
            data = await content.find(url, charge.sight)
            if data.record.normalized.document_ref:
                return await _of_index(content, data)
        except ProblemError as error:
            if error.problem.kind not in ("unknown-page", "no-content") or not fetch:
                raise
        else:
            if not fetch:
                raise ProblemError(_not_indexed(url))
        _check_fetch(charge, who)
        _, address = resolve(url)
        if not address or not charge.sight.shows(address):
            raise ProblemError(_not_indexed(url))
        charge.spend(FETCH)
        return await _of_web(web, address)

    return router


async def _of_index(content: PageContent, data: PageData) -> Extract:
    document = await content.read_document(data.record.normalized.document_ref)
    ref = data.record.indexed.statements_ref or data.record.chunked.statements_ref
    statements = (await content.read_statements(ref)).statements if ref else ()
    return Extract(
        source="index",
        url=data.url,
        page_id=data.page_id,
        document=to_document(document),
        statements=tuple(to_statement(each) for each in statements[:MAX_STATEMENTS]),
        statement_count=len(statements),
        directives=tuple(data.record.normalized.directives),
    )


async def _of_web(web: WebPages, address: str) -> Extract:
    found = await web.fetch(address)
    refuse_directives(found.directives)
    return Extract(
        source="web",
        url=found.url,
        page_id=page_id(found.url),
        document=to_document(found.document),
        statements=tuple(to_statement(each) for each in found.statements[:MAX_STATEMENTS]),
        statement_count=len(found.statements),
        directives=found.directives,
    )


def _check_fetch(charge: Charge, who: str) -> None:
    """Raise ProblemError if this client may not have a page fetched now."""
    if who == "everybody" and charge.allows("extract"):
        return
    if who == "keys" and charge.client.key is not None and charge.allows("extract"):
        return
    raise ProblemError(
        Problem(
            403,
            "fetch-not-allowed",
            "This gateway fetches no page for you now",
            "The page is not in the index.",
            "Use a key with the scope `extract`, if the operator allows it (RIFFLE_ACCESS__FETCH_NOW).",
            "fetch",
        )
    )


def _not_indexed(url: str) -> Problem:
    return Problem(
        404,
        "no-content",
        "There is no such content of this page",
        f"The index has no document of {url[:200]}.",
        "With `fetch=true` it is fetched now, if the operator allows it.",
        "url",
    )
