"""The resolver of host names: local hosts by the settings, all others by DNS, asynchronously (c-ares).

All addresses of a name are used in their order, so that a server that is down is passed over (RFC 8305). An address
that the guard refuses is passed over if there is another.

Domains whose name servers do not answer are remembered: their names are refused for a while, without a look-up.
"""

import asyncio
import math
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult

from streams.caches import RecentCache, TimedCache
from streams.crawl.fetch.guard import denial_reason

FAILURES = 6
"""Number of failures in a row, without an answer between them, until a domain is refused."""
REFUSED_SECONDS = 60.0
"""Time that a domain is refused (seconds). Then one lookup is tried."""
MAX_SUFFIXES = 10_000
"""Maximum number of domains that are remembered; the oldest ones are forgotten."""

_SHARED = frozenset({"ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"})
"""Second-level labels of country registries that sell domains below them, such as co.uk."""
LOOKUP_SECONDS = 6.0
"""Maximum time of a lookup (seconds)."""
QUERY_SECONDS = 2.0
"""Maximum wait before a query is repeated (seconds). c-ares waits five times the usual time, then twice as long."""
QUERIES = 5
"""Maximum number of queries for a name. A server that usually answers at once gets 7 seconds in all."""
_NO_SEARCH = 1 << 5
"""ARES_FLAG_NOSEARCH: the search domains of this machine's network are never added to a crawled name."""
TEMPORARY_PAUSES = (0.2, 1.0)
"""Pauses before a lookup with a temporary failure is tried again (seconds). A lookup's whole time stays bounded."""
PINNED_SECONDS = 60.0
"""Time for which an answer counts for further requests (seconds). A connection may use it for twice as long."""
FAILED_SECONDS = 1.0
"""Time for which a failure counts for the same name (seconds): the pace of a request asks for the addresses just before
its connection does. The next attempt comes later."""
MAX_ADDRESSES = 8
"""Maximum number of addresses of a name that are used."""
MAX_PINNED = 10_000
"""Maximum number of answers in memory."""
_TEMPORARY = frozenset({aiodns.error.ARES_ESERVFAIL, socket.EAI_AGAIN})
_NO_ANSWER = frozenset({aiodns.error.ARES_ETIMEOUT, aiodns.error.ARES_ESERVFAIL, aiodns.error.ARES_ECONNREFUSED})


@dataclass(slots=True)
class _Failures:
    count: int
    refused_until: float = 0.0


class FailingSuffixes:
    """The domains that fail. Times are seconds of any steady clock."""

    def __init__(self) -> None:
        self._failures: RecentCache[str, _Failures] = RecentCache(MAX_SUFFIXES)

    def refuses(self, host: str, now: float) -> bool:
        """Return whether the host's domain fails now. Regularly the answer is False, so that one lookup is tried."""
        failures = self._failures.get(suffix(host))
        if failures is None or failures.count < FAILURES:
            return False
        if now < failures.refused_until:
            return True
        failures.refused_until = now + REFUSED_SECONDS
        return False

    def note_failure(self, host: str, now: float) -> None:
        """Note a lookup without an answer."""
        failures = self._failures.get(suffix(host)) or _Failures(0)
        failures.count += 1
        failures.refused_until = now + REFUSED_SECONDS
        self._failures.put(suffix(host), failures)

    def note_answer(self, host: str) -> None:
        """Note an answer: the domain's name servers work."""
        self._failures.take(suffix(host))


def suffix(host: str) -> str:
    """Return the domain of a host name: its last two labels, or three below a registry's second level."""
    labels = host.split(".")
    registry = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SHARED
    return ".".join(labels[-3:] if registry else labels[-2:])


class Resolver(AbstractResolver):
    """Resolves names for aiohttp. `nameservers` are ADDRESS:PORT; the default is the system's configuration.

    An answer is pinned: the next connections use its addresses, the one first that connected last. A request counts at
    the first address of each family, so at no more than two; only a connection that fails leads to a later one.
    """

    def __init__(
        self,
        local: Mapping[str, tuple[str, int]],
        monotonic: Callable[[], float],
        nameservers: Sequence[str] | None = None,
        lookup_seconds: float = LOOKUP_SECONDS,
        *,
        denied: Callable[[str], str | None] = denial_reason,
    ) -> None:
        self._local = local
        self._denied = denied
        """Returns why the guard refuses an address."""
        self._monotonic = monotonic
        self._failing = FailingSuffixes()
        self._lookup_seconds = lookup_seconds
        self._dns = aiodns.DNSResolver(nameservers, flags=_NO_SEARCH, timeout=QUERY_SECONDS, tries=QUERIES)
        self._pinned: TimedCache[str, list[ResolveResult]] = TimedCache(
            PINNED_SECONDS, MAX_PINNED, monotonic, kept_for=2 * PINNED_SECONDS
        )
        self._failed: dict[str, tuple[float, str]] = {}
        """The last failures: time and reason."""

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses that the next connections to a host use first, at most one of each family.

        Raises OSError as `resolve` does.
        """
        if literal := _literal(host):
            return [literal]
        return [found["host"] for found in _one_of_each_family(await self._pin(host, 0, socket.AF_UNSPEC))]

    def note_connected(self, host: str, address: str) -> None:
        """Use the address that answered before the others, while the answer of the name servers counts."""
        kept = self._pinned.find(host)
        if kept is not None and kept.value[0]["host"] != address:
            kept.value.sort(key=lambda one: one["host"] != address)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a name. Raises OSError if there are none, or if the name servers don't answer."""
        return [_at_port(found, port) for found in await self._pin(host, port, family, may_be_old=True)]

    async def _pin(
        self, host: str, port: int, family: socket.AddressFamily, *, may_be_old: bool = False
    ) -> list[ResolveResult]:
        kept = self._pinned.find(host)
        if kept is not None and (kept.is_fresh or may_be_old):
            return kept.value
        self._raise_failure(host)
        try:
            found = self._passable(await self._resolve(host, port, family))
        except OSError as error:
            self._note_failure(host, error.strerror or str(error))
            raise
        self._pinned.keep(host, found)
        return found

    def _passable(self, found: list[ResolveResult]) -> list[ResolveResult]:
        """Return the addresses that the guard lets pass; all of them if there is none, so that it names its reason."""
        passable = [one for one in found if one["hostname"] in self._local or not self._denied(one["host"])]
        return (passable or found)[:MAX_ADDRESSES]

    def _raise_failure(self, host: str) -> None:
        """Raise OSError if the name had no answer a moment ago."""
        at, reason = self._failed.get(host, (-math.inf, ""))
        if self._monotonic() - at <= FAILED_SECONDS:
            raise OSError(None, reason)

    def _note_failure(self, host: str, reason: str) -> None:
        now = self._monotonic()
        self._failed = {name: one for name, one in self._failed.items() if now - one[0] <= FAILED_SECONDS}
        self._failed[host] = now, reason

    async def _resolve(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        if host in self._local:
            return [_result(host, *self._local[host])]
        if address := _numeric(host):
            return [_result(host, address, port)]
        if self._failing.refuses(host, self._monotonic()):
            raise OSError(None, "the name servers of its domain did not answer a short time ago")
        try:
            async with asyncio.timeout(self._lookup_seconds):
                answer = await self._look_up(host, port, family)
        except TimeoutError:
            self._failing.note_failure(host, self._monotonic())
            raise OSError(None, f"no answer in {self._lookup_seconds:g} s") from None
        except aiodns.error.DNSError as error:
            code, reason = error.args
            if code in _NO_ANSWER:
                self._failing.note_failure(host, self._monotonic())
            raise OSError(None, reason) from error
        self._failing.note_answer(host)
        return [_result(host, text_of_address(node.addr), port) for node in answer.nodes]

    async def _look_up(self, host: str, port: int, family: socket.AddressFamily) -> Any:
        """Look a name up. A temporary failure (SERVFAIL, EAI_AGAIN) is tried again, since one in a row means little."""
        for pause in (*TEMPORARY_PAUSES, None):
            try:
                return await self._dns.getaddrinfo(
                    host, family=family, port=port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
                )
            except aiodns.error.DNSError as error:
                if pause is None or error.args[0] not in _TEMPORARY:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def close(self) -> None:
        self._dns.cancel()


def _numeric(host: str) -> str | None:
    """Return the address that the C library reads in a name (such as 0x7f000001), so that the guard can check it."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _literal(host: str) -> str | None:
    """Return the address that a URL has in place of a name."""
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        return None


def _one_of_each_family(found: Sequence[ResolveResult]) -> list[ResolveResult]:
    return list({one["family"]: one for one in reversed(found)}.values())[::-1]


def _at_port(found: ResolveResult, port: int) -> ResolveResult:
    """Return the answer with the port of a connection, unless it has its own (local hosts)."""
    return found if found["port"] else ResolveResult({**found, "port": port})


def text_of_address(address: Sequence[Any]) -> str:
    """Return an address of c-ares as text, with its zone if it has one."""
    host, _port, *rest = address
    zone = f"%{rest[1]!s}" if rest and rest[1] else ""
    return str(host, "ascii") + zone


def _result(hostname: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=hostname,
        host=address,
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
