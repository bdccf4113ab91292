"""The one door to files that are not HTML: it finds the kind of a file and converts it. Pure.

Strangers' files are converted in a process that can be killed (`streams.pages.sandbox`), within the limits of web
pages.
"""

from collections.abc import Mapping

from streams.crawl.file_kinds import Kind, kind_of, media_type
from streams.errors import Refused
from streams.pages.formats.converted import Converted
from streams.pages.formats.epub import convert_epub
from streams.pages.formats.markdown import convert_markdown
from streams.pages.formats.opendocument import convert_opendocument
from streams.pages.formats.pdf import convert_pdf
from streams.pages.formats.plain import convert_plain


def find_kind(body: bytes, headers: Mapping[str, str], url: str) -> Kind:
    """Return the kind of a file. `headers` have lower-case names. Raises Refused for a kind that can't be read."""
    kind = media_type(headers)
    found = kind_of(body, kind, url)
    if found is None:
        raise Refused("type", f"{kind} is not HTML, text, Markdown, PDF, EPUB or OpenDocument")
    return found


def convert(kind: Kind, body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    """Convert a file of this kind, which is not `html`. Raises Refused."""
    match kind:
        case "pdf":
            return convert_pdf(body, url)
        case "epub":
            return convert_epub(body, url)
        case "opendocument":
            return convert_opendocument(body, url)
        case "markdown":
            return convert_markdown(body, headers, url)
    return convert_plain(body, headers, url)
