"""The hooks stage: an event of a page becomes one event for each hook that hears of it, and each of these one POST.

An event that a receiver does not take raises NotHeard: the runtime tries it again through the stage's retry topics,
and after some hours makes a dead letter of it. Meanwhile the receiver rests between two tries, for a time that doubles,
with jitter; one event tries whether it is back. So a receiver that is away costs the others nothing. A redelivery sends
the same `webhook-id` again: receivers hear of each event at least once, in no promised order. A hook whose receiver is
gone, or took nothing for days, is switched off: only tests still go to it.
"""

import asyncio
import random as randomness
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import orjson
import structlog

from schemas import Event, HookDue, PageIndexed, PageRemoved
from streams.caches import RecentCache
from streams.clock import now_micros
from streams.errors import NotHeard, PoisonError, TransientError
from streams.hooks.failing import Failing, after_failure, put_failing, read_failing
from streams.hooks.hearing import NO_HOOKS, Hooks
from streams.hooks.log import SLOTS, Try, write_try
from streams.hooks.sending import HookPost, Post
from streams.hooks.signing import TEST_TYPE, cloud_event, headers_of, secrets_at
from streams.runtime.agent import Agent, Delivery
from streams.settings import Settings
from streams.stores.opener import Stores
from streams.stores.protocols import ApiKeys, Hook, Notes

log = structlog.get_logger(__name__)

READ_SECONDS = 5.0
"""Maximum age of the hooks, keys and sites that a worker follows (seconds)."""
AT_ONCE = 16
"""Maximum number of tries at one receiver at once."""
PLACE_SECONDS = 5.0
"""Maximum time that an event waits for its turn at a receiver (seconds). Then it goes through the retry topic."""
FIRST_REST_SECONDS, MAX_REST_SECONDS = 1.0, 300.0
"""Time that a receiver rests after a failure (seconds). It doubles with each failure in a row."""
MAX_RECEIVERS = 10_000


@dataclass(slots=True)
class _Receiver:
    """A receiver as this worker knows it."""

    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    failures: int = 0
    """Failures in a row."""
    rests_until: float = 0.0
    is_tried: bool = False
    """True while one event tries whether it is back."""


def rest_seconds(failures: int, jitter: float) -> float:
    """Return the time until the next try: between half and all of it doubled with each failure, at most the maximum."""
    return min(FIRST_REST_SECONDS * 2.0 ** min(failures - 1, 30), MAX_REST_SECONDS) * (0.5 + jitter / 2)


class HooksAgent(Agent):
    """Sends the events of pages to the hooks that hear of them."""

    def __init__(
        self,
        keys: ApiKeys,
        notes: Notes,
        post: Post,
        *,
        now: Callable[[], int] = now_micros,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = randomness.random,
        gateway: str = "",
    ) -> None:
        """`gateway`: its public address; empty: not known."""
        self._keys, self._notes, self._post, self._gateway = keys, notes, post, gateway
        self._now, self._monotonic, self._random = now, monotonic, random
        self._hooks, self._read_at = NO_HOOKS, float("-inf")
        self._failing: dict[str, Failing] = {}
        self._receivers: RecentCache[str, _Receiver] = RecentCache(MAX_RECEIVERS)
        self._slot = int(random() * SLOTS)

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Return an event for each hook that hears of a page, or deliver such an event. Raises NotHeard."""
        event = delivery.event
        hooks = await self._read()
        match event:
            case PageIndexed() | PageRemoved():
                hearing = hooks.hearing(event.topic, event.url, self._now())
                made = cloud_event(event, delivery.envelope, self._gateway)
                on = (hook for hook in hearing if not self._is_off(hook))
                return [HookDue(hook_id=hook.id, url=event.url, cloud_event=made) for hook in on]
            case HookDue():
                hook, is_test = hooks.hooks.get(event.hook_id), event.cloud_event.get("type") == TEST_TYPE
                if hook and hooks.may_hear(hook, event.url, self._now()) and (is_test or not self._is_off(hook)):
                    await self._deliver(hook, event, delivery.attempt)
                return ()
        raise PoisonError(f"{type(event).__name__} is nothing that a hook hears")

    async def stop(self) -> None:
        if isinstance(self._post, HookPost):
            await self._post.close()

    async def _read(self) -> Hooks:
        """Return the hooks as they were at most READ_SECONDS ago. Raises StoreUnavailable."""
        now = self._monotonic()
        if now - self._read_at >= READ_SECONDS:
            found = await self._keys.hooks()
            keys, sites = (await self._keys.all(), await self._keys.sites()) if found else ([], [])
            self._failing = await read_failing(self._notes) if found else {}
            self._hooks, self._read_at = Hooks.of(found, keys, sites), now
        return self._hooks

    def _is_off(self, hook: Hook) -> bool:
        failing = self._failing.get(hook.id)
        return failing is not None and failing.off > 0

    async def _deliver(self, hook: Hook, event: HookDue, attempt: int) -> None:
        receiver = self._receivers.get(hook.url)
        if receiver is None:
            self._receivers.put(hook.url, receiver := _Receiver())
        if receiver.failures and (receiver.is_tried or self._monotonic() < receiver.rests_until):
            raise NotHeard(f"{hook.url} rests after {receiver.failures} failures in a row")
        receiver.is_tried = bool(receiver.failures)
        try:
            async with asyncio.timeout(PLACE_SECONDS):
                await receiver.places.acquire()
        except TimeoutError:
            receiver.is_tried = False
            raise NotHeard(f"{hook.url} is slow: {AT_ONCE} events are being delivered to it") from None
        try:
            await self._try(hook, event, attempt, receiver)
        finally:
            receiver.places.release()
            receiver.is_tried = False

    async def _try(self, hook: Hook, event: HookDue, attempt: int, receiver: _Receiver) -> None:
        made, now, began = event.cloud_event, self._now(), self._monotonic()
        body, event_id = orjson.dumps(made), str(made["id"])
        reply = await self._post(hook.url, headers_of(event_id, body, secrets_at(hook.secrets, now), now), body)
        took_ms = (self._monotonic() - began) * 1_000
        done = Try(now, event_id, str(made["type"]), event.url, attempt, reply.status, reply.error, took_ms)
        await self._write(hook, done)
        if not reply.error:
            receiver.failures = 0
            if hook.id in self._failing:
                await self._put_failing(hook, None)
            return
        receiver.failures += 1
        receiver.rests_until = self._monotonic() + rest_seconds(receiver.failures, self._random())
        known = self._failing.get(hook.id)
        failing = after_failure(known, reply.status, receiver.failures, now)
        if failing != known:
            await self._put_failing(hook, failing)
        if failing.off:
            if failing != known:
                log.warning("a webhook is switched off", hook=hook.id, url=hook.url, why=failing.why)
                await self._write(hook, replace(done, status=0, error=f"switched off: {failing.why}", took_ms=0.0))
            return
        raise NotHeard(f"{hook.url}: {reply.error}")

    async def _put_failing(self, hook: Hook, failing: Failing | None) -> None:
        with suppress(TransientError):  # the next failure writes it
            await put_failing(self._notes, hook.id, failing)
        if failing:
            self._failing[hook.id] = failing
        else:
            self._failing.pop(hook.id, None)

    async def _write(self, hook: Hook, done: Try) -> None:
        self._slot += 1
        with suppress(TransientError):  # the log is for people: an event that was taken is not sent again for it
            await write_try(self._notes, hook.id, self._slot, done)


async def build(settings: Settings, stores: Stores) -> HooksAgent:
    post, gateway = HookPost(settings.crawl), settings.gateway.public_url
    return HooksAgent(stores.api_keys, stores.notes, post, gateway=gateway)
