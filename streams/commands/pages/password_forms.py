"""The check whether a page asks for a password. Pure."""

from html.parser import HTMLParser

MAX_LOOKED_BYTES = 128 * 1024
"""Maximum bytes of a page that are searched for a field."""


class _Fields(HTMLParser):
    """The reader of the fields of a page. Comments and scripts have none."""

    has_password = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = [(value or "").strip().lower() for name, value in attrs if name == "type"]
        self.has_password = self.has_password or (tag == "input" and kinds[:1] == ["password"])


def asks_for_password(body: bytes) -> bool:
    """Return whether the page has a field for a password, in any encoding that has ASCII."""
    fields = _Fields()
    try:
        fields.feed(body[:MAX_LOOKED_BYTES].decode("latin-1"))
    except AssertionError:  # a declaration that it can't read
        return fields.has_password
    return fields.has_password
