"""The refusal of unknown query parameters: a misspelt one would otherwise be ignored, and the answer be another one."""

from difflib import get_close_matches

from fastapi import Request
from fastapi.routing import APIRoute

from streams.gateway.http.presentation import clean_line
from streams.gateway.http.problems import ProblemError, invalid_parameter

MAX_SHOWN_CHARS = 60


async def refuse_unknown(request: Request) -> None:
    """Raise ProblemError for a query parameter that the route does not have. A dependency of the routers of the API."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [parameter.alias for parameter in route.dependant.query_params]
    for name in request.query_params:
        if name not in known:
            shown = clean_line(name)[:MAX_SHOWN_CHARS]
            near = get_close_matches(shown, known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"The parameters are {', '.join(known) or 'none'}."
            raise ProblemError(invalid_parameter(shown, f"There is no parameter {shown}.", hint))
