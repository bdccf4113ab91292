"""Robots rules by the sections of RFC 9309, and where the RFC leaves a choice, by the behaviour of large crawlers.

Beside the table, a plain matcher of section 2.2.2 is compared with the fast one on generated files.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.robots import parse
from streams.robot_name import ROBOT

OWN, ALL, OTHER = "User-agent: RiffleBot\n", "User-agent: *\n", "User-agent: OtherBot\n"
NOBODY = "Disallow: /\n"

CASES = [
    # Section 2.1: groups and rules.
    ("2.1", OWN + NOBODY, "/", False, "one group, one rule"),
    ("2.1", OWN + "Allow: /\n", "/x", True, "a group that only allows"),
    ("2.1", OWN, "/x", True, "a group without rules at the end of the file"),
    ("2.1", "\n\n\n" + OWN + NOBODY, "/x", False, "empty lines first"),
    ("2.1", "# a comment\n" + OWN + NOBODY, "/x", False, "a comment first"),
    ("2.1", "Allow: /x\n" + OWN + NOBODY, "/x", False, "rules before the first group are nobody's"),
    ("2.1", OWN + "Disallow: /a\nDisallow: /b\nDisallow: /c\n", "/c/d", False, "the last of several rules"),
    ("2.1", OWN + "Disallow: /a\n\n\nDisallow: /b\n", "/b", False, "a group goes on behind empty lines"),
    ("2.1", OWN + "Disallow: /a\n# b\nDisallow: /b\n", "/b", False, "and behind comments"),
    ("2.1", OWN + "Disallow: /a", "/a", False, "no line end at the end of the file"),
    # Section 2.2.1: the line of agents.
    ("2.2.1", OTHER + NOBODY, "/x", True, "another crawler's group"),
    ("2.2.1", "User-agent: rIFFLEbOT\n" + NOBODY, "/x", False, "letter case doesn't count"),
    ("2.2.1", OTHER + OWN + NOBODY, "/x", False, "two names, one group: the second"),
    ("2.2.1", OWN + OTHER + NOBODY, "/x", False, "two names, one group: the first"),
    ("2.2.1", OTHER + ALL + NOBODY, "/x", False, "a name and a star, one group"),
    ("2.2.1", ALL + OTHER + NOBODY, "/x", False, "a star and a name, one group"),
    ("2.2.1", ALL + NOBODY + OWN + "Disallow: /a\n", "/b", True, "the own group only, wherever * stands"),
    ("2.2.1", OWN + "Disallow: /a\n" + ALL + NOBODY, "/b", True, "and before it"),
    ("2.2.1", OWN + "Disallow: /a\n" + OTHER + "Disallow: /b\n" + OWN + "Disallow: /c\n", "/a", False, "merged: first"),
    ("2.2.1", OWN + "Disallow: /a\n" + OTHER + "Disallow: /b\n" + OWN + "Disallow: /c\n", "/b", True, "merged: not it"),
    ("2.2.1", OWN + "Disallow: /a\n" + OTHER + "Disallow: /b\n" + OWN + "Disallow: /c\n", "/c", False, "merged: last"),
    ("2.2.1", OWN + "Disallow: /a\n" + OWN + "Allow: /a/b\n", "/a/b", True, "merged rules compete by length"),
    ("2.2.1", "User-agent: RiffleBotNews\n" + NOBODY, "/x", True, "a name that begins with ours"),
    ("2.2.1", "User-agent: Bot\n" + NOBODY, "/x", True, "a name that ours ends with"),
    ("2.2.1", "User-agent: My RiffleBot\n" + NOBODY, "/x", True, "our name as a second word"),
    ("2.2.1", "User-agent: RiffleBot*\n" + NOBODY, "/x", False, "a star ends a name"),
    ("2.2.1", "User-agent: RiffleBot,OtherBot\n" + NOBODY, "/x", False, "so does a comma: the first name counts"),
    ("2.2.1", "User-agent: OtherBot,RiffleBot\n" + NOBODY, "/x", True, "and the second doesn't"),
    ("2.2.1", "User-agent: RiffleBot_x\n" + NOBODY, "/x", True, "an underscore is part of a name"),
    ("2.2.1", "User-agent:\n" + NOBODY, "/x", True, "an empty name is nobody's"),
    ("2.2.1", "User-agent: **\n" + NOBODY, "/x", True, "two stars are no star"),
    ("2.2.1", ALL + "Disallow: /a\n" + OTHER + NOBODY, "/b", True, "a named group doesn't add to *"),
    ("2.2.1", OWN + "Disallow: /a\n" + OTHER + "Allow: /a\n", "/a", False, "nor another's Allow to ours"),
    # Section 2.2.2: the longest match.
    ("2.2.2", OWN + "Allow: /\nDisallow: /a\n", "/a", False, "the longer rule, second"),
    ("2.2.2", OWN + "Disallow: /a\nAllow: /\n", "/a", False, "the longer rule, first"),
    ("2.2.2", OWN + "Disallow: /a/b\nAllow: /a\nDisallow: /a/b/c\n", "/a/b/x", False, "of three: the middle one"),
    ("2.2.2", OWN + "Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n", "/a/b/c", False, "of three: the longest one"),
    ("2.2.2", OWN + "Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n", "/a/b/d", True, "of three: the one that matches"),
    ("2.2.2", OWN + "Disallow: /a\nAllow: /a\nDisallow: /a\n", "/a", True, "as long: Allow, between two others"),
    ("2.2.2", OWN + "Disallow: /a?\n", "/a?b=1", False, "a query is part of the path"),
    ("2.2.2", OWN + "Disallow: /a?b\n", "/a?c&b", True, "in its order"),
    ("2.2.2", OWN + "Disallow: /a;v=1\n", "/a;v=1", False, "parameters are, too"),
    ("2.2.2", OWN + "Disallow: /a\n", "/A", True, "paths have letter case"),
    ("2.2.2", OWN + "Disallow: /a/\n", "/a/", False, "a folder"),
    ("2.2.2", OWN + "Disallow: /a/\n", "/a.html", True, "and no file with its name"),
    ("2.2.2", OWN + "Disallow: /a\n", "/b/a", True, "a rule begins at the root"),
    ("2.2.2", OWN + "Disallow: /a//b\n", "/a/b", True, "slashes are not merged"),
    ("2.2.2", OWN + "Disallow: /%61\n", "/a", False, "the escape of a letter is the letter"),
    ("2.2.2", OWN + "Disallow: /%e3%83%84\n", "/%E3%83%84", False, "escapes have no letter case"),
    ("2.2.2", OWN + "Disallow: /\u30c4\n", "/%E3%83%84", False, "a character is its escape"),
    ("2.2.2", OWN + "Disallow: /%2F\n", "//", True, "an escaped slash is none"),
    ("2.2.2", OWN + "Disallow: /%2A\n", "/x", True, "an escaped star is none"),
    ("2.2.2", OWN + "Disallow: /%\n", "/%25", False, "a lonely percent sign is a prefix of its escape"),
    ("2.2.2", OWN + NOBODY, "/robots.txt", True, "robots.txt may be read in any case"),
    ("2.2.2", OWN + "Disallow: /robots.txt\n", "/robots.txt", True, "whoever forbids it"),
    ("2.2.2", OWN + NOBODY, "/a/robots.txt", False, "but only that of the root"),
    ("2.2.2", OWN + "Disallow:\nDisallow: /a\n", "/a", False, "an empty rule doesn't undo others"),
    ("2.2.2", OWN + "Allow:\nDisallow: /\n", "/", False, "an empty Allow allows nothing"),
    # Section 2.2.3: special characters.
    ("2.2.3", OWN + "Disallow: /a # b\n", "/a", False, "# begins a comment"),
    ("2.2.3", OWN + "Disallow: # /\n", "/a", True, "also where the rule would be"),
    ("2.2.3", OWN + "#Disallow: /\n", "/a", True, "or before it"),
    ("2.2.3", OWN + "Disallow: /a%23b\n", "/a%23b", False, "escaped, it is a character"),
    ("2.2.3", OWN + "Disallow: /*/b\n", "/a/b", False, "a star in the middle"),
    ("2.2.3", OWN + "Disallow: /*/b\n", "//b", False, "a star may match nothing"),
    ("2.2.3", OWN + "Disallow: /*/b\n", "/b", True, "but needs what stands around it"),
    ("2.2.3", OWN + "Disallow: *\n", "/a", False, "a star alone"),
    ("2.2.3", OWN + "Disallow: /a*\n", "/a", False, "a star at the end says nothing"),
    ("2.2.3", OWN + "Disallow: /a*\n", "/b", True, "nor does it widen the rule"),
    ("2.2.3", OWN + "Disallow: /a*b*c\n", "/axbxc", False, "two stars"),
    ("2.2.3", OWN + "Disallow: /a*b*c\n", "/acb", True, "in their order"),
    ("2.2.3", OWN + "Disallow: /*.gif$\n", "/a.gif", False, "an ending"),
    ("2.2.3", OWN + "Disallow: /*.gif$\n", "/a.gif.html", True, "and nothing behind it"),
    ("2.2.3", OWN + "Disallow: /*.gif$\n", "/a.gif?x=.gif", False, "the last place counts"),
    ("2.2.3", OWN + "Disallow: /$\n", "/", False, "the root only"),
    ("2.2.3", OWN + "Disallow: /$\n", "/a", True, "and no other page"),
    ("2.2.3", OWN + "Disallow: /a$$\n", "/a$", False, "the first of two is a character"),
    ("2.2.3", OWN + "Disallow: /a$*\n", "/a", True, "with a star behind it, it is one, too"),
    ("2.2.3", OWN + "Disallow: $\n", "/", True, "the end alone matches no path"),
    ("2.2.3", OWN + "Allow: /*.js$\nDisallow: /\n", "/a.js", True, "an ending that is allowed"),
    ("2.2.3", OWN + "Allow: /*.js$\nDisallow: /private/\n", "/private/a.js", False, "unless a longer rule forbids it"),
    # Section 2.2.4: other records.
    ("2.2.4", "Sitemap: https://a.example/s.xml\n" + OWN + NOBODY, "/x", False, "a sitemap before a group"),
    ("2.2.4", OWN + "Sitemap: https://a.example/s.xml\n" + NOBODY, "/x", False, "within it"),
    ("2.2.4", OWN + "Sitemap: https://a.example/s.xml\n" + OTHER + NOBODY, "/x", False, "between names of a group"),
    ("2.2.4", OWN + "Noindex: /a\n", "/a", True, "Noindex is no rule"),
    ("2.2.4", OWN + "Host: a.example\n" + NOBODY, "/x", False, "nor is Host, and it ends no group"),
    # Section 2.5 and the form of lines.
    ("2.5", OWN + "#" * 20_000 + "\n" + NOBODY, "/x", False, "a long comment"),
    ("2.5", (OWN + "\n" * 1_000) * 50 + NOBODY, "/x", False, "many empty lines"),
    ("2.5", ALL + "Disallow: /" + "a" * 3_000 + "\n", "/" + "a" * 3_000, False, "a long path"),
    ("2.5", OWN + "Disallow: /a\n" + "\xff\xfe\n", "/a", False, "bytes that are no text"),
    ("2.5", OWN + "Disallow:\t/a\t\n", "/a", False, "tabs"),
    ("2.5", OWN + "Disallow : /a\n", "/a", False, "a space before the colon"),
    ("2.5", OWN + "Disallow:: /a\n", "/a", True, "two colons: the rule begins with one"),
    ("2.5", OWN + "Disallow: https://a.example/a\n", "/a", True, "a URL is no path"),
    ("2.5", OWN + "\x00Disallow: /\n", "/a", True, "a line that begins with a zero byte"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path", "allowed"), [case[1:4] for case in CASES], ids=[f"{case[0]} {case[4]}" for case in CASES]
)
def test_sections(text: str, path: str, allowed: bool) -> None:
    content = text.encode("latin-1" if "\xff" in text else "utf-8")
    assert parse(content, ROBOT).allowed(f"https://a.example{path}") is allowed


PATTERNS = st.text(st.sampled_from("ab/*$."), min_size=1, max_size=8)
PATHS = st.text(st.sampled_from("ab/.$"), max_size=10).map(lambda rest: f"/{rest}")


def allows(rules: list[tuple[bool, str]], path: str) -> bool:
    """Decide as section 2.2.2 says it, rule by rule: the longest one that matches, and of two as long, `Allow`."""
    decided = (0, True)
    for allow, pattern in rules:
        whole = pattern.endswith("$")
        parts = map(re.escape, (pattern[:-1] if whole else pattern).split("*"))
        if re.match(".*".join(parts) + ("$" if whole else ""), path):
            decided = max(decided, (len(pattern), allow))
    return decided[1]


@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=8), PATHS)
def test_the_matcher_decides_as_the_section_says(rules: list[tuple[bool, str]], path: str) -> None:
    lines = "".join(f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in rules)
    assert parse((OWN + lines).encode(), ROBOT).allowed(f"https://a.example{path}") is allows(rules, path)
