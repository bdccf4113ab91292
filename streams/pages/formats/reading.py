"""The one door to files that are not HTML: it finds the kind of a file and converts it. Pure.

Strangers' files are converted in a process that can be killed (`streams.pages.sandbox`), within the limits of web
pages. A small file of each format lets such a process load all libraries before it is confined.
"""

import io
import zipfile
from collections.abc import Mapping

from streams.crawl.file_kinds import Kind, kind_of
from streams.errors import Refused
from streams.media_types import media_type, sniff, sniff_mark
from streams.pages.formats.converted import Converted
from streams.pages.formats.epub import convert_epub
from streams.pages.formats.markdown import convert_markdown
from streams.pages.formats.office.reading import convert_office
from streams.pages.formats.opendocument import convert_opendocument
from streams.pages.formats.pdf import convert_pdf
from streams.pages.formats.plain import convert_plain
from streams.pages.formats.rtf import convert_rtf

_PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</Font<</F 4 0 R>>>>/Contents 5 0 R>>endobj "
    b"4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj 5 0 obj<</Length 44>>stream\n"
    b"BT /F 12 Tf 20 100 Td (A file is read) Tj ET\nendstream endobj trailer<</Root 1 0 R>>"
)
_CONTAINER = b'<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
_PACKAGE = (
    b'<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
    b'<spine><itemref idref="c"/></spine></package>'
)
_CONTENT = b'<d xmlns:text="t"><text:h>A file</text:h><text:p>It is read.</text:p></d>'

_RELATION = (
    b'<Relationships><Relationship Id="r" Type="http://a.example/officeDocument" Target="d.xml"/></Relationships>'
)
_OFFICE = b'<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>A file is read.</w:t></w:r></w:p></w:body></w:document>'


def find_kind(body: bytes, headers: Mapping[str, str], url: str) -> Kind:
    """Return the kind of a file. `headers` have lower-case names. Raises Refused for a kind that can't be read."""
    content_type = headers.get("content-type", "")
    found = kind_of(body, content_type, url)
    if found is None:
        kind = sniff_mark(body) or media_type(content_type).essence or sniff(body)
        raise Refused("type", f"{kind} is not HTML, text, Markdown, PDF, RTF, EPUB, OpenDocument or Office")
    return found


def convert(kind: Kind, body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    """Convert a file of this kind, which is not `html`. Raises Refused."""
    match kind:
        case "pdf":
            return convert_pdf(body, url)
        case "rtf":
            return convert_rtf(body, url)
        case "epub":
            return convert_epub(body, url)
        case "opendocument":
            return convert_opendocument(body, url)
        case "docx" | "pptx" | "xlsx":
            return convert_office(body, url)
        case "markdown":
            return convert_markdown(body, headers, url)
    return convert_plain(body, headers, url)


def warm_up_files() -> dict[str, bytes]:
    """Return a file of each format, by media type."""
    chapter = b"<html><body><p>A file is read.</p></body></html>"
    return {
        "application/pdf": _PDF,
        "application/rtf": rb"{\rtf1{\b A file}\par It is read.\par}",
        "text/markdown": b"# A file\n\nIt is `read`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "text/plain": b"A file\n======\n\nIt is read.\n",
        "application/epub+zip": pack_zip({"META-INF/container.xml": _CONTAINER, "p.opf": _PACKAGE, "c.xhtml": chapter}),
        "application/vnd.oasis.opendocument.text": pack_zip({"content.xml": _CONTENT}),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": pack_zip(
            {"_rels/.rels": _RELATION, "d.xml": _OFFICE}
        ),
    }


def pack_zip(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()
