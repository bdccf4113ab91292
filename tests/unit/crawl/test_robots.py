"""Robots rules: RFC 9309, and hostile or broken files."""

import io
import math
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from schemas.crawl import Outcome
from streams.crawl.content_signals import MAX_SIGNALS
from streams.crawl.robots import MAX_ROBOTS_BYTES, RobotsAccess, parse, robots_access, seconds_until_open
from streams.robot_name import ROBOT
from tests.sizes import FULL

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "robots" / "real_robots.tar.zst"
REAL_FILES = 4_231
"""Number of files in the collection."""
STEP = 1 if FULL else 4
"""By day every fourth of the real files is parsed."""
MAX_SECONDS = 0.1
"""Maximum CPU time of one file (seconds)."""

ALL = "User-agent: *\n"
OWN = "User-agent: RiffleBot\n"
LONGEST = 16_663
"""Bytes of a line that are read."""

CASES = [
    # Files without rules for anybody.
    ("", "/a", True, "an empty file allows all"),
    ("<html><body>Not found</body></html>", "/a", True, "a page instead of a file"),
    ("Disallow: /\n" + ALL + "Disallow: /a", "/b", True, "a rule before any group counts for nobody"),
    ("Disallow: /", "/b", True, "nor do rules without any group"),
    # Patterns.
    (ALL + "Disallow: /", "/a", False, "all agents"),
    (ALL + "Disallow:", "/a", True, "an empty rule allows all"),
    (ALL + "Disallow: /a", "/ab", False, "a rule is a prefix"),
    (ALL + "Disallow: /a/", "/a", True, "of the whole path: the folder isn't its name"),
    (ALL + "Disallow: /A", "/a", True, "letter case counts in paths"),
    (ALL + "Disallow: a", "/a", True, "a pattern without a slash matches no path"),
    (ALL + "Disallow: *a", "/ba", False, "but with a star it does"),
    (ALL + "Disallow: /a$", "/ab", True, "$ ends a rule"),
    (ALL + "Disallow: /a$", "/a", False, "at the end of the path"),
    (ALL + "Disallow: /a$b", "/a$bc", False, "elsewhere it is a character"),
    (ALL + "Disallow: /*.php", "/x/y.php?z", False, "* matches anything"),
    (ALL + "Disallow: /*.php$", "/x.php/y.php", False, "the last part is at the end, wherever it stood before"),
    (ALL + "Disallow: /*.php$", "/x.php?z", True, "and only there"),
    (ALL + "Disallow: /a*a$", "/a", True, "two parts don't share a character"),
    (ALL + "Disallow: /a**b", "/axb", False, "two stars are one"),
    (ALL + "Disallow: /*?id=", "/a?id=1", False, "the query is compared, too"),
    (ALL + "Disallow: /?", "/", True, "a question mark is a character"),
    # The longest match.
    (ALL + "Disallow: /a\nAllow: /a/b", "/a/b", True, "the longest match wins"),
    (ALL + "Allow: /a/b\nDisallow: /a", "/a/b", True, "in any order"),
    (ALL + "Allow: /a\nDisallow: /a/b", "/a/b", False, "also for Disallow"),
    (ALL + "Disallow: /a\nAllow: /a", "/a", True, "of two as long, Allow wins"),
    (ALL + "Allow: /p\nDisallow: /", "/page", True, "the RFC's example"),
    (ALL + "Allow: /$\nDisallow: /", "/", True, "only the front page"),
    (ALL + "Allow: /$\nDisallow: /", "/a", False, "and nothing else"),
    (ALL + "Allow: /page\nDisallow: /*.htm", "/page.htm", False, "stars count as characters of a pattern"),
    (ALL + "Allow: /page\nDisallow: /*.h", "/page.htm", True, "so this one is as long, and Allow wins"),
    # Names.
    ("User-agent: rifflebot\nDisallow: /a", "/a", False, "our own group, in any letter case"),
    ("User-agent: RiffleBot/2.0\nDisallow: /a", "/a", False, "a name ends before its version"),
    ("User-agent: RiffleBot (all)\nDisallow: /a", "/a", False, "or before a space"),
    ("User-agent: RiffleBot2\nDisallow: /a", "/a", False, "digits are in no name"),
    ("User-agent: RiffleBot-News\nDisallow: /a", "/a", True, "but hyphens are"),
    ("User-agent: Riffle\nDisallow: /a", "/a", True, "a part of our name is another name"),
    ("User-agent: * any\nDisallow: /a", "/a", False, "a star with words behind it is still a star"),
    ("User-agent: *any\nDisallow: /a", "/a", True, "directly behind it they make a name"),
    # Groups.
    (ALL + "Disallow: /\n\n" + OWN + "Allow: /", "/a", True, "our own group comes before *"),
    (OWN + "\n" + ALL + "Disallow: /", "/a", False, "an agent without rules shares the next group"),
    (OWN + "Disallow:\n" + ALL + "Disallow: /", "/a", True, "an own group with an empty rule"),
    (OWN + "Disallow: /a\n" + ALL + "Disallow: /b", "/b", True, "the rules of * don't add to ours"),
    (OWN + "Disallow: /a\n" + ALL + "Disallow: /\n" + OWN + "Disallow: /b", "/b", False, "own groups count together"),
    (OWN + "Disallow: /a\n" + ALL + "Disallow: /\n" + OWN + "Disallow: /b", "/c", True, "and without the others"),
    (ALL + "Disallow: /a\nUser-agent: x\nDisallow: /\n" + ALL + "Disallow: /b", "/a", False, "groups of * as well"),
    ("User-agent: OtherBot\nDisallow: /", "/a", True, "groups of other crawlers don't apply"),
    ("User-agent: OtherBot\n" + OWN + "Disallow: /a", "/a", False, "a group of several agents"),
    ("User-agent: OtherBot\nDisallow: /b\n" + ALL + "Disallow: /a", "/b", True, "no leak from the group before"),
    (OWN + "Sitemap: https://x.example/s\n" + ALL + "Disallow: /", "/a", False, "a sitemap ends no group"),
    (OWN + "Whatever: 1\n" + ALL + "Disallow: /", "/a", False, "nor does a line that nobody knows"),
    (OWN + "Crawl-delay: 1\nDisallow: /a", "/a", False, "nor does a delay"),
    (OWN + "\n\n# ours\n\nDisallow: /a", "/a", False, "empty lines and comments end no group"),
    # Lines.
    ("\ufeff" + ALL + "Disallow: /a\r\n", "/a", False, "a byte order mark"),
    ("User-agent: *\r\nDisallow: /a\r\n", "/a", False, "line ends of Windows"),
    ("User-agent: *\rDisallow: /a", "/a", False, "line ends of old Macs"),
    ("User-agent: * # all\nDisallow: /a # this", "/a", False, "comments"),
    (ALL + "Disallow: /a#b", "/a", False, "a comment may begin anywhere"),
    ("USER-AGENT: *\ndisAllow:/a", "/a", False, "keys in any letter case, without a space"),
    ("  User-agent :\t*\n\t Disallow  :  /a  ", "/a", False, "with many spaces"),
    ("User-agent *\nDisallow /a", "/a", False, "without colons"),
    (ALL + "Disallow /a b", "/a", True, "three words without a colon are no rule"),
    ("User agent: *\nDisallow: /a", "/a", False, "User agent"),
    ("Useragent: *\nDisallow: /a", "/a", False, "Useragent"),
    *(
        (ALL + f"{typo}: /a", "/a", False, typo)
        for typo in ("Dissallow", "Dissalow", "Disalow", "Diasllow", "Disallaw")
    ),
    (ALL + "Dsallow: /a", "/a", True, "other typos are no rules"),
    (ALL + ": /a\nDisallow: /b", "/b", False, "a line without a key"),
    (ALL + "Disallow: /a\0b", "/a", False, "a zero byte ends a line"),
    (ALL + "Disallow: /" + "a" * (LONGEST - 11), "/" + "a" * (LONGEST - 11), False, "a line as long as may be"),
    (ALL + "Disallow: /" + "a" * LONGEST, "/" + "a" * (LONGEST - 11), False, "the rest of a longer line is cut"),
    (ALL + "Disallow: /" + " " * LONGEST + "b", "/a", False, "and missing there"),
    # Characters that need escapes.
    (ALL + "Disallow: /caf\u00e9", "/caf%C3%A9", False, "escaped here and not there"),
    (ALL + "Disallow: /caf%c3%a9", "/caf%C3%A9", False, "digits of an escape in any letter case"),
    (ALL + "Disallow: /%7Eme", "/~me", False, "the escape of a letter forbids the letter"),
    (ALL + "Disallow: /\nAllow: /%7Eme", "/~me", False, "but allows no more than itself"),
    (ALL + "Disallow: /\nAllow: /%7Eme", "/%7Eme", True, "which it does allow"),
    (ALL + "Disallow: /a%2Fb", "/a/b", True, "the escape of a slash is no slash"),
    (ALL + "Disallow: /a<b", "/a%3Cb", False, "a character that URLs never have"),
    # Index files.
    (ALL + "Disallow: /\nAllow: /a/index.html", "/a/", True, "allowing an index file allows its folder"),
    (ALL + "Disallow: /\nAllow: /a/index.htm", "/a/index.html", True, "and itself"),
    (ALL + "Disallow: /\nAllow: /a/index.html", "/a/b", False, "but nothing else of the folder"),
    (ALL + "Disallow: /a/index.html", "/a/", True, "disallowing one doesn't disallow the folder"),
    # The file itself.
    (ALL + "Disallow: /", "/robots.txt", True, "robots.txt itself is always allowed"),
]


STRICTER = [
    (ALL + "Disallow: /%62", "/b", "the escape of a letter also forbids the letter, since canonical URLs have that"),
    (ALL + "Disallow: /a b", "/a%20b", "a space also forbids its escape: 63 of the real files have such lines"),
    (ALL + 'Disallow: /a"<b', "/a%22%3Cb", "so do other characters that browsers escape"),
]
"""Paths that Google's published matcher allows, and Riffle does not."""


@pytest.mark.parametrize(("text", "path"), [c[:2] for c in STRICTER], ids=[c[2] for c in STRICTER])
def test_riffle_is_stricter_than_googles_matcher(text: str, path: str) -> None:
    assert not parse(text.encode(), ROBOT).allowed(f"https://example.com{path}")
    allowing = text.replace("Disallow", "Disallow: /\nAllow")
    assert not parse(allowing.encode(), ROBOT).allowed(f"https://example.com{path}"), "allowing allows no more"


@pytest.mark.parametrize(("text", "path", "allowed"), [c[:3] for c in CASES], ids=[c[3] for c in CASES])
def test_rules(text: str, path: str, allowed: bool) -> None:
    assert parse(text.encode(), ROBOT).allowed(f"https://example.com{path}") is allowed


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Disallow: /a", 0.0),
        ("Crawl-delay: 2.5", 2.5),
        ("Request-rate: 1/10", 10.0),
        ("Request-rate: 30/1m", 2.0),
        ("Crawl-delay: 1\nRequest-rate: 1/4", 4.0),
        ("Request-rate: 1/5m 0800-1230", 300.0),
        ("Request-rate: 0/5", 0.0),
        ("Crawl-delay: 7200", 7_200.0),
        ("Disallow: /a\nUser-agent: x\nCrawl-delay: 9", 0.0),
        ("Crawl-delay: 99999999", 86_400.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: soon", 0.0),
        # What surrounds a number hides it not.
        ("Crawl-delay: 10s", 10.0),
        ("Crawl-delay: 10 seconds", 10.0),
        ("Crawl-delay: 10 hosts", 10.0),
        ("Crawl-delay: 1,5", 1.5),
        ("Crawl-delay: .5", 0.5),
        ("Crawl-delay: [5]", 5.0),
        ("Crawl-delay: = 5", 5.0),
        ("Crawl-delay: 2 min", 120.0),
        ("Crawl-delay: 1 hour", 3_600.0),
        ("Crawl-delay: 500ms", 0.5),
        ("Crawl-delay: 9999999999999999999", 86_400.0),
        ("Request-rate: 1 / 10", 10.0),
        ("Request-rate: 1 /10 s", 10.0),
        ("Request-rate: 1 per 10 seconds", 10.0),
        ("Request-rate: 1 page/10s 0800-1230", 10.0),
        ("Request-rate: 1/5 minutes", 300.0),
        ("Request-rate: 0.5/10", 20.0),
        ("Request-rate: 1/minute", 60.0),
        ("Request-rate: 10", 10.0),
    ],
)
def test_the_crawl_delay(text: str, seconds: float) -> None:
    assert parse(f"User-agent: *\n{text}\n".encode(), ROBOT).delay_seconds == seconds


URLS = [
    ("https://example.com/a?b#c", "/a?b"),
    ("https://example.com?b", "/?b"),
    ("https://example.com;b", "/;b"),
    ("https://example.com", "/"),
    ("https://example.com#/a", "/"),
    ("//example.com/a", "/a"),
    ("example.com/a/https://b/c", "/a/https://b/c"),
    ("/a", "/a"),
    ("", "/"),
]


@pytest.mark.parametrize(("url", "path"), URLS)
def test_the_part_of_a_url_that_is_compared(url: str, path: str) -> None:
    only = parse(f"User-agent: *\nDisallow: /\nAllow: {path}$".encode(), ROBOT)
    assert only.allowed(url)
    assert path == "/" or not only.allowed(f"{url}x" if "#" not in url else "https://example.com/x")


def test_what_a_file_says_beside_rules() -> None:
    text = """Sitemap: https://a.example/one.xml
        User-agent: *
        Content-Signal: search=yes, ai-train=no
        Visit-time: 2200-0600
        Site-map: https://a.example/two.xml
        Disallow: /a
        User-agent: OtherBot
        Content-Signal: search=no"""
    rules = parse(text.encode(), ROBOT)
    assert rules.sitemaps == ("https://a.example/one.xml", "https://a.example/two.xml")
    assert rules.signals_for("https://a.example/") == {"search": True, "ai-train": False}
    assert rules.windows == ((1_320, 360),)


@pytest.mark.parametrize(
    ("lines", "path", "is_allowed"),
    [
        ("Content-Signal: ai-input=no\nContent-Signal: ai-input=yes", "/", False),
        ("Content-Signal: ai-input=yes\nContent-Signal: ai-input=no", "/", False),
        ("Content-Signal: ai-input=no\nContent-Usage: ai-input=y", "/", False),
        ("Content-Signal: ai-input=no\nDisallow: /b\nUser-agent: *\nContent-Signal: ai-input=yes", "/", False),
        ("Content-Signal: ai-input=no search=yes", "/", False),
        ('Content-Signal: please, no robots; ai-input = "no"', "/", False),
        ("Content-Signal: " + ", ".join(f"x{n}=no" for n in range(99)) + ", ai-input=no", "/", False),
        ("Content-Signal: ai-input=yes", "/", True),
        ("Content-Signal: ai-input=nothing", "/", None),
        ("Content-Signal: ai-input=no-way", "/", None),
        # A path in front of the signals.
        ("Content-Usage: /private/ ai-input=n", "/private/a", False),
        ("Content-Usage: /private/ ai-input=n", "/public", None),
        ("Content-Usage: ai-input=y\nContent-Usage: /private/ ai-input=n", "/private/a", False),
        ("Content-Usage: /private/ ai-input=n\nContent-Usage: ai-input=y", "/private/a", False),
        ("Content-Usage: /a/ /*.pdf$ ai-input=n", "/b/c.pdf", False),
        ("Content-Usage: /caf\u00e9 ai-input=n", "/caf%C3%A9", False),
        ("Content-Usage: ai-input=n\nContent-Usage: /free/ ai-input=y", "/free/", False),
        ("Content-Usage: /private/,ai-input=n", "/public", False),
    ],
)
def test_a_refusal_of_a_use_is_kept(lines: str, path: str, is_allowed: bool | None) -> None:
    rules = parse(f"User-agent: *\n{lines}\n".encode(), ROBOT)
    assert rules.signals_for(f"https://a.example{path}").get("ai-input") is is_allowed


def test_signals_of_other_uses_are_bounded() -> None:
    text = ALL + "".join(f"Content-Signal: x{n}=no\n" for n in range(9_999)) + "Content-Usage: /a ai-input=n\n" * 2_000
    assert len(parse(text.encode(), ROBOT).signals_for("https://a.example/a")) == MAX_SIGNALS + 1


@pytest.mark.parametrize(
    ("value", "windows"),
    [
        ("0600-0845", ((360, 525),)),
        ("06:00 - 08:45", ((360, 525),)),
        ("600-845", ((360, 525),)),
        ("6:00 \u2013 8:45", ((360, 525),)),
        ("06.00 to 08.45 UTC", ((360, 525),)),
        ("0600-0845, 2200 - 2330", ((360, 525), (1_320, 1_410))),
        ("2600-0845", ()),
        ("soon", ()),
    ],
)
def test_visit_times(value: str, windows: tuple[tuple[int, int], ...]) -> None:
    assert parse(f"{ALL}Visit-time: {value}\n".encode(), ROBOT).windows == windows


@pytest.mark.parametrize(
    ("windows", "clock", "minutes"),
    [
        ((), "12:00", 0),
        (((600, 660),), "09:59", 1),
        (((600, 660),), "10:00", 0),
        (((600, 660),), "11:00", 23 * 60),
        (((1_320, 360),), "23:00", 0),
        (((1_320, 360),), "05:59", 0),
        (((1_320, 360),), "06:00", 16 * 60),
        (((600, 660), (720, 780)), "11:30", 30),
        (((600, 600),), "11:30", 0),
    ],
)
def test_when_a_host_may_be_visited(windows: tuple[tuple[int, int], ...], clock: str, minutes: int) -> None:
    hours, minute = map(int, clock.split(":"))
    assert seconds_until_open(windows, 86_400 * 20_000 + hours * 3_600 + minute * 60) == minutes * 60


def test_a_file_is_read_up_to_500_kib() -> None:
    text = b"User-agent: *\n" + b"#" * MAX_ROBOTS_BYTES + b"\nDisallow: /"
    assert parse(text, ROBOT).allowed("https://example.com/a")


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"User-agent: a{n}" for n in range(20_000)) + "\n" + "Disallow: /a\n" * 15_000,
        "User-agent: a\nDisallow: /\n" * 18_000,
        "User-agent: *\nDisallow: /" + "*a" * 240_000,
        "User-agent: *\n" + "Disallow: /*a*a*a*a*a*a*a*b$\n" * 15_000,
        ALL + "".join(f"Disallow: /b{'a' * (n % 1_000)}{n:x}\n" for n in range(20_000)),
        ALL + "".join(f"Allow: *aab{n:x}\n" for n in range(30_000)),
        "\0" * 500_000,
        "User-agent:" * 40_000,
    ],
    ids=[
        "agents x rules",
        "the same group",
        "one long rule",
        "many wildcards",
        "many lengths",
        "many stars",
        "zeros",
        "no line ends",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_files_are_parsed_in_time(text: str) -> None:
    assert parse(text.encode(), ROBOT).allowed("https://example.com/" + "a" * 2_000)


@given(
    st.binary(max_size=500) | st.text(st.sampled_from("User-agent: *\nDisallow/Allow$#%"), max_size=300).map(str.encode)
)
def test_any_bytes_can_be_parsed(content: bytes) -> None:
    rules = parse(content, ROBOT)
    rules.allowed("https://example.com/a?b")
    assert 0 <= rules.delay_seconds <= 86_400


@pytest.mark.timeout(240)
@pytest.mark.skipif(not REAL.exists(), reason=f"the collection of real robots.txt files is not at {REAL}")
def test_real_files_are_parsed() -> None:
    """The slowest takes .08 s on a usual machine. A slow one has the time of Python's own parser for the same file."""
    files, slow = 0, []
    with tarfile.open(fileobj=io.BytesIO(_unpacked(REAL))) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None:
                continue
            files += 1
            if files % STEP:
                continue
            content = file.read()
            seconds = _least_seconds(_read_by_riffle, content, limit=MAX_SECONDS)
            if seconds >= MAX_SECONDS and seconds > _least_seconds(_read_by_python, content, limit=0.0):
                slow.append((member.name, seconds))
    assert files == REAL_FILES
    assert not slow


def _read_by_riffle(content: bytes) -> None:
    rules = parse(content, ROBOT)
    rules.allowed("https://example.com/a/b.html?c=d")
    assert rules.delay_seconds >= 0


def _read_by_python(content: bytes) -> None:
    parser = RobotFileParser()
    parser.parse(content.decode("utf-8", "replace").splitlines())
    parser.can_fetch("RiffleBot", "https://example.com/a/b.html?c=d")


def _least_seconds(read: Callable[[bytes], None], content: bytes, *, limit: float) -> float:
    """Read a file, and return the CPU time. A file over the limit is read three times: the machine may be busy."""
    least = math.inf
    for _ in range(3):
        begin = time.process_time()
        read(content)
        least = min(least, time.process_time() - begin)
        if least < limit:
            break
    return least


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
        ("invalid", 0, "unreachable"),
        ("too_large", 0, "unreachable"),  # its headers are: a long file is cut
        ("redirect", 4, "redirect"),
        ("redirect", 5, "allow"),
    ],
)
def test_access_after_an_answer(outcome: Outcome, redirects: int, follows: RobotsAccess) -> None:
    assert robots_access(outcome, redirects) == follows


BLOCKED = "User-agent: *\nDisallow: /x\n"
COPIED = [
    # (the file, why it is so)
    (BLOCKED.replace(": ", ":\xa0").encode(), "no-break spaces behind colons"),
    (BLOCKED.replace(": ", ":\xa0").encode("latin-1"), "the same in Latin-1"),
    (BLOCKED.replace("\n", "\xa0\n").encode(), "no-break spaces at the ends of lines"),
    (("\u200b" + BLOCKED.replace("\n", "\n\u200b")).encode(), "zero width spaces before keys"),
    (BLOCKED.replace("\n", "\u200b\n").encode(), "zero width spaces at the ends of lines"),
    (BLOCKED.replace("-", "\u200d-").encode(), "a joiner within a key"),
    (("\ufeff" + BLOCKED.replace("\n", "\n\ufeff")).encode(), "a byte order mark before each line"),
    (BLOCKED.replace(" ", "\u3000").replace(":", "\uff1a").encode(), "the colon and space of Chinese keyboards"),
    (BLOCKED.replace("-", "\u2010").encode(), "a hyphen of an office program"),
    (BLOCKED.replace("-", "\u2013").encode(), "a dash of an office program"),
    (BLOCKED.replace("-", "\xad-").encode(), "a soft hyphen"),
    (BLOCKED.replace(": ", "\u2002:\u2003").encode(), "other spaces"),
    (BLOCKED.replace("User", "\u202aUser").replace("/x", "/x\u202c").encode(), "marks of direction"),
    (BLOCKED.encode("utf-16"), "UTF-16 with its mark"),
    (b"\xfe\xff" + BLOCKED.encode("utf-16-be"), "the other UTF-16"),
    (BLOCKED.encode("utf-16-le"), "UTF-16 without a mark"),
    (BLOCKED.encode("utf-16-be"), "the other UTF-16 without a mark"),
    (BLOCKED.encode("utf-8-sig"), "UTF-8 with a mark"),
    (BLOCKED.replace("\n", "\r").encode("utf-16"), "UTF-16 with the line ends of old Macs"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "why"), COPIED)
def test_a_file_is_read_as_its_writer_saw_it(content: bytes, why: str) -> None:
    rules = parse(content, ROBOT)
    assert [rules.allowed(f"https://a.example{path}") for path in ("/x", "/y")] == [False, True], why


def test_a_path_keeps_its_characters() -> None:
    rules = parse("User-agent: *\nDisallow: /caf\xe9\xa0x\nDisallow: /a\u2010b\n".encode(), ROBOT)
    paths = ("/caf%C3%A9%C2%A0x", "/a%E2%80%90b", "/a-b")
    assert [rules.allowed(f"https://a.example{path}") for path in paths] == [False, False, True]


SITEMAPS = [
    # (value of `Sitemap`, address, why)
    ("https://a.example/s.xml", "https://a.example/s.xml", "as it should be"),
    ("https://cdn.example.net/s.xml", "https://cdn.example.net/s.xml", "another host (sitemaps.org, cross submits)"),
    ("/s.xml", "/s.xml", "relative to the file"),
    ("maps/s.xml.gz", "maps/s.xml.gz", "relative to the file"),
    ("s.xml", "s.xml", "relative to the file"),
    ("//cdn.example.net/s.xml", "//cdn.example.net/s.xml", "relative to the scheme"),
    ("www.a.example/s.xml", None, "a host without its scheme"),
    ("a.co.uk/maps/s.xml", None, "a host without its scheme"),
    ("index.php/s.xml", "index.php/s.xml", "a script is no host"),
    ("https://a.example/s.xml (main)", "https://a.example/s.xml", "words behind an address"),
    ("see our site", None, "words"),
    ("none", None, "a word"),
    ("", None, "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "address", "why"), SITEMAPS)
def test_the_address_of_a_sitemap(value: str, address: str | None, why: str) -> None:
    assert parse(f"Sitemap: {value}\n".encode(), ROBOT).sitemaps == ((address,) if address else ()), why
