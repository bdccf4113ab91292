"""The check before each request of a program: its key, the key's scope, and its budget.

    @router.get("/search")
    async def search(charge: Annotated[Charge, Depends(guard.needs("search"))]) -> ...:
        charge.spend(cost)  # what the request costs beside the unit that it cost to begin

A charge is made when the request begins (one unit), and again when its cost is known.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from fastapi import Request, Security
from fastapi.security import HTTPBearer

from streams.caches import TimedCache
from streams.crawl.audiences import SITES_SECONDS
from streams.errors import RiffleError
from streams.gateway.access.bucket import Allowance, Verdict
from streams.gateway.access.clients import (
    KEY_SCOPES,
    Client,
    GivenKey,
    Scope,
    fault_of,
    given_key,
    hash_person,
    person_of,
    read_key,
)
from streams.gateway.access.limiter import Limiter
from streams.gateway.context import GatewayContext
from streams.gateway.http.keys import derive_keys
from streams.gateway.http.middleware import MORE_HEADERS
from streams.gateway.http.problems import Problem, ProblemError, records_unavailable
from streams.seen.sites import visible_to
from streams.stores.protocols import EVERYTHING, ApiKey, Site, Visible
from streams.writing.rights import Writer, hosts_of

KEY_SECONDS = 30.0
"""Time for which a key that was read is used: a revoked key is refused after this time at the latest (seconds)."""
MAX_KEYS = 10_000
WRITES_PER_DAY = 10_000
"""Pages that a key may write or have crawled in a day (UTC), if it has no number of its own."""
READ_SECONDS = 1.0
"""Maximum time to read a key (seconds)."""
BEARER = HTTPBearer(auto_error=False, scheme_name="key", description="A key of the API: `Authorization: Bearer KEY`.")


reads = structlog.wrap_logger(
    None, wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET), log="riffle.private_reads"
)
"""The log of who reads the pages of private sites: the site, the id of the key, and the path of the request. Its lines
have its name, and are written at any level of the settings."""


@dataclass(frozen=True, slots=True)
class Charge:
    """An admitted request."""

    client: Client
    _limiter: Limiter

    def spend(self, cost: int) -> None:
        """Count the cost of the request. The unit that it cost to begin is part of it."""
        self._limiter.spend(self.client.id, cost - 1)

    def spend_further(self, cost: int) -> None:
        """Count work of a request whose cost is not known at once, beside the unit that it cost to begin."""
        self._limiter.spend(self.client.id, cost)

    @property
    def visible(self) -> Visible:
        """The pages that the client may see."""
        return self.client.visible

    @property
    def key(self) -> ApiKey:
        """The key of a request whose scope nobody has without one (`KEY_SCOPES`)."""
        assert self.client.key is not None, "only keys have the scope"
        return self.client.key

    def allows(self, scope: Scope) -> bool:
        return self.client.key is None or scope in self.client.key.scopes


class Guard:
    """The check of one gateway process."""

    def __init__(self, context: GatewayContext) -> None:
        self._context, self._settings = context, context.settings.access
        self.limiter = Limiter(
            context.stores, lambda: context.clock().timestamp(), context.metrics.unshared_budgets.inc
        )
        secrets = [secret.get_secret_value() for secret in context.settings.gateway.keys[:1]]
        (key,) = derive_keys(secrets or [self.limiter.gateway], "addresses")
        self._secret = key.value
        self._keys: TimedCache[GivenKey, ApiKey | None] = TimedCache(KEY_SECONDS, MAX_KEYS, self._now)
        self._sites: tuple[float, dict[str, Site]] = (float("-inf"), {})
        """The time until which the sites are used, and the sites."""
        self._people: tuple[dict[str, Site], Visible] | None = None
        """Sites, and what people see of them."""

    def needs(self, scope: Scope) -> Callable[..., Awaitable[Charge]]:
        """Return the dependency of a route of the API that this scope allows."""

        async def check(request: Request, _bearer: object = Security(BEARER)) -> Charge:
            return await self.check(request, scope)

        return check

    def needs_no_budget(self, scope: Scope) -> Callable[..., Awaitable[Charge]]:
        """Return the dependency of a route that costs nothing: its answer comes from memory."""

        async def check(request: Request, _bearer: object = Security(BEARER)) -> Charge:
            return await self._check_key(request, scope)

        return check

    async def check(self, request: Request, scope: Scope) -> Charge:
        """Return the charge of a request. Raises ProblemError: no key, a wrong one, or no budget."""
        charge = await self._check_key(request, scope)
        client = charge.client
        verdict = await self.limiter.admit(client.id, self.allowance_of(client))
        request.scope.get(MORE_HEADERS, {}).update(verdict.headers())
        if not verdict.allowed:
            self._context.metrics.limited.labels("key" if client.key else "address").inc()
            raise ProblemError(_too_much(verdict))
        return charge

    async def _check_key(self, request: Request, scope: Scope) -> Charge:
        client = await self.identify(request)
        if client.key is None and (scope in KEY_SCOPES or not self._settings.anonymous):
            needs = "this path answers" if scope in KEY_SCOPES else "this gateway answers"
            why = f"The request has no key, and {needs} nobody without one."
            hint = "Send `Authorization: Bearer KEY`. The operator makes keys with `riffle keys add`."
            raise ProblemError(Problem("key-needed", why, hint, headers={"WWW-Authenticate": 'Bearer realm="riffle"'}))
        if client.key and client.visible.audiences:
            reads.info("a private site is read", site=client.key.site, key=client.key.id, path=request.url.path)
        charge = Charge(client, self.limiter)
        if not charge.allows(scope):
            hint = f"Use a key with this scope: `riffle keys add NAME --scope {scope}`."
            raise ProblemError(Problem("scope-missing", f"The key does not have the scope `{scope}`.", hint))
        return charge

    async def writer_of(self, charge: Charge) -> Writer:
        """Return the key of a request as far as it writes. Raises ProblemError for a key without domains."""
        key = charge.key
        site = (await self.sites()).get(key.site)
        hosts = hosts_of(key.hosts, site.hosts if site else ())
        if not hosts:
            hint = "Use a key with domains: `riffle keys add NAME --scope write --host HOST`, or one of a site."
            raise ProblemError(Problem("not-writable", "The key names no domain whose pages it may write.", hint))
        return Writer(key.id, key.name, hosts)

    async def take_quota(self, charge: Charge, pages: int) -> None:
        """Count pages that a key writes, or has crawled. Raises ProblemError, and counts nothing, if too few are left.

        All gateways share the quota as they share budgets: two at once may give a little more than it has.
        """
        key = charge.key
        client, allowance = f"w{key.id}", Allowance(per_day=key.writes_per_day or WRITES_PER_DAY)
        verdict = await self.limiter.look(client, allowance)
        if verdict.day_left < pages:
            raise ProblemError(_no_quota(verdict, pages))
        self.limiter.spend(client, pages)

    async def charge_person(self, request: Request) -> Charge:
        """Return the charge of a request for a page that people read. Raises ProblemError: no budget."""
        client = Client(self._address(request), visible=await self.visible_to_people())
        if self._anonymous.is_limited:
            verdict = await self.limiter.admit(client.id, self._anonymous)
            if not verdict.allowed:
                self._context.metrics.limited.labels("address").inc()
                raise ProblemError(_too_much(verdict))
        return Charge(client, self.limiter)

    async def has_budget(self, charge: Charge) -> bool:
        """Return whether a request that runs may do more work. Counts nothing."""
        allowance = self.allowance_of(charge.client)
        return not allowance.is_limited or (await self.limiter.look(charge.client.id, allowance)).allowed

    async def identify(self, request: Request) -> Client:
        """Return the client. Raises ProblemError if it sends a key that is refused, or that can't be read now."""
        text = given_key(request)
        if not text:
            return Client(self._address(request), visible=await self.visible_to_people())
        given = read_key(text)
        if given is None:
            raise ProblemError(_refused_key("It does not have the form of a key: `rfl_`, an id, `_`, and a secret."))
        stored = await self._read_key(given)
        if fault := fault_of(given, stored, int(self._context.clock().timestamp() * 1e6)):
            raise ProblemError(_refused_key(fault))
        assert stored is not None
        return Client(f"k{stored.id}", await self._visible_to(stored), stored)

    async def visible_to_people(self) -> Visible:
        """Return what people see who search without a key: all but the pages of private sites."""
        if not self._settings.private_sites:
            return EVERYTHING
        sites = await self.sites()
        if self._people is None or self._people[0] is not sites:
            self._people = sites, visible_to(None, sites)
        return self._people[1]

    def allowance_of(self, client: Client) -> Allowance:
        if client.key is None:
            return self._anonymous
        own, given = client.key, self._settings
        return Allowance(own.per_minute or given.key_per_minute, own.per_day or given.key_per_day)

    async def sites(self) -> dict[str, Site]:
        """Return all sites, by name, as they were at most SITES_SECONDS ago. While the store is down, as they were.

        Raises ProblemError if they were never read.
        """
        until, known = self._sites
        now = self._now()
        if now < until:
            return known
        pause = SITES_SECONDS
        try:
            async with asyncio.timeout(READ_SECONDS):
                known = {site.name: site for site in await self._context.stores.api_keys.sites()}
        except (RiffleError, TimeoutError) as error:
            self._context.metrics.count_failure("records", error)
            if until == float("-inf"):
                raise ProblemError(records_unavailable("The store of sites does not answer.", error)) from error
            pause = KEY_SECONDS
        self._sites = now + pause, known
        return known

    @property
    def _anonymous(self) -> Allowance:
        return Allowance(self._settings.anonymous_per_minute, self._settings.anonymous_per_day)

    def _now(self) -> float:
        return self._context.clock().timestamp()

    def _address(self, request: Request) -> str:
        person = person_of(request, self._settings.trusted_proxies)
        return hash_person(person, int(self._now() // 86_400), self._secret)

    async def _visible_to(self, key: ApiKey) -> Visible:
        if not key.site:
            return await self.visible_to_people()
        sites = await self.sites()
        if key.site not in sites:
            raise ProblemError(_refused_key("The site of the key was removed."))
        return visible_to(sites[key.site], sites)

    async def _read_key(self, given: GivenKey) -> ApiKey | None:
        """Return what is stored of a key. While the store is down, keys that were used before are used on."""
        known = self._keys.find(given)
        if known is not None and known.is_fresh:
            return known.value
        try:
            async with asyncio.timeout(READ_SECONDS):
                stored = await self._context.stores.api_keys.get(given.id)
        except (RiffleError, TimeoutError) as error:
            self._context.metrics.count_failure("records", error)
            if known is None:
                raise ProblemError(records_unavailable("The store of keys does not answer.", error)) from error
            stored = known.value
        self._keys.keep(given, stored)
        return stored


def _refused_key(why: str) -> Problem:
    return Problem(
        "key-refused",
        why,
        "Send `Authorization: Bearer KEY` with a valid key, or none.",
        headers={"WWW-Authenticate": 'Bearer realm="riffle", error="invalid_token"'},
    )


def _no_quota(verdict: Verdict, pages: int) -> Problem:
    return Problem(
        "quota-spent",
        f"{pages:,} pages are asked for, and {verdict.day_left:,} of {verdict.allowance.per_day:,} are left today.",
        f"Wait {verdict.day_reset:,} s, or ask for fewer. The operator sets the number: "
        "`riffle keys add NAME --writes-per-day N`.",
        headers={"Retry-After": str(verdict.day_reset)},
    )


def _too_much(verdict: Verdict) -> Problem:
    is_of_day = verdict.allowance.per_day and not verdict.day_left
    return Problem(
        "too-many-requests",
        f"The budget of work is spent: of this {'day' if is_of_day else 'minute'}.",
        f"Wait {verdict.retry_after:,} s. `RateLimit` of each answer says what is left.",
        headers={"Retry-After": str(verdict.retry_after), **verdict.headers()},
    )
