"""Who leads a crawl to an origin that is not public: seeds, and pages of origins that the operator named."""

from typing import Any

import pytest

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.crawl.frontier.decisions import reason_to_skip
from streams.crawl.frontier.hosts.host_state import CrawlShare
from streams.crawl.frontier.policy import Policy
from streams.crawl.urls import host_of
from streams.settings import CrawlSettings

POLICY = Policy.of(
    CrawlSettings(
        allowed_origins=(
            "http://*.corp.example",
            "https://shop.example:8443",
            "http://old.example",
            "http://10.20.0.5",
            "http://[fd00::5]:8500",
            "http://*.intern.co.uk",
            "http://xn--bcher-kva.example",
            "https://wiki",
        )
    )
)
JENKINS, WIKI, EVIL = "http://jenkins.corp.example", "http://wiki.corp.example", "https://evil.example"
BUILD = f"{JENKINS}/job/deploy/build?delay=0sec"

# The URL, how it was found -> whether the frontier queues it.
WAYS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "a person gives it": (BUILD, {"why": "seed", "depth": 0}, True),
    "a link of its own page": (BUILD, {"referrer": f"{JENKINS}/"}, True),
    "a link of another origin that the operator named": (BUILD, {"referrer": f"{WIKI}/p"}, True),
    "a link of a stranger": (BUILD, {"referrer": f"{EVIL}/p"}, False),
    "with https, which is another form of it": (BUILD.replace("http:", "https:"), {"referrer": f"{EVIL}/p"}, False),
    "a redirect": (BUILD, {"why": "redirect", "referrer": f"{EVIL}/p"}, False),
    "a redirect of a seed": (BUILD, {"why": "redirect", "depth": 0, "referrer": f"{EVIL}/"}, False),
    "a canonical link": (BUILD, {"why": "canonical", "referrer": f"{EVIL}/p"}, False),
    "a page of a sitemap": (BUILD, {"why": "sitemap", "referrer": f"{EVIL}/sitemap.xml"}, False),
    "a sitemap": (f"{WIKI}/s.xml", {"why": "sitemap", "purpose": "sitemap", "referrer": f"{EVIL}/robots.txt"}, False),
    "a feed": (f"{WIKI}/feed", {"purpose": "sitemap", "referrer": f"{EVIL}/p"}, False),
    "nobody says who": (BUILD, {}, False),
    "a port of a public host": ("https://shop.example:8443/admin", {"referrer": "https://shop.example/"}, False),
    "a public site without TLS": ("http://old.example/p", {"referrer": f"{EVIL}/p"}, False),
    "an address": ("http://10.20.0.5/v1/kv", {"referrer": f"{EVIL}/p"}, False),
    "an address of IPv6 with a port": ("http://[fd00::5]:8500/v1/kv", {"referrer": f"{EVIL}/p"}, False),
    "an address, by its own page": ("http://10.20.0.5/v1/kv", {"referrer": "http://10.20.0.5/"}, True),
    "any name below a suffix with two labels": ("http://a.b.intern.co.uk/x", {"referrer": f"{EVIL}/p"}, False),
    "a name in another script": ("https://xn--bcher-kva.example/x", {"referrer": f"{EVIL}/p"}, False),
    "a name of one label": ("https://wiki/admin", {"referrer": f"{EVIL}/p"}, False),
    "a public name that ends like the operator's": (
        BUILD,
        {"referrer": "https://evil-corp.example/"},
        False,
    ),
    "a stranger's name below a domain that looks alike": (BUILD, {"referrer": "http://corp.example.evil.net/"}, False),
    "a public page": ("https://news.example/p", {"referrer": f"{EVIL}/p"}, True),
    "a public page that an inner one links to": ("https://news.example/p", {"referrer": f"{WIKI}/p"}, True),
}


@pytest.mark.parametrize("is_seeded", [False, True], ids=["any host", "a seed's host"])
@pytest.mark.parametrize(("url", "found", "is_queued"), WAYS.values(), ids=WAYS)
def test_no_page_of_the_web_leads_inside(url: str, found: dict[str, Any], is_queued: bool, is_seeded: bool) -> None:
    fields = {"why": "link", "depth": 1, **found}
    event = PageDiscovered(page_id=page_id(url), url=url, host=host_of(url), **fields)
    reason = reason_to_skip(event, CrawlShare(seeded=is_seeded), None, POLICY, 1, finder="")
    assert (reason is None) is is_queued, reason
