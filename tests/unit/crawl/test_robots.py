"""Robots rules: RFC 9309, and hostile or broken files."""

import io
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from schemas.crawl import Outcome
from streams.crawl.robots import MAX_ROBOTS_BYTES, RobotsAccess, parse, product_token, robots_access

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "robots" / "real_robots.tar.zst"

CASES = [
    ("", "/a", True, "an empty file allows all"),
    ("User-agent: *\nDisallow: /", "/a", False, "all agents"),
    ("User-agent: *\nDisallow:", "/a", True, "an empty rule allows all"),
    ("User-agent: *\nDisallow: /a", "/ab", False, "a rule is a prefix"),
    ("User-agent: *\nDisallow: /a$", "/ab", True, "$ ends a rule"),
    ("User-agent: *\nDisallow: /*.php", "/x/y.php?z", False, "* matches anything"),
    ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", True, "the longest match wins"),
    ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True, "of two as long, allow wins"),
    ("User-agent: rifflebot\nDisallow: /a", "/a", False, "our own group, in any letter case"),
    (
        "User-agent: *\nDisallow: /\n\nUser-agent: RiffleBot\nAllow: /",
        "/a",
        True,
        "our own group comes before *",
    ),
    ("User-agent: OtherBot\nDisallow: /", "/a", True, "groups of other crawlers do not apply"),
    ("User-agent: OtherBot\nUser-agent: RiffleBot\nDisallow: /a", "/a", False, "a group of several agents"),
    ("User-agent: OtherBot\nDisallow: /b\nUser-agent: *\nDisallow: /a", "/b", True, "no leak from the group before"),
    ("User-agent: A\nUser-agent: B\nDisallow: /b\nUser-agent: *\nDisallow: /a", "/a", False, "groups in a row"),
    ("User-agent: RiffleBot/2.0\nDisallow: /a", "/b", True, "a version after the name"),
    ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", "/a", False, "a byte order mark, and Windows' line ends"),
    ("User-agent: *\rDisallow: /a", "/a", False, "line ends of old Macs"),
    ("User-agent: * # all\nDisallow: /a # this", "/a", False, "comments"),
    ("<html><body>Not found</body></html>", "/a", True, "a page instead of a file"),
    ("User-agent: *\nDisallow: /%7Eme", "/~me", False, "encoded and not encoded are the same"),
    ("User-agent: *\nDisallow: /", "/robots.txt", True, "robots.txt itself is always allowed"),
]


@pytest.mark.parametrize(("text", "path", "allowed"), [c[:3] for c in CASES], ids=[c[3] for c in CASES])
def test_rules(text: str, path: str, allowed: bool) -> None:
    assert parse(text.encode(), "RiffleBot").allowed(f"https://example.com{path}") is allowed


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Disallow: /a", 0.0),
        ("Crawl-delay: 2.5", 2.5),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 30/1m", 2.0),
        ("Crawl-delay: 1\nRequest-rate: 1/4", 4.0),
        ("Crawl-delay: 99999999", 3_600.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: soon", 0.0),
    ],
)
def test_the_crawl_delay(text: str, seconds: float) -> None:
    assert parse(f"User-agent: *\n{text}\n".encode(), "RiffleBot").delay_seconds == seconds


def test_a_file_is_read_up_to_500_kib() -> None:
    text = b"User-agent: *\n" + b"#" * MAX_ROBOTS_BYTES + b"\nDisallow: /"
    assert parse(text, "RiffleBot").allowed("https://example.com/a")


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"User-agent: a{n}" for n in range(20_000)) + "\n" + "Disallow: /a\n" * 15_000,
        "User-agent: a\nDisallow: /\n" * 18_000,
        "User-agent: *\nDisallow: /" + "*a" * 240_000,
        "User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*b$\n" * 15_000,
        "\0" * 500_000,
        "User-agent:" * 40_000,
    ],
    ids=["agents x rules", "the same group", "one long rule", "many wildcards", "zeros", "no line ends"],
)
@pytest.mark.timeout(60)
def test_hostile_files_are_parsed_in_time(text: str) -> None:
    assert parse(text.encode(), "RiffleBot").allowed("https://example.com/" + "a" * 2_000)


@given(
    st.binary(max_size=500) | st.text(st.sampled_from("User-agent: *\nDisallow/Allow$#%"), max_size=300).map(str.encode)
)
def test_any_bytes_can_be_parsed(content: bytes) -> None:
    rules = parse(content, "RiffleBot")
    rules.allowed("https://example.com/a?b")
    assert 0 <= rules.delay_seconds <= 3_600


@pytest.mark.timeout(240)
@pytest.mark.skipif(not REAL.exists(), reason=f"the collection of real robots.txt files is not at {REAL}")
def test_real_files_are_parsed() -> None:
    read = 0
    with tarfile.open(fileobj=io.BytesIO(_unpacked(REAL))) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file:
                rules = parse(file.read(), "RiffleBot")
                rules.allowed("https://example.com/a/b.html?c=d")
                assert rules.delay_seconds >= 0
                read += 1
    assert read > 1_000


def _unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read()


@pytest.mark.parametrize(
    ("outcome", "redirects", "follows"),
    [
        ("ok", 0, "rules"),
        ("gone", 0, "allow"),
        ("client_error", 0, "allow"),
        ("refused", 0, "allow"),
        ("rate_limited", 0, "unreachable"),
        ("server_error", 0, "unreachable"),
        ("network_error", 0, "unreachable"),
        ("timeout", 0, "unreachable"),
        ("guarded", 0, "unreachable"),
        ("redirect", 4, "redirect"),
        ("redirect", 5, "allow"),
    ],
)
def test_access_after_an_answer(outcome: Outcome, redirects: int, follows: RobotsAccess) -> None:
    assert robots_access(outcome, redirects) == follows


def test_the_product_token() -> None:
    assert product_token("RiffleBot/0.1 (+https://example.com)") == "RiffleBot"
