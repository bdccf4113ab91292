"""The network guard's table."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.allowed_origins import parse_networks
from streams.crawl.fetch.guard import (
    GuardedAddress,
    denial_reason,
    make_allowed_socket_factory,
    make_guarded_socket_factory,
    parse_local_hosts,
)

DENIED = """
0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.255 168.63.129.16 169.254.169.254 172.16.0.1
172.31.255.255 192.0.0.8 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::a00:1
64:ff9b:1::808:808 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:20::1 2001:db8::1 2002:7f00:1::
2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1 e000::1
""".split()  # noqa: SIM905 - a table
ALLOWED = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 198.17.255.255
198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450:4001:80b::200e 2001:4860:4860::8888 ::ffff:8.8.8.8 64:ff9b::808:808
""".split()  # noqa: SIM905 - a table


@pytest.mark.parametrize("address", DENIED)
def test_denied(address: str) -> None:
    assert denial_reason(address), f"{address} may be connected to"


@pytest.mark.parametrize("address", ALLOWED)
def test_allowed(address: str) -> None:
    assert denial_reason(address) is None


def test_text_that_is_not_an_address_is_denied() -> None:
    assert denial_reason("example.com") == "not an IP address"


def is_not_global(address: IPv4Address | IPv6Address) -> bool:
    return not address.is_global or address.is_multicast


@given(st.ip_addresses(v=4).filter(is_not_global) | st.ip_addresses(v=6).filter(is_not_global))
def test_addresses_that_python_calls_not_global_are_denied(address: IPv4Address | IPv6Address) -> None:
    assert denial_reason(str(address))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_an_embedded_ipv4_address_decides(number: int, prefix: str) -> None:
    inside = IPv4Address(number)
    outside = ip_address(int(ip_address(prefix)) + number)
    assert bool(denial_reason(str(outside))) == bool(denial_reason(str(inside)))


def info(address: str, port: int) -> tuple[object, ...]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


@pytest.mark.parametrize(
    ("address", "port", "allowed"),
    [
        ("127.0.0.1", 8443, True),
        ("127.0.0.1", 8444, False),
        ("127.0.0.2", 8443, False),
        ("::1", 8443, False),
        ("8.8.8.8", 443, True),
        ("8.8.8.8", 80, False),
        ("8.8.8.8", 22, False),
        ("10.0.0.1", 443, False),
    ],
)
def test_sockets_are_made_only_for_public_https_and_mapped_hosts(address: str, port: int, allowed: bool) -> None:
    make = make_guarded_socket_factory(parse_local_hosts({"a.example": "127.0.0.1:8443"}))
    if allowed:
        make(info(address, port)).close()
    else:
        with pytest.raises(GuardedAddress, match="guarded: "):
            make(info(address, port))


def test_local_hosts_may_have_ipv4_or_ipv6_addresses() -> None:
    pairs = parse_local_hosts({"A.example": "127.0.0.1:1", "b.example": "[::1]:2"})
    assert pairs == {"a.example": ("127.0.0.1", 1), "b.example": ("::1", 2)}


@pytest.mark.parametrize(
    ("address", "port", "allowed"),
    [
        ("10.20.1.1", 80, True),
        ("10.21.1.1", 80, False),
        ("8.8.8.8", 80, True),  # a site without TLS that the operator named
        ("127.0.0.1", 80, False),
        ("169.254.169.254", 80, False),
        ("100.100.100.200", 80, False),  # inside of an allowed network, and a cloud's address for credentials
        ("::ffff:10.20.1.1", 80, False),
    ],
)
def test_allowed_origins_reach_only_public_addresses_and_allowed_networks(
    address: str, port: int, allowed: bool
) -> None:
    make = make_allowed_socket_factory(parse_networks(["10.20.0.0/16", "100.64.0.0/10"]))
    if allowed:
        make(info(address, port)).close()
    else:
        with pytest.raises(GuardedAddress, match="RIFFLE_CRAWL__ALLOWED_NETWORKS"):
            make(info(address, port))
