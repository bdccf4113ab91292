"""The network guard: it decides which addresses a crawler's socket may connect to.

A URL's host is only a name. The address behind it at the moment of the connection counts. aiohttp asks
`socket_factory` for a socket for each final address, IP literals included, so the check can't be avoided by a
resolver's answer or by a name that changes between check and use. Python's `ipaddress.is_global` is not enough: it
allows NAT64, 6to4 and multicast. Hence the table.

The guard does not protect against a public address that forwards to a private network of the crawler: firewalls do.
"""

import errno
import socket
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from streams.allowed_origins import ADVICE, METADATA_ADDRESSES

HTTPS_PORT = 443
GUARD_MARK = "guarded: "
"""First word of each refusal's message. aiohttp joins the errors of several addresses into one and keeps only text."""

_DENIED_V4 = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "this network, RFC 791"),
        ("10.0.0.0/8", "private, RFC 1918"),
        ("100.64.0.0/10", "carrier-grade NAT, RFC 6598"),
        ("127.0.0.0/8", "loopback, RFC 1122"),
        ("168.63.129.16/32", "host services of a cloud (Azure), on a public address"),
        ("169.254.0.0/16", "link-local and cloud metadata, RFC 3927"),
        ("172.16.0.0/12", "private, RFC 1918"),
        ("192.0.0.0/24", "IETF protocol assignments, RFC 6890"),
        ("192.0.2.0/24", "documentation, RFC 5737"),
        ("192.31.196.0/24", "AS112, RFC 7535"),
        ("192.52.193.0/24", "automatic multicast tunnels, RFC 7450"),
        ("192.88.99.0/24", "6to4 relays, RFC 7526"),
        ("192.168.0.0/16", "private, RFC 1918"),
        ("192.175.48.0/24", "AS112, RFC 7534"),
        ("198.18.0.0/15", "benchmarking, RFC 2544"),
        ("198.51.100.0/24", "documentation, RFC 5737"),
        ("203.0.113.0/24", "documentation, RFC 5737"),
        ("224.0.0.0/4", "multicast, RFC 5771"),
        ("240.0.0.0/4", "reserved and broadcast, RFC 1112 and RFC 919"),
    )
)

_DENIED_V6 = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("::/128", "unspecified, RFC 4291"),
        ("::1/128", "loopback, RFC 4291"),
        ("::/96", "IPv4-compatible, RFC 4291"),
        ("::ffff:0:0:0/96", "IPv4-translated, RFC 2765"),
        ("64:ff9b:1::/48", "local NAT64, RFC 8215"),
        ("100::/64", "discard, RFC 6666"),
        ("2001::/32", "Teredo, RFC 4380"),
        ("2001::/23", "IETF protocol assignments, RFC 2928"),
        ("2001:db8::/32", "documentation, RFC 3849"),
        ("2002::/16", "6to4, RFC 3056"),
        ("2620:4f:8000::/48", "AS112, RFC 7534"),
        ("3fff::/20", "documentation, RFC 9637"),
        ("5f00::/16", "segment routing, RFC 9602"),
        ("fc00::/7", "unique local, RFC 4193"),
        ("fe80::/10", "link-local, RFC 4291"),
        ("fec0::/10", "site-local, RFC 3879"),
        ("ff00::/8", "multicast, RFC 4291"),
    )
)
_GLOBAL_UNICAST = ip_network("2000::/3")
_NAT64 = ip_network("64:ff9b::/96")
"""The NAT64 prefix of RFC 6052. Networks without IPv4 reach the public IPv4 internet through it, so the embedded
IPv4 address decides."""


class GuardedAddress(OSError):
    """A connection that must not be made. The message names the address and the rule that forbids it."""

    def __init__(self, address: str, port: int, reason: str) -> None:
        super().__init__(errno.EACCES, f"{GUARD_MARK}{address} port {port}: {reason}")


def denial_reason(address: str) -> str | None:
    """Return the reason why no crawler may connect to this IP address (either family), or None if it is public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not an IP address"
    return _denial_reason_v4(parsed) if isinstance(parsed, IPv4Address) else _denial_reason_v6(parsed)


def _denial_reason_v4(address: IPv4Address) -> str | None:
    return next((reason for network, reason in _DENIED_V4 if address in network), None)


def _denial_reason_v6(address: IPv6Address) -> str | None:
    if address.scope_id:
        return "an address with a zone, RFC 4007"
    if address.ipv4_mapped:
        return _denial_reason_inside(address.ipv4_mapped, "IPv4-mapped")
    if address in _NAT64:
        return _denial_reason_inside(IPv4Address(int(address) & 0xFFFF_FFFF), "NAT64")
    for network, reason in _DENIED_V6:
        if address in network:
            return reason
    return None if address in _GLOBAL_UNICAST else "not global unicast, RFC 4291"


def _denial_reason_inside(embedded: IPv4Address, form: str) -> str | None:
    reason = _denial_reason_v4(embedded)
    return f"{form} {embedded}: {reason}" if reason else None


def parse_local_hosts(local_hosts: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Parse HOST -> ADDRESS:PORT. Raises ValueError if an address is not a loopback address."""
    pairs: dict[str, tuple[str, int]] = {}
    for host, target in local_hosts.items():
        address, _, port = target.rpartition(":")
        address = address.strip("[]")
        if not ip_address(address).is_loopback:
            raise ValueError(f"crawl.local_hosts: {host} -> {target}: only loopback addresses may be mapped")
        pairs[host.lower()] = (address, int(port))
    return pairs


def make_allowed_socket_factory(networks: Sequence[IPv4Network | IPv6Network]) -> Callable[[Any], socket.socket]:
    """Make a socket factory for the session of allowed origins: public addresses, and addresses of allowed networks.

    The session is used only for URLs of origins that the operator named, so a name of anybody else that leads to a
    private address never gets here.
    """

    def make_socket(addr_info: Any) -> socket.socket:
        family, kind, protocol, _, (address, port, *_rest) = addr_info
        if reason := denial_reason_outside(networks, address):
            raise GuardedAddress(address, port, f"{reason}. {ADVICE}")
        return socket.socket(family=family, type=kind, proto=protocol)

    return make_socket


def denial_reason_outside(networks: Sequence[IPv4Network | IPv6Network], address: str) -> str | None:
    """Return the reason why a crawler that may use these networks may not connect to an address, or None."""
    reason = denial_reason(address)
    return reason if reason and not _is_allowed(address, networks) else None


def _is_allowed(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    parsed = ip_address(address)
    return parsed not in METADATA_ADDRESSES and any(parsed in network for network in networks)


def make_guarded_socket_factory(local: Mapping[str, tuple[str, int]]) -> Callable[[Any], socket.socket]:
    """Make a socket factory for aiohttp's TCPConnector. It raises GuardedAddress for a forbidden address."""
    exempt = frozenset(local.values())

    def make_socket(addr_info: Any) -> socket.socket:
        family, kind, protocol, _, (address, port, *_rest) = addr_info
        if (address, port) not in exempt:
            reason = denial_reason(address) or (None if port == HTTPS_PORT else f"only port {HTTPS_PORT} is crawled")
            if reason:
                raise GuardedAddress(address, port, f"{reason}. {ADVICE}")
        return socket.socket(family=family, type=kind, proto=protocol)

    return make_socket
