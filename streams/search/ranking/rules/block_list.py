"""Block lists: hosts whose pages are not shown, read from the formats in which such lists are shared.

    0.0.0.0 ads.example          hosts files
    example.org                  one domain a line
    ||example.org^               rules of ad blockers, for whole domains; `@@||good.example.org^` is an exception
    *://*.example.org/*          match patterns of browser extensions

A rule for a domain holds for its subdomains too. The nearest rule decides, so an exception may lie inside a blocked
domain. Rules for parts of a site (with a path, for elements of a page, or for some kinds of requests) are left out and
counted.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from streams.search.query_language.operator_values import ascii_host

_COMMENT = ("#", "!", "[")
_HOSTS_LINE = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){3}|::1?|[0-9a-fA-F:]{3,39})\s+(\S.*+)")
_RULE = re.compile(r"(@@)?\|\|([^/^$*|]++)\^?\|?(?:\$([\w,~=.|-]*+))?")
_WHOLE_PAGE = frozenset({"all", "document", "doc", "important", "popup", "third-party", "3p", "first-party", "1p"})
"""Options of rules for all pages of a domain. Other options restrict a rule to some requests or elements."""
_COMMENT_BEHIND = re.compile(r"\s#.*+")
_PATTERN = re.compile(r"(@)?(?:\*|https?)://(?:\*\.)?([^/*]++)/\*?")
_DOMAIN = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{1,63}")
_OWN = {"localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost", "ip6-loopback"}
"""Names in hosts files that block nothing."""


@dataclass(frozen=True, slots=True)
class BlockList:
    """The domains of some lists."""

    blocked: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    left_out: int = 0
    """Number of lines that are no rule for a whole domain."""

    def blocks(self, host: str) -> bool:
        """Return True if the host, or the nearest domain above it that has a rule, is blocked."""
        name = host.lower().partition(":")[0].rstrip(".")
        while name:
            if name in self.allowed:
                return False
            if name in self.blocked:
                return True
            name = name.partition(".")[2]
        return False


@dataclass(slots=True)
class _Rules:
    blocked: set[str] = field(default_factory=set)
    allowed: set[str] = field(default_factory=set)
    left_out: int = 0


def read_block_list(lines: Iterable[str]) -> BlockList:
    """Read the lines of a list, in any of the formats, also mixed."""
    rules = _Rules()
    for line in lines:
        _read_line(line.strip(), rules)
    return BlockList(frozenset(rules.blocked), frozenset(rules.allowed), rules.left_out)


def _read_line(line: str, rules: _Rules) -> None:
    if not line or line.startswith(_COMMENT):
        return
    bare = _COMMENT_BEHIND.sub("", line, count=1).rstrip()
    if match := _HOSTS_LINE.fullmatch(bare):
        rules.blocked |= {name for name in map(_read_domain, match[1].split()) if name and name not in _OWN}
        return
    if match := _RULE.fullmatch(bare):
        if _WHOLE_PAGE.issuperset((match[3] or "all").split(",")) and (domain := _read_domain(match[2])):
            (rules.allowed if match[1] else rules.blocked).add(domain)
        else:
            rules.left_out += 1
        return
    if (match := _PATTERN.fullmatch(bare)) and (domain := _read_domain(match[2])):
        (rules.allowed if match[1] else rules.blocked).add(domain)
        return
    if domain := _read_domain(bare.removeprefix("*.").removeprefix(".")):
        rules.blocked.add(domain)
    else:
        rules.left_out += 1


def _read_domain(text: str) -> str:
    """Return the domain as hosts have it: lower case, in its ASCII form; empty if the text is no domain."""
    domain = text.lower().rstrip(".")
    if not domain.isascii():
        domain = ascii_host(domain)
    return domain if _DOMAIN.fullmatch(domain) else ""


def merge_block_lists(lists: Iterable[BlockList]) -> BlockList:
    """Return all lists as one."""
    found = list(lists)
    return BlockList(
        frozenset().union(*(one.blocked for one in found)),
        frozenset().union(*(one.allowed for one in found)),
        sum(one.left_out for one in found),
    )
