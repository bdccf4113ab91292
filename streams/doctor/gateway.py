"""The gateway: whether it answers, and from which stores."""

import ssl
from collections.abc import Iterator, Mapping

import httpx2

from streams.client.plain_http import plain_client
from streams.credentials import client_context
from streams.doctor.findings import Finding, failure, ok, warning
from streams.settings import Settings

REQUEST_SECONDS = 8.0


def check_gateway(settings: Settings, address: str = "") -> Iterator[Finding]:
    """Check the gateway at `address`, or at the address of the settings."""
    base = address or gateway_address(settings)
    try:
        answer = _get(f"{base}/readyz", _context(base, settings))
        if answer.status_code == httpx2.codes.NOT_FOUND:  # with an admin port, only that port knows the stores
            yield _check_alive(base, settings)
            return
        stores: Mapping[str, str] = answer.json()["stores"]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        yield failure(
            "gateway",
            f"{base} doesn't answer ({str(error) or type(error).__name__})",
            "Start it (`riffle up`, or `riffle gateway`), or say where it is: riffle doctor --gateway URL",
        )
        return
    yield judge_readiness(base, stores)


def _check_alive(base: str, settings: Settings) -> Finding:
    answer = _get(f"{base}/healthz", _context(base, settings))
    if answer.status_code != httpx2.codes.OK:
        return failure("gateway", f"{base} is no gateway of Riffle", "Say where it is: riffle doctor --gateway URL")
    return ok("gateway", f"{base} answers. Its admin port knows whether the stores do: riffle doctor --gateway URL")


def _get(url: str, verify: ssl.SSLContext | bool) -> httpx2.Response:
    with plain_client(verify=verify, timeout=REQUEST_SECONDS, trust_env=False) as client:
        return client.get(url)


def gateway_address(settings: Settings) -> str:
    """Return the public address in production, if it is set, or else the address for commands on this machine."""
    public = settings.gateway.public_url if settings.profile == "production" else ""
    return public or settings.gateway.address


def _context(base: str, settings: Settings) -> ssl.SSLContext | bool:
    return base.startswith("https:") and client_context(settings.gateway_client)


def judge_readiness(address: str, stores: Mapping[str, str]) -> Finding:
    """Check the stores: without vectors there are no searches, without another store they are answered in part."""
    away = {name: state for name, state in stores.items() if state != "ok"}
    lines = [f"{name}: {state}" for name, state in away.items()]
    if "vectors" in away:
        return failure(
            "gateway", f"{address} can't answer searches", "Mend the store; the gateway recovers by itself.", *lines
        )
    if away:
        return warning(
            "gateway", f"{address} answers in part", "Mend the store; the gateway recovers by itself.", *lines
        )
    return ok("gateway", f"{address} answers from all stores")
