"""A file of Word, PowerPoint or Excel -> HTML with the facts that it states. Pure."""

from typing import Any, Protocol

from streams.errors import Refused
from streams.media_types import COMPOUND_FILE, sniff_mark
from streams.pages.formats.converted import Converted, is_no_title, title_of_url
from streams.pages.formats.office.package import Package
from streams.pages.formats.office.sheets import SheetsWriter
from streams.pages.formats.office.slides import SlidesWriter
from streams.pages.formats.office.word import WordWriter
from streams.pages.formats.zipped import local_name

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""The stream of an encrypted file ([MS-OFFCRYPTO] 2.3.4.4)."""


class _Writer(Protocol):
    parts: list[str]
    chars: int
    unread: int
    """Characters beyond the maximum."""
    title: str

    def write(self, root: Any) -> None: ...


def convert_office(body: bytes, url: str) -> Converted:
    """Convert a file of Office. Raises Refused: it says what to do about old and encrypted files."""
    if sniff_mark(body) == COMPOUND_FILE:
        if _ENCRYPTED in body:
            raise Refused("office", "it is encrypted. Save it without a password, or as PDF")
        raise Refused("office", "it is a file of Office 97 to 2003. Save it as .docx, .pptx or .xlsx, or as PDF")
    package = Package(body)
    root = package.read(package.main)
    writer: _Writer
    match local_name(root) if root is not None else "":
        case "document":
            writer = WordWriter(package)
        case "presentation":
            writer = SlidesWriter(package)
        case "workbook":
            writer = SheetsWriter(package)
        case name:
            raise Refused("office", f"its first part is {name or 'missing'}, and no document, presentation or workbook")
    writer.write(root)
    if not writer.chars:
        raise Refused("office", "it has no text")
    facts = package.facts()
    stated = facts.get("title", "")
    return Converted(
        "".join(writer.parts),
        title=writer.title or title_of_url(url) if is_no_title(stated) else stated,
        author=facts.get("creator", ""),
        published=facts["created"],
        modified=facts["modified"],
        language=facts.get("language", ""),
        description=facts.get("description", "") or facts.get("subject", ""),
        unread_chars=writer.unread,
    )
