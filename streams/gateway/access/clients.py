"""Who asks: the key or the address of a request, and the pages that its sender may see. Pure.

A key is `rfl_ID_SECRET`. The secret has 256 random bits, so its SHA-256 is enough: nobody can try all secrets, and a
slow hash would only slow down every request. The prefix lets scanners of repositories find keys that were published.

A person without a key is counted by network address, and by nothing that a client can choose, such as its user agent:
only `person_of` says who is one person. Addresses are stored nowhere: the store of budgets gets a hash, with a key of
the day that follows from the first secret of the gateway.
"""

import base64
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, get_args

from starlette.requests import Request

from streams.crawl.domains import is_below
from streams.errors import invalid_parameter
from streams.gateway.http.problem_forms import form_of
from streams.search.query_language.matching import ascii_host
from streams.search.request import Parameters
from streams.stores.protocols import ApiKey, Visible

MAX_HOPS = 20
"""Maximum number of addresses that are read of `X-Forwarded-For`."""
PERSON_BITS = 64
"""Length of the IPv6 network that counts as one person: one customer has at least that."""
HOUSEHOLD_BITS = 56
"""Length of the IPv6 network that asks as one person: providers give a home up to 256 networks (RIPE-690, 4.2)."""
_MAPPED_BITS = 96
"""Length of the prefix of IPv4 addresses that are written as IPv6 ones (`::ffff:0:0/96`)."""


def limit(given: Parameters, visible: Visible) -> Parameters:
    """Return the parameters of a search that names no other domains than a client sees. Raises InvalidQuery."""
    if not visible.only:
        return given
    wanted = [ascii_host(domain.strip().removeprefix("*.")) or domain for domain in given.include]
    if foreign := [domain for domain in wanted if not is_below(domain, visible.only)]:
        detail = f"{foreign[0]} is not a domain of this site."
        raise invalid_parameter("include", detail, f"Its domains are {', '.join(visible.only)}.")
    return replace(given, include=tuple(wanted) or visible.only)


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request."""

    id: str
    """The key's id, or the hash of the address."""
    visible: Visible
    """The pages that the client may see."""
    key: ApiKey | None = None


def given_key(request: Request) -> str:
    """Return the key of a request: a bearer token, or the password of HTTP's basic form, which readers of feeds have.

    Where the gateway answers as another service, it is also read from `X-API-Key`, as programs send it to a SearXNG.
    These answers are never cached, which a cache does not know from that header. Empty if there is none.
    """
    if form_of(request.scope.get("path", "")) and (key := request.headers.get("x-api-key")):
        return key.strip()
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def person_of(request: Request, proxies: Sequence[str], bits: int = PERSON_BITS) -> str:
    """Return the network by which the sender of a request is counted as one person.

    It is the IPv4 address, or the IPv6 network of this length. An address that is none stays as it is.
    """
    address = address_of(request, proxies)
    given = _read(address)
    return str(IPv6Network((given, bits), strict=False)) if isinstance(given, IPv6Address) else address


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


def hash_person(person: str, day: int, secret: bytes) -> str:
    """Return the hash of a person (`person_of`) on a day."""
    return "a" + blake2b(f"{day} {person}".encode(), key=secret, digest_size=12).hexdigest()


Scope = Literal["search", "pages", "extract", "answer", "write", "changes"]
"""The things that a key allows: searches, records and contents of pages, fetching a page now, answers by a model,
crawls and own pages, webhooks and the stream of changes."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
KEY_SCOPES: tuple[Scope, ...] = ("write", "changes")
"""The scopes that nobody has without a key, and that a key has only if its operator named them."""
READING_SCOPES = tuple(scope for scope in SCOPES if scope not in KEY_SCOPES)
PREFIX = "rfl"
ID_BYTES, SECRET_BYTES = 6, 32
_KEY = re.compile(rf"{PREFIX}_([0-9a-f]{{{2 * ID_BYTES}}})_([A-Za-z0-9-]{{43}})", re.ASCII)
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key as a client sends it."""

    id: str
    secret: str


def make_key(key: ApiKey, random: bytes) -> tuple[str, ApiKey]:
    """Return the text of a new key, and what is stored of it. `random` has ID_BYTES and SECRET_BYTES random bytes."""
    key_id = random[:ID_BYTES].hex()
    # The underscore divides the parts of a key, so it stands in none of them.
    secret = base64.b64encode(random[ID_BYTES:], altchars=b"-0").decode().rstrip("=")
    return f"{PREFIX}_{key_id}_{secret}", replace(key, id=key_id, digest=digest_of(secret))


def read_key(text: str) -> GivenKey | None:
    """Return the parts of a key, or None if the text does not have the form of one."""
    found = _KEY.fullmatch(text)
    return GivenKey(found[1], found[2]) if found else None


def digest_of(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def fault_of(given: GivenKey, stored: ApiKey | None, now_micros: int) -> str:
    """Return why a key is refused, in a sentence; empty if it is accepted. Digests are compared in constant time."""
    digest = stored.digest if stored else b""
    if not hmac.compare_digest(digest, digest_of(given.secret)) or stored is None:
        return "The key is not known."
    if stored.revoked:
        return "The key was revoked."
    if stored.expires and now_micros >= stored.expires:
        return "The key has expired."
    return ""


def expires_at(now_micros: int, days: float) -> int:
    return now_micros + int(days * 86_400 * _MICROS)
