"""The check whether a page needs rendering: its static document has hardly any text, and it has scripts. Pure."""

from streams.media_types import UNKNOWN, media_type

MAX_STATIC_CHARS = 250
"""Maximum length of the static text of a page that is rendered (characters). A page with more can be read as it is."""
MAX_LOOKED_BYTES = 2 * 1024 * 1024
"""Maximum bytes of a page that are searched for scripts."""
HTML_TYPES = UNKNOWN | {"text/html", "application/xhtml+xml"}


def needs_rendering(text_chars: int, body: bytes, content_type: str) -> bool:
    """Return whether the text of this page is likely made by its scripts."""
    kind = media_type(content_type).essence
    return text_chars <= MAX_STATIC_CHARS and kind in HTML_TYPES and b"<script" in body[:MAX_LOOKED_BYTES].lower()
