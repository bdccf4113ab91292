"""The robot's name and its user agent: what is a name, and which user agents are refused with advice."""

import pytest
from pydantic import ValidationError

from streams.crawl.fetch.http import user_agent
from streams.crawl.robots import parse
from streams.pages.parse.robots_directives import directives, with_robot
from streams.robot_name import ProductToken, product_token
from streams.settings import CrawlSettings

# A name -> whether it is a product token (RFC 9309, section 2.2.1).
NAMES = [
    ("RiffleBot", True),
    ("my_own-bot", True),
    ("-", True),
    ("", False),  # no robots.txt can name it
    ("Riffle Bot", False),
    ("RiffleBot/0.1", False),
    ("Bot2", False),  # digits end a name in robots.txt
    ("RiffleBot\n", False),
    ("Bücherbot", False),
    ("x" * 65, False),
    ("Mozilla/5.0 (compatible; RiffleBot/1.0; +https://example.org/bot)", False),
]


@pytest.mark.parametrize(("name", "is_name"), NAMES)
def test_what_is_a_name(name: str, is_name: bool) -> None:
    if is_name:
        assert CrawlSettings(robot_name=name).robot_name == ProductToken(name)
        return
    with pytest.raises(ValueError, match="is no name of a robot"):
        ProductToken(name)
    with pytest.raises(ValidationError, match="is no name of a robot"):
        CrawlSettings(robot_name=name)


def test_a_user_agent_is_no_name_for_robots_txt() -> None:
    with pytest.raises(ValueError, match="is no name of a robot"):
        parse(b"User-agent: *\nDisallow: /", "RiffleBot/0.1 (+https://example.org)")  # type: ignore[arg-type]  # what this test does on purpose


AGENTS = [
    ("RiffleBot/0.1 (+https://example.com)", "RiffleBot"),
    ("Mozilla/5.0 (compatible; RiffleBot/1.0; +https://example.org/bot)", "RiffleBot"),
    ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; RiffleBot/1.0)", "Mozilla"),
    ("Mozilla/5.0 (X11; Linux) (compatible;RiffleBot)", "RiffleBot"),
    ("2Bot/1", None),
    ("", None),
]


@pytest.mark.parametrize(("agent", "name"), AGENTS)
def test_the_name_in_a_user_agent(agent: str, name: str | None) -> None:
    assert product_token(agent) == name


COMMON = "Mozilla/5.0 (compatible; RiffleBot/1.0; +https://example.org/bot)"
CONTACT = "https://own.example/bot"
# Name, user agent and contact of the settings -> the header.
HEADERS = [
    ("RiffleBot", "", "", "RiffleBot/0.1 (+https://github.com/riffle-search/riffle)"),
    ("RiffleBot", "", CONTACT, f"RiffleBot/0.1 (+{CONTACT})"),
    ("OwnBot", "", CONTACT, f"OwnBot/0.1 (+{CONTACT})"),
    ("OwnBot", "OwnBot/2 (mail)", "", "OwnBot/2 (mail)"),
    ("OwnBot", "OwnBot/2 (mail)", CONTACT, f"OwnBot/2 (mail) (+{CONTACT})"),
    ("RiffleBot", COMMON, "", COMMON),
    ("RiffleBot", COMMON, "https://example.org/bot", COMMON),  # it is there already
    ("RiffleBot", COMMON, CONTACT, f"{COMMON} (+{CONTACT})"),  # the name stays
    ("rifflebot", COMMON, "", COMMON),  # letter case does not count in robots.txt
]


@pytest.mark.parametrize(("name", "agent", "contact", "header"), HEADERS)
def test_the_header_has_the_name_and_the_contact(name: str, agent: str, contact: str, header: str) -> None:
    settings = CrawlSettings(robot_name=ProductToken(name), user_agent=agent, contact_url=contact)
    assert user_agent(settings) == header


# A user agent -> what the refusal says.
REFUSED = [
    ("curl/8", "set RIFFLE_CRAWL__ROBOT_NAME=curl, or write RiffleBot into RIFFLE_CRAWL__USER_AGENT"),
    ("Mozilla/5.0 (compatible; OtherBot/1.0)", "set RIFFLE_CRAWL__ROBOT_NAME=OtherBot, or write"),
    ("RiffleBotNews/1", "does not contain the robot's name RiffleBot"),  # another name that begins with it
    ("2", "Please write RiffleBot into"),
    ("RiffleBot/1\r\nX-Forwarded-For: 10.0.0.1", "has characters that no header may have"),
    ("RiffleBot/1 (für alle)", "has characters that no header may have"),
]


@pytest.mark.parametrize(("agent", "says"), REFUSED)
def test_a_user_agent_without_the_name_is_refused_with_advice(agent: str, says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        CrawlSettings(user_agent=agent)
    assert says in str(refused.value)


def test_one_name_holds_in_robots_txt_in_metas_and_in_headers() -> None:
    settings = CrawlSettings(user_agent=COMMON)
    rules = parse(b"User-agent: riffleBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n", settings.robot_name)
    assert [rules.allowed(f"https://x.example{path}") for path in ("/a", "/b")] == [False, True]
    headers = with_robot({"x-robots-tag": "RiffleBot: nofollow, otherbot: noindex"}, settings.robot_name)
    assert directives([("rifflebot", "noarchive"), ("otherbot", "noindex")], headers) == ("noarchive", "nofollow")
