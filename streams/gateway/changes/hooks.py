"""`/api/v1/hooks`: make, list and remove webhooks, exchange their secrets, test them, read their last deliveries."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field
from starlette.responses import Response

from schemas import HookDue, PageIndexed, PageRemoved
from schemas.envelope import micros_from_utc, utc_from_micros
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import UsageError
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.changes.events import deliveries_of_a_hook, event_schemas
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.openapi import ApiModel
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.http.requests import api_router
from streams.gateway.writing.requests import (
    IDEMPOTENCY_KEY,
    REPEATED_PROBLEMS,
    WRITE_PROBLEMS,
    Body,
    json_body,
    once,
    parse_body,
    prefix_of,
    read_body,
    writing,
)
from streams.hooks.failing import Failing, put_failing, read_failing
from streams.hooks.log import read_tries
from streams.hooks.signing import SECRET_BYTES, make_secret, test_event
from streams.stores.protocols import Hook, HookSecret
from streams.writing.crawls import Publisher
from streams.writing.idempotency import Repetitions

MAX_HOOKS = 10
"""Maximum number of webhooks of a key."""
OVERLAP_SECONDS = 86_400
"""Time for which the former secret still signs after an exchange (seconds)."""
HookTopic = Literal["pages.indexed", "pages.removed"]
ALL_TOPICS: tuple[HookTopic, ...] = ("pages.indexed", "pages.removed")
assert (PageIndexed.topic, PageRemoved.topic) == ALL_TOPICS
_ID = Path(pattern=r"^[0-9a-f]{12}$", description="The webhook's `id`.", examples=["3f9a51c0d2b7"])
_UNKNOWN = Problem("unknown-hook", "The key has no webhook with this id.")
_PROBLEMS = openapi.problem_responses("/api/v1/hooks", *WRITE_PROBLEMS)
_OF_ONE = openapi.problem_responses("/api/v1/hooks/3f9a51c0d2b7", ("There is no such webhook", _UNKNOWN))
_MADE = openapi.problem_responses("/api/v1/hooks", *REPEATED_PROBLEMS)


class NewHook(Body):
    """A webhook to make."""

    url: str = Field(min_length=1, max_length=2_048, description="Address of the receiver: https, on port 443.")
    events: tuple[HookTopic, ...] = Field(ALL_TOPICS, min_length=1, max_length=2)
    prefix: str = Field("", max_length=2_048, description="Only pages whose addresses begin with it.")
    note: str = Field("", max_length=200)


class HookAnswer(ApiModel):
    """A webhook."""

    id: str
    self: str = Field(description="Its path.")
    url: str
    events: tuple[str, ...]
    prefix: str = ""
    note: str = ""
    created: datetime
    state: Literal["on", "failing", "off"] = Field(
        "on", description="`failing`: its receiver took nothing since `failing_since`. `off`: it hears only of tests."
    )
    failing_since: datetime | None = None
    off_since: datetime | None = None
    off_why: str = Field("", description="Why it was switched off.")
    secret: str | None = Field(None, description="Only in the answer that makes it. It signs each event.")
    former_secret_until: datetime | None = Field(None, description="Until then, the former secret signs, too.")


class HookList(ApiModel):
    """The webhooks of a key."""

    hooks: tuple[HookAnswer, ...]


class Delivery(ApiModel):
    """A try to deliver an event."""

    at: datetime
    id: str = Field(description="The event: `webhook-id`.")
    type: str
    url: str = Field("", description="The page.")
    attempt: int = Field(description="1: the first try.")
    status: int | None = Field(None, description="Status of the receiver's answer.")
    error: str = Field("", description="Why the event was not taken; empty if it was.")
    took_ms: float


class Deliveries(ApiModel):
    """The last tries of a webhook."""

    deliveries: tuple[Delivery, ...] = Field(description="The newest first: up to 50 taken and 50 failed, of 7 days.")


class Tested(ApiModel):
    """A test that is on its way."""

    id: str = Field(description="The event's id: `webhook-id`.")


def hook_routes(context: GatewayContext, guard: Guard, publish: Publisher, repetitions: Repetitions) -> APIRouter:
    router = api_router("changes")
    charged = Annotated[Charge, Depends(guard.needs("changes"))]
    openapi.name_schemas(event_schemas())

    def now() -> int:
        return micros_from_utc(context.clock())

    async def hooks_of(charge: Charge) -> list[Hook]:
        async with writing(context):
            found = await context.stores.api_keys.hooks()
        return [hook for hook in found if hook.key == charge.key.id]

    async def find(charge: Charge, hook_id: str) -> Hook:
        found = [hook for hook in await hooks_of(charge) if hook.id == hook_id]
        if not found:
            raise ProblemError(_UNKNOWN)
        return found[0]

    async def put(hook: Hook) -> None:
        async with writing(context):
            await context.stores.api_keys.put_hook(hook, now())

    async def shown(*hooks: Hook, secret: bool = False) -> tuple[HookAnswer, ...]:
        async with writing(context):
            failing = await read_failing(context.stores.notes)
        return tuple(_answer(hook, now(), failing.get(hook.id), shows_secret=secret) for hook in hooks)

    @router.post(
        "/hooks",
        summary="Make a webhook",
        description="Its receiver hears of pages that the key may see. The secret is in this answer only.",
        status_code=201,
        response_class=Response,
        responses={
            201: openapi.written_response(HookAnswer, "The webhook. `Location` is its path.", "hook"),
            **_PROBLEMS,
            **_MADE,
        },
        openapi_extra={
            **json_body(NewHook, {"url": "https://app.example/riffle"}, IDEMPOTENCY_KEY),
            "callbacks": deliveries_of_a_hook(),
        },
    )
    async def make_hook(charge: charged, request: Request) -> Response:
        body = await read_body(request)
        wanted = parse_body(body, NewHook)
        async with writing(context):
            url = _receiver(context, wanted.url)
            prefix = prefix_of(wanted.prefix, context.settings.crawl.origins, charge.key.hosts)

        async def make(hook_id: str) -> HookAnswer:
            others = await hooks_of(charge)
            known = next((hook for hook in others if hook.id == hook_id), None)
            if known is None and len(others) >= MAX_HOOKS:
                why = f"The key has {MAX_HOOKS} webhooks, and no more are allowed."
                raise ProblemError(Problem("invalid-body", why))
            hook = known or Hook(
                id=hook_id,
                key=charge.key.id,
                url=url,
                events=wanted.events,
                secrets=(HookSecret(make_secret(secrets.token_bytes(SECRET_BYTES))),),
                prefix=prefix,
                note=wanted.note,
                created=now(),
            )
            await put(hook)
            return (await shown(hook, secret=True))[0]

        return await once(context, repetitions, request, charge.client.id, body, make)

    @router.get(
        "/hooks",
        summary="The webhooks of the key",
        description="The webhooks of the key, without their secrets.",
        responses={200: openapi.json_response("The webhooks", "hooks"), **_PROBLEMS},
        response_model_exclude_none=True,
    )
    async def list_hooks(charge: charged) -> HookList:
        return HookList(hooks=await shown(*await hooks_of(charge)))

    @router.get(
        "/hooks/{hook_id}",
        summary="A webhook",
        description="A webhook of the key, without its secrets.",
        responses={200: openapi.json_response("The webhook", "hook"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def hook(charge: charged, hook_id: Annotated[str, _ID]) -> HookAnswer:
        return (await shown(await find(charge, hook_id)))[0]

    @router.post(
        "/hooks/{hook_id}/on",
        summary="Switch a webhook on again",
        description="It hears again of pages from now on. What it did not hear of meanwhile does not come.",
        responses={200: openapi.json_response("The webhook", "hook"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def switch_on_hook(charge: charged, hook_id: Annotated[str, _ID]) -> HookAnswer:
        found = await find(charge, hook_id)
        async with writing(context):
            await put_failing(context.stores.notes, found.id, None)
        return (await shown(found))[0]

    @router.delete(
        "/hooks/{hook_id}",
        summary="Remove a webhook",
        description="Events that wait for it are dropped.",
        status_code=204,
        response_class=Response,
        responses={204: {"description": "It is removed."}, **_PROBLEMS, **_OF_ONE},
    )
    async def remove_hook(charge: charged, hook_id: Annotated[str, _ID]) -> Response:
        found = await find(charge, hook_id)
        async with writing(context):
            await context.stores.api_keys.remove_hook(found.id, now())
            await put_failing(context.stores.notes, found.id, None)
        return Response(status_code=204)

    @router.post(
        "/hooks/{hook_id}/secret",
        summary="Exchange the secret",
        description="A new secret signs from now on, and the former one beside it for a day.",
        responses={200: openapi.json_response("The webhook with its new secret", "hook"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def exchange_secret(charge: charged, hook_id: Annotated[str, _ID]) -> HookAnswer:
        found, at = await find(charge, hook_id), now()
        former = HookSecret(found.secrets[0].secret, at + OVERLAP_SECONDS * 1_000_000)
        new = HookSecret(make_secret(secrets.token_bytes(SECRET_BYTES)))
        changed = replace(found, secrets=(new, former))
        await put(changed)
        return (await shown(changed, secret=True))[0]

    @router.post(
        "/hooks/{hook_id}/test",
        summary="Test a webhook",
        description="Sends an event of the type `riffle.hooks.tested.v1`. `deliveries` says what came of it.",
        status_code=202,
        responses={202: openapi.json_response("It is on its way", "hook_test"), **_PROBLEMS, **_OF_ONE},
    )
    async def test_hook(charge: charged, hook_id: Annotated[str, _ID]) -> Tested:
        found = await find(charge, hook_id)
        event_id = secrets.token_hex(16)
        made = test_event(found.id, event_id, context.clock())
        async with writing(context):
            await publish(HookDue(hook_id=found.id, cloud_event=made), event_id)
        return Tested(id=event_id)

    @router.get(
        "/hooks/{hook_id}/deliveries",
        summary="The last deliveries of a webhook",
        description="The last deliveries of a webhook, with the outcome of each.",
        responses={200: openapi.json_response("The deliveries", "deliveries"), **_PROBLEMS, **_OF_ONE},
        response_model_exclude_none=True,
    )
    async def deliveries(charge: charged, hook_id: Annotated[str, _ID]) -> Deliveries:
        found = await find(charge, hook_id)
        async with writing(context):
            tries = await read_tries(context.stores.notes, found.id)
        listed = (
            Delivery(
                at=utc_from_micros(each.at),
                id=each.event_id,
                type=each.type,
                url=each.url,
                attempt=each.attempt,
                status=each.status or None,
                error=each.error,
                took_ms=round(each.took_ms, 1),
            )
            for each in tries
        )
        return Deliveries(deliveries=tuple(listed))

    return router


def _receiver(context: GatewayContext, text: str) -> str:
    """Return the canonical address of a receiver. Raises UsageError. Its IP address is checked with each delivery."""
    try:
        return with_scheme(text, context.settings.crawl.origins)
    except InvalidUrl as error:
        raise UsageError(f"{text[:200]!r} can't be a receiver: {error}") from None


def _answer(hook: Hook, now: int, failing: Failing | None, *, shows_secret: bool) -> HookAnswer:
    former = [each.until for each in hook.secrets[1:] if each.until > now]
    return HookAnswer(
        id=hook.id,
        self=f"/api/v1/hooks/{hook.id}",
        url=hook.url,
        events=hook.events,
        prefix=hook.prefix,
        note=hook.note,
        created=utc_from_micros(hook.created),
        state="on" if failing is None else "off" if failing.off else "failing",
        failing_since=utc_from_micros(failing.since) if failing else None,
        off_since=utc_from_micros(failing.off) if failing and failing.off else None,
        off_why=failing.why if failing else "",
        secret=hook.secrets[0].secret if shows_secret else None,
        former_secret_until=utc_from_micros(former[0]) if former else None,
    )
