"""The purposes of leases: one table of how each is scheduled, and of the intake that takes its answer. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.crawl import Purpose
from streams.stores.protocols import FrontierUrl

LeasePurpose = Literal["page", "sitemap", "feed", "robots", "rights", "probe"]
Intake = Literal["fetched", "host_file"]


@dataclass(frozen=True, slots=True)
class PurposeRule:
    """The way in which requests with a purpose are scheduled, and in which their answers are taken."""

    is_of_host: bool
    """The request is for the host: before its next page, with no other request beside it, and outside of the queue."""
    costs_budget: bool
    """A first visit counts as a page of the crawl."""
    intake: Intake
    """The intake that takes the answer."""
    event: Purpose
    """The purpose in events: a fetcher asks for all files of a host in the same way."""


PURPOSES: Mapping[LeasePurpose, PurposeRule] = {
    "page": PurposeRule(is_of_host=False, costs_budget=True, intake="fetched", event="page"),
    "sitemap": PurposeRule(is_of_host=False, costs_budget=False, intake="fetched", event="sitemap"),
    "feed": PurposeRule(is_of_host=False, costs_budget=False, intake="fetched", event="sitemap"),
    "robots": PurposeRule(is_of_host=True, costs_budget=False, intake="host_file", event="robots"),
    "rights": PurposeRule(is_of_host=True, costs_budget=False, intake="host_file", event="robots"),
    "probe": PurposeRule(is_of_host=True, costs_budget=False, intake="host_file", event="robots"),
}
"""A sitemap may be a feed, too: only its content says so. The pages of both are discovered by the normalize stage."""


def purpose_of(url: FrontierUrl) -> Literal["page", "sitemap", "feed"]:
    """Return the purpose of a URL in the queue: a feed is a sitemap that a page names.

    A row of a newer release may have another purpose: it is read as a page.
    """
    if url.purpose != "sitemap":
        return "page"
    return "feed" if url.why == "link" else "sitemap"


def event_purpose_of(url: FrontierUrl) -> Purpose:
    return PURPOSES[purpose_of(url)].event
