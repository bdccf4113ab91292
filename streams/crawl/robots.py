"""What a host's robots.txt says to us: RFC 9309, with the crawl-delay and request-rate extensions.

`protego` does the matching. Before it sees a file, the file is cut to the size that the RFC asks for, and groups of
other crawlers are folded into one, because its cost grows with (agents x rules): 500 KiB of hostile text would
otherwise make hundreds of millions of rules. Pure: a file comes as bytes, and the agent as an argument.
"""

import re
from typing import Literal

from protego import Protego

from schemas.crawl import Outcome

MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309, section 2.5: at least so much is read; what is behind it is ignored."""
MAX_ROBOTS_REDIRECTS = 5
"""RFC 9309, section 2.3.1.2: at least five consecutive redirects are followed, across hosts."""
MAX_DELAY_SECONDS = 3_600.0
"""A longer crawl-delay is taken for this one: a page an hour is polite to anyone."""

Consequence = Literal["rules", "allow", "redirect", "unreachable"]

_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*(?::|\s)\s*([^#]*)", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")
_OTHERS = "User-agent: x-of-others"


class Rules:
    """The rules of one robots.txt for one crawler, named by its product token (`RiffleBot`)."""

    def __init__(self, parsed: Protego, agent: str) -> None:
        self._parsed = parsed
        self._agent = agent

    def allowed(self, url: str) -> bool:
        """Whether this crawler may fetch the canonical URL."""
        return bool(self._parsed.can_fetch(url, self._agent))

    @property
    def delay_seconds(self) -> float:
        """Between two fetches: the larger of crawl-delay and what request-rate comes to. 0: nothing is asked."""
        delay = self._parsed.crawl_delay(self._agent) or 0.0
        rate = self._parsed.request_rate(self._agent)
        per_request = rate.seconds / rate.requests if rate else 0.0
        return min(max(delay, per_request), MAX_DELAY_SECONDS)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that the file names, as written."""
        return tuple(self._parsed.sitemaps)


def parse(content: bytes, agent: str) -> Rules:
    """Read a robots.txt for the crawler `agent`. Never fails: what is not understood is ignored, as the RFC asks."""
    text = content[:MAX_ROBOTS_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    return Rules(Protego.parse("\n".join(_for_agent(text, agent.lower()))), agent)


def consequence(outcome: Outcome, redirects: int) -> Consequence:
    """What follows from the answer to a request for robots.txt, after so many redirects (RFC 9309, section 2.3.1).

    Unavailable (4xx): everything is allowed. Unreachable (5xx, no answer): nothing is, until it answers. A host that
    says 429 is too busy to be crawled, and one that leads to a guarded address is not to be trusted: both count as
    unreachable.
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
    """`RiffleBot` of `RiffleBot/0.1 (+https://...)`: what robots.txt files name (RFC 9309, section 2.2.1)."""
    found = re.match(r"[A-Za-z_-]+", user_agent)
    return found[0] if found else user_agent


def _for_agent(text: str, agent: str) -> list[str]:
    """The lines, with every group of other crawlers under one name."""
    lines: list[str] = []
    for line in _LINE_END.split(text):
        match = _AGENT_LINE.match(line)
        if match and not _concerns(match[1], agent):
            if not lines or lines[-1] != _OTHERS:
                lines.append(_OTHERS)
        else:
            lines.append(line)
    return lines


def _concerns(value: str, agent: str) -> bool:
    name = value.strip().lower().replace("*", "")
    return not name or name in agent or agent == name.partition("/")[0]
