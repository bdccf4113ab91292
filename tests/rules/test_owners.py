"""Rules for questions about owners: who asks for what is not sure has a reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import streams

USERS = {
    "registrable_domain": {
        "crawl/domains.py": "here it becomes a question about owners",
        "search/ranking/named_pages.py": "its words are the name of a site",
    },
    "may_be_one_owner": {
        "crawl/fetch/agent.py": "a redirect may be a move, whose address has agreed by its redirect",
        "crawl/frontier/intake/url_batch.py": "other names below the domain begin hosts in a budget of their own",
        "crawl/frontier/scheduling/ordering.py": "all names below one domain that the operator opened are one owner's",
        "crawl/frontier/scheduling/traps.py": "other names below the domain have counts of their own",
        "crawl/polite/client.py": "where a redirect may lead, at the pace of each host",
        "dedup/election.py": "a page that names another as canonical gives only what is its own",
        "dedup/first_sight.py": "so does an address that redirects",
        "links/agent.py": "a row that an older list of suffixes let be stored is looked for",
        "pages/link_events.py": "which feeds are announced: the frontier decides",
        "pages/sitemap_events.py": "which pages of a sitemap are announced: the frontier decides",
        "render/loading.py": "what a page's scripts may ask, each for a turn of the page's own host",
    },
}
"""The modules that ask for a name, or for what is not sure, and why they may. All others ask what is sure."""


@pytest.mark.parametrize("name", USERS)
def test_nobody_else_takes_what_may_be_for_what_is_sure(name: str) -> None:
    assert set(_users_of(name)) == set(USERS[name])


def _users_of(name: str) -> Iterator[str]:
    root = Path(streams.__file__).parent
    for path in root.rglob("*.py"):
        source = path.read_bytes()
        if name.encode() not in source:
            continue  # parsing all files takes a second
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(source))):
            yield path.relative_to(root).as_posix()
