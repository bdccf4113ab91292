"""The sign-in of operators, and the problems that their pages answer."""

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import Request

from streams.admin.access import CHALLENGE, Operator, read_operator
from streams.errors import RiffleError
from streams.gateway.http.problems import Problem, ProblemError

REFUSAL_SECONDS = 1.0
"""Time until a wrong key is answered (seconds), so that keys are not tried quickly."""

SignIn = Callable[[Request], Awaitable[Operator]]


def sign_in_with(key: str) -> SignIn:
    """Return a function that returns the operator of a request. It raises ProblemError for anybody else."""

    async def operator_of(request: Request) -> Operator:
        given = request.headers.get("authorization", "")
        if operator := read_operator(given, key):
            return operator
        if given:
            await asyncio.sleep(REFUSAL_SECONDS)
        raise ProblemError(unauthorized())

    return operator_of


def unauthorized() -> Problem:
    return Problem(
        401,
        "unauthorized",
        "This page is for operators",
        "It needs a name, and as the password RIFFLE_ADMIN__KEY, or what `riffle admin` has printed.",
        headers={"WWW-Authenticate": CHALLENGE},
    )


def unavailable(error: RiffleError) -> Problem:
    hint = "Try again in a few seconds."
    return Problem(503, "unavailable", "A server does not answer", f"{error}.", hint, headers={"Retry-After": "5"})


def impossible(error: RiffleError) -> Problem:
    return Problem(400, "invalid-action", "This can't be done", f"{error}.")
