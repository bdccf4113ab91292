"""One `<page>` of a MediaWiki export (schema 0.10 and 0.11), as XML: title, namespace, redirect, text. Pure.

Entities other than XML's own five, and document types, don't occur in an export: they are refused.
"""

from dataclasses import dataclass, field
from xml.parsers import expat

MAX_TEXT_CHARS = 2_200_000
"""Maximum length of a text (characters): MediaWiki's own limit is 2 MiB."""
_WANTED = {"page/title", "page/ns", "page/id", "page/revision/id", "page/revision/text", "page/revision/model"}
_MAX_DEPTH = 16


class NotAPage(ValueError):
    """The bytes are no page of an export. The message has the reason."""


@dataclass(slots=True)
class XmlPage:
    """A page of a wiki. Of a page with several revisions the last one is taken."""

    title: str = ""
    namespace: int = -1
    page_id: int = 0
    redirect: str = ""
    """Title of the page that this one leads to."""
    text: str = ""
    model: str = "wikitext"


@dataclass(slots=True)
class _Reader:
    path: list[str] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    redirect: str = ""
    chars: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > _MAX_DEPTH:
            raise NotAPage("it is nested too deep")
        place = "/".join(self.path)
        if place == "page/redirect":
            self.redirect = attributes.get("title", "")
        if place in _WANTED:
            self.texts[place] = []  # of several revisions, the last one stays

    def end(self, _: str) -> None:
        self.path.pop()

    def data(self, text: str) -> None:
        place = "/".join(self.path)
        if place in _WANTED:
            self.chars += len(text)
            if self.chars > MAX_TEXT_CHARS:
                raise NotAPage(f"its text has more than {MAX_TEXT_CHARS:,} characters")
            self.texts[place].append(text)

    def of(self, place: str) -> str:
        return "".join(self.texts.get(place, ()))


def read_page(content: bytes) -> XmlPage:
    """Return the page of the bytes from `<page>` to `</page>` (UTF-8). Raises NotAPage."""
    reader, parser = _Reader(), expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.data
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)
        numbers = [int(reader.of(place) or -1) for place in ("page/ns", "page/id")]
    except (expat.ExpatError, ValueError) as error:
        raise NotAPage(str(error)) from error
    return XmlPage(
        title=" ".join(reader.of("page/title").split()),
        namespace=numbers[0],
        page_id=numbers[1],
        redirect=" ".join(reader.redirect.split("#", 1)[0].split()),
        text=reader.of("page/revision/text"),
        model=reader.of("page/revision/model") or "wikitext",
    )


def _refuse(*_: object) -> None:
    raise NotAPage("it has a document type")
