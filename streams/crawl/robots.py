"""Robots rules: the robots.txt of a host by RFC 9309, with the crawl-delay and request-rate extensions. Pure.

`protego` does the matching. Before it gets a file, the file is cut to the size that the RFC asks for, and the groups of
other crawlers are merged into one group. The cost of `protego` grows with (agents x rules): 500 KiB of hostile text
would otherwise make hundreds of millions of rules.
"""

import re
from typing import Literal

from protego import Protego

from schemas.crawl import Outcome

MAX_ROBOTS_BYTES = 500 * 1024
"""Maximum bytes of a file that are read (the minimum of RFC 9309, section 2.5). The rest is ignored."""
MAX_ROBOTS_REDIRECTS = 5
"""Maximum redirects in a row (RFC 9309, section 2.3.1.2, asks for at least five, also to other hosts)."""
MAX_DELAY_SECONDS = 3_600.0
"""Maximum delay between two fetches (seconds): a page an hour is polite to any host."""

RobotsAccess = Literal["rules", "allow", "redirect", "unreachable"]

_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*(?::|\s)\s*([^#]*)", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")
_OTHER_CRAWLERS = "User-agent: x-of-others"


class Rules:
    """The rules of one robots.txt for one crawler, named by its product token (`RiffleBot`)."""

    def __init__(self, parsed: Protego, agent: str) -> None:
        self._parsed = parsed
        self._agent = agent

    def allowed(self, url: str) -> bool:
        """Return whether this crawler may fetch the canonical URL."""
        return bool(self._parsed.can_fetch(url, self._agent))

    @property
    def delay_seconds(self) -> float:
        """Time between two fetches (seconds): the longer one of crawl-delay and request-rate. 0: none is asked for."""
        delay = self._parsed.crawl_delay(self._agent) or 0.0
        rate = self._parsed.request_rate(self._agent)
        per_request = rate.seconds / rate.requests if rate else 0.0
        return min(max(delay, per_request), MAX_DELAY_SECONDS)


def parse(content: bytes, agent: str) -> Rules:
    """Parse a robots.txt for the crawler `agent`. Unknown lines are ignored, as the RFC asks. Raises nothing."""
    text = content[:MAX_ROBOTS_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    return Rules(Protego.parse("\n".join(_for_agent(text, agent.lower()))), agent)


def robots_access(outcome: Outcome, redirects: int) -> RobotsAccess:
    """Return the access by the answer to robots.txt, after N redirects (RFC 9309, section 2.3.1).

    If the file is unavailable (4xx), everything is allowed. If it is unreachable (5xx, no answer), nothing is allowed
    until it answers. A host that answers 429 is too busy to be crawled, and a host with a guarded address is not
    trusted: both count as unreachable.
    """
    match outcome:
        case "ok" | "too_large":
            return "rules"
        case "redirect":
            return "redirect" if redirects < MAX_ROBOTS_REDIRECTS else "allow"
        case "gone" | "refused" | "client_error" | "unsupported_type":
            return "allow"
        case _:
            return "unreachable"


def product_token(user_agent: str) -> str:
    """Return the name that robots.txt files use: `RiffleBot` of `RiffleBot/0.1 (+https://...)` (RFC 9309, 2.2.1)."""
    found = re.match(r"[A-Za-z_-]+", user_agent)
    return found[0] if found else user_agent


def _for_agent(text: str, agent: str) -> list[str]:
    """Return the lines, with every group of other crawlers under one name."""
    lines: list[str] = []
    for line in _LINE_END.split(text):
        match = _AGENT_LINE.match(line)
        if match and not _concerns(match[1], agent):
            if not lines or lines[-1] != _OTHER_CRAWLERS:
                lines.append(_OTHER_CRAWLERS)
        else:
            lines.append(line)
    return lines


def _concerns(value: str, agent: str) -> bool:
    name = value.strip().lower().replace("*", "")
    return not name or name in agent or agent == name.partition("/")[0]
