"""A page's original as it was fetched, as text for people.

The gateway and the commands read originals only through this module and `streams.pages.sandbox`.
"""

from collections.abc import Mapping

from streams.charset import decode


def original_text(body: bytes, headers: Mapping[str, str]) -> str:
    """Return the body as text, by its declared or detected character set. `headers` have lower-case names."""
    return decode(body, headers.get("content-type", ""))
