"""Who sends a request: a program with a key, or anybody at an address.

Addresses are stored nowhere: the store of budgets gets a hash, with a key of the day that follows from the first secret
of the gateway. IPv6 addresses count by their network of 64 bits, since one customer has at least that.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network

from starlette.requests import Request

from streams.gateway.access.sight import Sight
from streams.stores.protocols import ApiKey

SEES_ALL = Sight()
MAX_HOPS = 20
"""Maximum number of addresses that are read of `X-Forwarded-For`."""


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request."""

    id: str
    """The key's id, or the hash of the address."""
    key: ApiKey | None = None
    sight: Sight = SEES_ALL
    """The pages that the client may see."""


def given_key(request: Request) -> str:
    """Return the key of a request: a bearer token, or the password of HTTP's basic form, which readers of feeds have.

    Empty if there is none.
    """
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def address_of(request: Request, proxies: Sequence[str]) -> str:
    """Return the client's address. `X-Forwarded-For` is read from its end, as far as trusted proxies wrote it."""
    address = request.client.host if request.client else ""
    hops = request.headers.get("x-forwarded-for", "").split(",")[-MAX_HOPS:]
    for hop in reversed([hop.strip() for hop in hops if hop.strip()]):
        if not is_in(address, proxies):
            return address
        address = hop
    return address


def is_in(address: str, networks: Sequence[str]) -> bool:
    try:
        given = ip_address(address)
    except ValueError:
        return False
    return any(given in ip_network(network, strict=False) for network in networks)


def hash_address(address: str, day: int, secret: bytes) -> str:
    """Return the hash of an address on a day. Something that is no address is hashed as it is."""
    try:
        given = ip_address(address)
    except ValueError:
        counted = address
    else:
        counted = str(IPv6Network((given, 64), strict=False)) if isinstance(given, IPv6Address) else str(given)
    return "a" + blake2b(f"{day} {counted}".encode(), key=secret, digest_size=12).hexdigest()
