"""The catalogues of the pages' languages, with the messages that templates and code have now.

A new message comes in without a translation, and an old one goes. tests/unit/gateway/test_messages.py wants all of them
translated.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[2]
TEMPLATES, CATALOGUES = ROOT / "streams/gateway/templates", ROOT / "streams/gateway/messages"
JINJA_OPTIONS = dict.fromkeys(("trimmed", "newstyle_gettext", "trim_blocks", "lstrip_blocks"), "true")
KEYWORDS: Mapping[str, Any] = {"_": None, "gettext": None, "ngettext": (1, 2)}
"""Functions of the templates, with the places of their messages."""
CODE_KEYWORDS: Mapping[str, Any] = {"message": None, "counted_message": (1, 2), "missing": (2,)}
"""Functions of the code that make messages."""
Id = str | tuple[str, ...]
WIDTH = 120


@cache
def messages() -> frozenset[Id]:
    """Return the messages of all templates and of the code; a message with a plural as a pair."""
    return frozenset(_extract())


def _extract() -> Iterator[Id]:
    for path in sorted(TEMPLATES.iterdir()):
        for _, found, *_ in extract_from_file("jinja2", path, KEYWORDS, options={**JINJA_OPTIONS, "silent": "false"}):
            yield found
    for path in sorted((ROOT / "streams").rglob("*.py")):
        text = path.read_text(encoding="utf-8")  # Babel's reader needs milliseconds for each file
        if "plain_text import" in text or "trace.missing(" in text:
            for _, found, *_ in extract_from_file("python", path, CODE_KEYWORDS):
                yield found


def updated(path: Path) -> str:
    """Return a catalogue with the messages of now, in the order of the alphabet."""
    with path.open("rb") as source:
        former = read_po(source, locale=path.stem.replace("-", "_"))
    current = Catalog(locale=former.locale, header_comment=former.header_comment, fuzzy=False)
    current.mime_headers = former.mime_headers
    for message in messages():
        known = former.get(message)
        current.add(message, known.string if known else None)
    content = BytesIO()
    write_po(content, current, width=WIDTH, no_location=True, sort_output=True)
    return content.getvalue().decode()


def catalogues() -> dict[Path, str]:
    """Return all catalogues by their paths."""
    return {path: updated(path) for path in sorted(CATALOGUES.glob("*.po"))}
