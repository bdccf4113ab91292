"""Documents of other formats that somebody made to harm: each is read or refused, and the next one is read."""

import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import pytest

from streams.errors import Refused
from streams.pages.sandbox.pool import ParsePool

ODT, EPUB, PDF, MARKDOWN = (
    "application/vnd.oasis.opendocument.text",
    "application/epub+zip",
    "application/pdf",
    "text/markdown",
)
NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
)
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
PLACE = "META-INF/container.xml"
CONTAINER = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def odt(body: str, before: str = "") -> bytes:
    inside = f"<office:body><office:text>{body}</office:text></office:body>"
    content = f'<?xml version="1.0"?>{before}<office:document-content {NAMES}>{inside}</office:document-content>'
    return zipped({"content.xml": content})


def nested_tables(depth: int) -> str:
    inside = "<text:p>x</text:p>"
    for _ in range(depth):
        cell = f'<table:table-cell table:number-columns-repeated="20">{inside}</table:table-cell>'
        inside = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    return inside


def epub(spine: str, **more: str) -> bytes:
    items = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    chapter = "<html><body><p>Words of a chapter.</p></body></html>"
    return zipped({PLACE: CONTAINER, "p.opf": package, "a.xhtml": chapter, **more})


def pdf(*objects: bytes) -> bytes:
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(out))
    return out + head + table + end


def pdf_with_forms(form: bytes, draws: int) -> bytes:
    content, resources = b"/X Do " * draws, b"/Resources<</XObject<</X 5 0 R>>>>"
    return pdf(
        CATALOG,
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]%s/Contents 4 0 R>>" % resources,
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]%s/Length %d>>stream\n%s\nendstream" % (resources, len(form), form),
    )


LAUGHS = "<!DOCTYPE x [" + "".join(f'<!ENTITY a{n} "{(f"&a{n - 1};" if n else "ha ") * 10}">' for n in range(10)) + "]>"
FILE = '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
GOOD = odt("<text:p>Words of a paragraph.</text:p>")
DOCUMENTS = [
    # why, type, content
    ("entities of entities", ODT, odt("<text:p>&a9;</text:p>", LAUGHS)),
    ("an entity of a file", ODT, odt("<text:p>&x;</text:p>", FILE)),
    ("tables in repeated cells of tables", ODT, odt(nested_tables(12))),
    ("spaces without number", ODT, odt('<text:p><text:s text:c="999999999"/>x</text:p>' * 50)),
    ("200 sections in each other", ODT, odt("<text:section>" * 200 + "<text:p>x</text:p>" + "</text:section>" * 200)),
    ("many attributes", ODT, odt("<text:p " + " ".join(f"a{n}='1'" for n in range(4_000)) + ">x</text:p>")),
    ("a member of 300 MB", ODT, zipped({"content.xml": b" " * (300 << 20)})),
    ("many members", ODT, zipped({f"m{n}": b"" for n in range(20_000)})),
    ("names that lead out", EPUB, epub('<itemref idref="a"/>', **{"../../etc/passwd": "x"})),
    ("one chapter many times", EPUB, epub('<itemref idref="a"/>' * 20_000)),
    ("a package in a circle", EPUB, zipped({PLACE: CONTAINER.replace("p.opf", PLACE)})),
    ("a page tree in a circle", PDF, pdf(CATALOG, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>")),
    ("a form that draws itself", PDF, pdf_with_forms(b"/X Do", 50)),
    pytest.param("a form that draws itself twice", PDF, pdf_with_forms(b"/X Do /X Do", 1), marks=pytest.mark.night),
    ("a file without an end", PDF, b"%PDF-1.7\n1 0 obj\n<<" + b"/A<<" * 20_000),
    ("quotes in each other", MARKDOWN, (">" * 5_000 + "a\n").encode() * 20),
    ("open links", MARKDOWN, b"[a](b" * 5_000),
    ("emphasis", MARKDOWN, b"*a _b " * 15_000),
    ("backticks", MARKDOWN, b"".join(b"`" * n + b" " for n in range(1, 400))),
    ("lists in each other", MARKDOWN, "".join("  " * (n % 300) + "- a\n" for n in range(6_000)).encode()),
]  # fmt: skip


WHYS = [str(getattr(case, "values", case)[0]) for case in DOCUMENTS]


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    parsing = ParsePool(1)
    parsing.start()
    yield parsing
    await parsing.close()


@pytest.mark.parametrize(
    ("_why", "kind", "content"), DOCUMENTS, ids=[str(getattr(case, "values", case)[0]) for case in DOCUMENTS]
)
async def test_a_document_is_read_or_refused_and_the_next_one_is_read(
    _why: str, kind: str, content: bytes, pool: ParsePool
) -> None:
    with suppress(Refused):  # a parser that ends takes only its own process with it
        found = await pool.parse(content, url="https://a.example/f", headers={"content-type": kind})
        assert b"root:" not in found.document
    good = await pool.parse(GOOD, url="https://a.example/g", headers={"content-type": ODT})
    assert good.document
