"""Real pages, damaged at random: each becomes a valid document, which is the same when it is written and read again."""

import io
import tarfile

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Refused
from streams.local.demo import ARCHIVE
from streams.pages.document.codec import decode_document, encode_document
from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from tests.sizes import examples
from tests.unit.pages.test_html import assert_valid

URL = "https://site.example/a/page"
MAX_CHARS = 30_000
PIECES = [
    "\x00", "\x0b", "\x1c", "\u0085", "\u2028", "\ufeff", "\ufffe", "\u200b", "\u202e", "\ud800", "\xa0", "&#13;",
    "&#xD800;", "<", ">", "&", '"', "'", "</p>", "<p lang=zz>", "</table>", "<td>", "<td rowspan=3>", "<td colspan=3>",
    "<tr>",
    "<caption>", "<table role=presentation>", "<li>", "<dd>", "<menu>", "<figcaption>", "<a href=//x/y>", "</a>", "<b>",
    "<pre>\n\n", "<code class=language-x>", "<h1>", "<math>", "<small role=doc-footnote>", "<img src=x>", "<svg>",
    "<template>", "<button>", "<footer>", "<nav>", "<form>", "<select>", "<plaintext>", '<a href="#fn1">1</a>',
    "<li id=fn1>note", "<br><br>", "<!--", "<script>", "<style>", "<textarea>",
]  # fmt: skip


def bundled_pages(every: int) -> list[str]:
    content = zstandard.ZstdDecompressor().decompress(ARCHIVE.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".html"))[::every]
        return [archive.extractfile(name).read().decode("utf-8", "replace")[:MAX_CHARS] for name in names]  # type: ignore[union-attr]  # they are files


PAGES = bundled_pages(every=12)
DAMAGE = st.tuples(st.floats(0, 1, exclude_max=True), st.one_of(st.sampled_from(PIECES), st.integers(1, 300)))
"""The place of the damage, and the text put there or the number of characters cut out."""


@settings(max_examples=examples(150), deadline=None)
@given(page=st.integers(0, len(PAGES) - 1), damage=st.lists(DAMAGE, min_size=1, max_size=25))
def test_damaged_pages_become_documents(page: int, damage: list[tuple[float, str | int]]) -> None:
    html = PAGES[page]
    for share, what in damage:
        at = int(share * len(html))
        html = html[:at] + (what + html[at:] if isinstance(what, str) else html[at + what :])
    try:
        document = normalize(html, url=URL).document
    except Refused:
        return
    assert_valid(document)
    assert decode_document(encode_document(document)) == document
    assert normalize(to_html(document), url=URL).document == document
