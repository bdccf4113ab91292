"""`/act`: the way of a click on a result. It sends one event in the background, and redirects at once.

The target is in the payload of the link, which only this gateway can make. The site that is opened gets no referrer.
A link counts once, and only if a person followed it from a page of this gateway.
"""

from collections.abc import Callable, Sequence
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas import ResultClicked
from streams.gateway.clicks.links import Click, Fault, InvalidLink, SpentLinks, open_click
from streams.gateway.context import GatewayContext
from streams.gateway.http.keys import Key
from streams.gateway.http.presentation import safe_href
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import was_chosen

ACT_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_SEARCH_AGAIN = "Go back to the results and search again, or type the address of the page into your browser."
_PROBLEMS: dict[Fault, Problem] = {
    "tampered": Problem("link-changed", "It is not as this search page has made it.", _SEARCH_AGAIN, "c"),
    "foreign": Problem(
        "link-foreign",
        "Another search page has made it, or this one with a key that it no longer has.",
        _SEARCH_AGAIN,
        "c",
    ),
    "expired": Problem("link-expired", "Links of a page of results lead on for a day.", _SEARCH_AGAIN, "c"),
}


def click_routes(
    context: GatewayContext,
    keys: Sequence[Key],
    publish: Callable[[ResultClicked, str], None],
    identify: Callable[[Request], str],
) -> APIRouter:
    """Return the route. `publish` sends an event in the background, with its cause: it neither waits nor fails.

    `identify` returns the hash of the person, empty where queries are not counted.
    """
    router, spent = APIRouter(include_in_schema=False), SpentLinks()

    @router.get("/act")
    async def act(request: Request, c: str = "") -> Response:
        click = _read_click(c, keys, context)
        if not safe_href(click.url):
            raise ProblemError(_PROBLEMS["tampered"])
        if request.method == "GET" and was_chosen(request, "same-origin") and spent.spend(click):
            publish(_event_of(click, identify(request) if click.asked_hash else ""), click.cause)
        return Response(status_code=303, headers={"Location": quote(click.url, safe=_PRINTABLE), **ACT_HEADERS})

    return router


def _read_click(payload: str, keys: Sequence[Key], context: GatewayContext) -> Click:
    """Return the click of a payload. Raises ProblemError."""
    try:
        return open_click(payload, keys, context.clock())
    except InvalidLink as error:
        raise ProblemError(_PROBLEMS[error.fault]) from None


def _event_of(click: Click, person: str) -> ResultClicked:
    return ResultClicked(
        query_hash=click.query_hash,
        page_id=click.page_id,
        position=click.rank,
        asked_hash=click.asked_hash,
        person=person,
    )
