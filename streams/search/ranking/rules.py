"""The rules about sites and pages: of a person, about adult pages, and of an operator (block lists). Pure.

Adult pages are recognized by their words: a filter for people who don't look for them, not a protection of minors. A
host with an adult name is enough. Otherwise two different words of the list must occur in the title and the found
statements, so that a page about laws or health stays.

Block lists name hosts whose pages are not shown. They are read from the formats in which such lists are shared:

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
from typing import Literal

from streams.search.query_language.matching import ascii_host
from streams.stores.protocols import PageHits

SiteRule = Literal["raised", "lowered", "hidden", ""]


@dataclass(frozen=True, slots=True)
class PersonalRules:
    """Sites that a person wants more, less or never. The rule of the nearest domain above a host decides."""

    raised: frozenset[str] = frozenset()
    lowered: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    hide_adult: bool = False
    """Leave adult pages out, also where the operator shows them."""

    def rule_of(self, host: str) -> SiteRule:
        """Return the rule of the host, or of the nearest domain above it that has a rule."""
        name = host.lower().partition(":")[0].rstrip(".")
        while name:
            for rule, domains in (("hidden", self.hidden), ("lowered", self.lowered), ("raised", self.raised)):
                if name in domains:
                    return rule  # type: ignore[return-value]  # the names of the table
            name = name.partition(".")[2]
        return ""

    def digest_parts(self) -> tuple[object, ...]:
        """Return all that makes another order of results; empty without rules."""
        if self == PersonalRules():
            return ()
        return (sorted(self.raised), sorted(self.lowered), sorted(self.hidden), self.hide_adult)


NO_RULES = PersonalRules()

_ADULT_TEXT = (
    "xxx porn porno pornos pornstar pornstars pornhub xvideos xhamster xnxx redtube youporn hentai milf milfs blowjob "
    "blowjobs handjob cumshot cumshots creampie gangbang threesome deepthroat camgirl camgirls livesex sexcam sexcams "
    "fetish bdsm bukkake upskirt nsfw hardcore escorts shemale shemales"
)
_HOST_PARTS = (
    r"porn(?!ic(?:\b|het)) xxx xvideos xhamster xnxx redtube hentai camgirl sexcam(?!p) (?<!o)livesex milf(?!ord|ield)"
)
"""Parts of names of hosts, but not of towns (Pornic, Milford), of a Sussex campus, or of an olives express."""
ADULT_WORDS = frozenset(_ADULT_TEXT.split())
_WORD = re.compile(r"\w+")
_DISGUISED = str.maketrans("İıſ", "iis")
"""Letters that equal an ASCII letter where case does not count, although `lower` keeps them."""
_IN_HOST = re.compile("|".join(_HOST_PARTS.split()))
_MIN_ADULT_WORDS = 2
_MAX_ADULT_CHARS = 2_000
"""Maximum length of a page's title and statements that is read (characters): three statements of usual length."""
_ADULT_DOMAINS = (".xxx", ".porn", ".adult", ".sex")


def is_adult(page: PageHits) -> bool:
    """Return True if the host, or two words of the page, are words of adult content."""
    payload = page.hits[0].payload
    host = payload.host.lower().partition(":")[0]
    if host.endswith(_ADULT_DOMAINS) or _IN_HOST.search(host):
        return True
    text = " ".join([payload.title, *(hit.payload.text for hit in page.hits[:3])])[:_MAX_ADULT_CHARS]
    plain = text if text.isascii() else text.translate(_DISGUISED)
    return len(ADULT_WORDS.intersection(_WORD.findall(plain.lower()))) >= _MIN_ADULT_WORDS


_COMMENT = ("#", "!", "[")
_HOSTS_LINE = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){3}|::1?|[0-9a-fA-F:]{3,39})\s+(\S.*+)")
_RULE = re.compile(r"(@@)?\|\|([^/^$*|]++)\^?\|?(?:\$([\w,~=.|-]*+))?")
_WHOLE_PAGE = frozenset({"all", "document", "doc", "important", "popup", "third-party", "3p", "first-party", "1p"})
"""Options of rules for all pages of a domain. Other options restrict a rule to some requests or elements."""
_COMMENT_BEHIND = re.compile(r"\s#.*+")
_PATTERN = re.compile(r"(@)?(?:\*|https?)://(?:\*\.)?([^/*]++)/\*?")
_DOMAIN = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{1,63}")
_OWN_NAMES = {"localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost", "ip6-loopback"}
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
        rules.blocked |= {name for name in map(_read_domain, match[1].split()) if name and name not in _OWN_NAMES}
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
    found = list(lists)
    return BlockList(
        frozenset().union(*(one.blocked for one in found)),
        frozenset().union(*(one.allowed for one in found)),
        sum(one.left_out for one in found),
    )
