"""The choice between a page and problem+json."""

import pytest

from streams.gateway.http.responses import prefers_html

ACCEPT = [
    # the header, true for a page
    ("", True),
    ("*/*", True),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),  # browsers
    ("application/json", False),
    ("application/problem+json, text/html;q=0.5", False),
    ("application/json;q=0.5, text/html", True),
    ("text/html;q=0, */*", False),
    ("text/*;q=0.3, application/json;q=0.2", True),
    ("application/json;q=nonsense, text/plain", True),
    (";;;,,,", True),
]


@pytest.mark.parametrize(("accept", "html"), ACCEPT)
def test_accept(accept: str, html: bool) -> None:
    assert prefers_html(accept) is html
