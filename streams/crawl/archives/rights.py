"""Licence and attribution of the pages of a dump, written into their heads as a page itself would state them. Pure."""

import re
from html import escape

_HEAD = re.compile(rb"<head(?:\s[^<>]{0,500})?>", re.IGNORECASE)
_LOOKED_BYTES = 8_192
_COMMONS = re.compile(r"cc[ -](by(?:-(?:nc|sa|nd)){0,2})[ -]([1-4]\.[0-9])", re.IGNORECASE)


def with_rights(html: bytes, licence: str, attribution: str) -> bytes:
    """Return a page with the address or name of its licence, and with the people or the project to name.

    What the page itself states comes first. Empty texts are left out.
    """
    address = licence_address(licence)
    stated = [f'<link rel="license" href="{escape(address)}">'] if address else []
    if licence and not address:
        stated.append(f'<meta name="dcterms.license" content="{escape(licence)}">')
    if attribution:
        stated.append(f'<meta name="dcterms.creator" content="{escape(attribution)}">')
    if not stated:
        return html
    found = _HEAD.search(html, 0, _LOOKED_BYTES)
    at = found.end() if found else 0
    return html[:at] + "".join(stated).encode() + html[at:]


def licence_address(licence: str) -> str:
    """Return the address of a licence that is one, or the name of a version of Creative Commons; empty for others."""
    if licence.lower().startswith(("http://", "https://")):
        return licence
    found = _COMMONS.fullmatch(licence.strip())
    return f"https://creativecommons.org/licenses/{found[1].lower()}/{found[2]}/" if found else ""
