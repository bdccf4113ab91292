"""Who may use the pages of operators."""

from base64 import b64encode

import pytest

from streams.admin.access import MAX_NAME_CHARS, read_operator
from streams.plain_text import clean_line

KEY = "a key of operators, long enough"


def basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (basic(f"Ada:{KEY}"), "Ada"),
        (basic(f"Ada Lovelace@example.org:{KEY}").replace("Basic", "basic"), "Ada Lovelace@example.org"),
        (basic(f":{KEY}"), "operator"),
        (basic(f"a\x1b[31m:{KEY}"), clean_line("a\x1b[31m")),
        (basic(f"{'x' * 999}:{KEY}"), "x" * MAX_NAME_CHARS),
        ("", None),
        (f"Bearer {KEY}", None),
        (basic(f"Ada:{KEY}x"), None),
        (basic("Ada:"), None),
        (basic(KEY), None),
        ("Basic \xff", None),
        ("Basic aaa", None),
    ],
)
def test_only_the_key_opens_the_pages(header: str, name: str | None) -> None:
    operator = read_operator(header, KEY)
    assert (operator.name if operator else None) == name


def test_a_form_has_the_token_of_its_operator_and_key() -> None:
    ada, bob = read_operator(basic(f"Ada:{KEY}"), KEY), read_operator(basic(f"Bob:{KEY}"), KEY)
    other = read_operator(basic(f"Ada:{KEY}2"), f"{KEY}2")
    assert ada is not None
    assert bob is not None
    assert other is not None
    assert ada.sent(ada.token)
    assert not any(ada.sent(token) for token in ("", bob.token, other.token, "é"))
