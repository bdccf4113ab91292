"""Who sends a request: a program with a key, or anybody at an address.

Addresses are stored nowhere: the store of budgets gets a hash, with a key of the day that follows from the first secret
of the gateway. IPv6 addresses count by their network of 64 bits, since one customer has at least that.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.requests import Request

from streams.gateway.access.sight import Sight
from streams.stores.protocols import ApiKey

SEES_ALL = Sight()
MAX_HOPS = 20
"""Maximum number of addresses that are read of `X-Forwarded-For`."""
_MAPPED_BITS = 96
"""Length of the prefix of IPv4 addresses that are written as IPv6 ones (`::ffff:0:0/96`)."""


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
    """Return the client's address. `X-Forwarded-For` is read from its end, as far as trusted proxies wrote it.

    Several lines of the header are one list (RFC 9110): a proxy may add its own line below the line of the client.
    """
    address = without_port(request.client.host) if request.client else ""
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")[-MAX_HOPS:]
    for hop in reversed([hop.strip() for hop in hops if hop.strip()]):
        if not is_in(address, proxies):
            return address
        address = without_port(hop)
    return address


def without_port(hop: str) -> str:
    """Return an address without the port that some proxies write behind it, and without the brackets of IPv6.

    An IPv4 address that is written as an IPv6 one (`::ffff:192.0.2.1`) is returned as IPv4. Something that is no
    address stays as it is.
    """
    bare = hop[1:].partition("]")[0] if hop.startswith("[") else hop
    given = _read(bare.partition(":")[0] if bare.count(":") == 1 else bare)
    return hop if given is None else str(given)


def _read(address: str) -> IPv4Address | IPv6Address | None:
    try:
        given = ip_address(address)
    except ValueError:
        return None
    return (given.ipv4_mapped if isinstance(given, IPv6Address) else None) or given


def is_in(address: str, networks: Sequence[str]) -> bool:
    given = _read(address)
    return given is not None and any(given in _network(network) for network in networks)


def _network(text: str) -> IPv4Network | IPv6Network:
    """Return a network. One of IPv4 addresses that are written as IPv6 ones is one of IPv4."""
    network = ip_network(text, strict=False)
    if isinstance(network, IPv6Network) and network.prefixlen >= _MAPPED_BITS:
        mapped = network.network_address.ipv4_mapped
        return network if mapped is None else IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))
    return network


def hash_address(address: str, day: int, secret: bytes) -> str:
    """Return the hash of an address on a day. Something that is no address is hashed as it is."""
    given = _read(address)
    if given is None:
        counted = address
    else:
        counted = str(IPv6Network((given, 64), strict=False)) if isinstance(given, IPv6Address) else str(given)
    return "a" + blake2b(f"{day} {counted}".encode(), key=secret, digest_size=12).hexdigest()
