"""The origins that may be crawled beside the public web: own documents, intranets, sites without TLS. Pure.

An origin is `scheme://host[:port]`. A public origin has https, port 443, and a name of two labels or more; it needs no
permission. Any other origin is written as it is only where the operator allows it: `http://` is not rewritten to
`https://` then, and a port, an IP address or a name of one label stays.

A page of another origin never leads to an allowed one by its own choice of scheme: only the links of an origin's own
pages keep its scheme and port (`OwnOrigin`). All other links are rewritten as public ones, and `AllowedOrigins.place`
then finds the origin that the operator named.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Protocol
from urllib.parse import urlsplit

_LOOPBACK_NAMES = frozenset({"localhost"})
_PRIVATE = "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 127.0.0.0/8 ::1/128 fc00::/7"
PRIVATE_NETWORKS = tuple(map(ip_network, _PRIVATE.split()))
"""The networks that an operator may allow: private ones (RFC 1918, RFC 4193), carrier-grade NAT, and loopback."""
LOOPBACK_NETWORKS = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
METADATA_ADDRESSES = frozenset(map(ip_address, ("100.100.100.200", "fd00:ec2::254", "fd20:ce::254")))
"""Addresses inside of `PRIVATE_NETWORKS` at which clouds give credentials to machines. They are never allowed."""
ADVICE = (
    "To crawl it all the same: RIFFLE_CRAWL__ALLOWED_ORIGINS, and for a private address "
    "RIFFLE_CRAWL__ALLOWED_NETWORKS, or `riffle crawl --local` for a server on this machine"
)
"""The advice in each refusal of a private address."""


class Origins(Protocol):
    """A decision about origins that are not public."""

    def allows(self, origin: str) -> bool:
        """Return whether pages of the origin may be addressed as they are."""
        ...


@dataclass(frozen=True, slots=True)
class _Every:
    """Allows each origin, for URLs that only name a page: an import, or a look at what is stored."""

    def allows(self, origin: str) -> bool:
        return True


EVERY_ORIGIN = _Every()


@dataclass(frozen=True, slots=True)
class OwnOrigin:
    """Allows the origin of one page, for the links on that page.

    A page of a private network may also name other hosts of one label. `AllowedOrigins` decides on them later.
    """

    url: str
    """The canonical URL of the page."""

    def allows(self, origin: str) -> bool:
        own = origin_of(self.url)
        is_beside = _is_private_name(origin) and not is_public(own) and not is_loopback(own)
        return not is_public(origin) and (origin == own or is_beside)


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """The origins of the settings. Without any, it is false."""

    names: frozenset[str] = frozenset()
    """Origins, and patterns such as `http://*.corp.example`."""
    loopback: bool = False
    """Allow each server on this machine."""
    _suffixes: tuple[tuple[str, str, str], ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        patterns = [name for name in self.names if "://*." in name]
        object.__setattr__(self, "_suffixes", tuple(map(_split_pattern, sorted(patterns))))

    def __bool__(self) -> bool:
        return bool(self.names) or self.loopback

    def allows(self, origin: str) -> bool:
        """Return whether the operator named the origin, or it is a server on this machine in the local profile."""
        if origin in self.names or (self.loopback and is_loopback(origin)):
            return True
        return any(_matches(origin, *pattern) for pattern in self._suffixes)

    def names_origin_of(self, url: str) -> bool:
        """Return whether the operator named the URL's origin, or the same host without https."""
        return self.allows(origin_of(self.place(url)))

    def place(self, url: str) -> str:
        """Return a public URL at the origin that the operator named for its host, if it named one without https."""
        if not self.names or not url.startswith("https://") or self.allows(origin_of(url)):
            return url
        plain = "http" + url.removeprefix("https")
        return plain if self.allows(origin_of(plain)) else url

    def origin_of_host(self, host: str) -> str:
        """Return the origin of a host as events name it (`streams.crawl.urls.host_of`)."""
        for scheme in ("https", "http"):
            if self.allows(origin := f"{scheme}://{host}") and not (self.loopback and is_loopback(origin)):
                return origin
        if self.loopback and is_loopback(f"http://{host}"):
            return f"http://{host}"
        with_port = f"https://{host}:"
        return next((name for name in sorted(self.names) if name.startswith(with_port)), f"https://{host}")


def origin_of(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def is_public(url: str) -> bool:
    """Return whether a canonical URL, or an origin, needs no permission."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    return scheme == "https" and ":" not in authority and "." in authority and not _is_address(authority)


def _is_private_name(origin: str) -> bool:
    """Return whether the origin has https and a name of one label that is not this machine's."""
    scheme, _, authority = origin.partition("://")
    return scheme == "https" and not any(mark in authority for mark in ".:[") and not is_loopback(origin)


def is_loopback(origin: str) -> bool:
    """Return whether the origin is a server on this machine, by its name: nothing is resolved."""
    host = urlsplit(origin).hostname or ""
    if host in _LOOPBACK_NAMES or host.endswith(".localhost"):  # RFC 6761, section 6.3
        return True
    return _is_address(host) and ip_address(host).is_loopback


def parse_origins(names: Iterable[str]) -> frozenset[str]:
    """Check the origins of a setting and return them in lower case. Raises ValueError."""
    return frozenset(map(_parse_origin, names))


def parse_networks(networks: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Check the networks of a setting. Raises ValueError for one that is not inside a private network."""
    return tuple(map(_parse_network, networks))


def _parse_origin(name: str) -> str:
    try:
        parts = urlsplit(name.strip().lower())
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise ValueError(f"{name!r} is no origin: {error}") from None
    if parts.scheme not in ("http", "https") or not host or parts.path.strip("/") or parts.query or "@" in parts.netloc:
        raise ValueError(f"{name!r} is no origin. Give one like http://wiki.corp.example or https://docs.example:8443")
    if "*" in host.removeprefix("*.") or host == "*.":
        raise ValueError(f"{name!r}: a star may only stand for the first labels of a name, as in http://*.corp.example")
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}{'' if port in (None, default) else f':{port}'}"


def _parse_network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text.strip())
    if not any(network.version == private.version and network.subnet_of(private) for private in PRIVATE_NETWORKS):  # type: ignore[arg-type]  # of one version
        raise ValueError(f"{text} is not part of a private network. Public addresses need no permission")
    return network


def _split_pattern(pattern: str) -> tuple[str, str, str]:
    """Return scheme, suffix of the name with its dot, and port of a pattern such as `http://*.corp.example:8000`."""
    scheme, _, authority = pattern.partition("://")
    name, _, port = authority.removeprefix("*").partition(":")
    return scheme, name, port


def _matches(origin: str, scheme: str, suffix: str, port: str) -> bool:
    own, _, authority = origin.partition("://")
    name, _, own_port = authority.partition(":")
    return own == scheme and own_port == port and name.endswith(suffix)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


NO_ORIGINS = AllowedOrigins()
