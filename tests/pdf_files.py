"""PDFs that tests draw: words, lines and boxes at their places, in the order in which a file has them."""

from collections.abc import Iterable, Sequence

FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
WIDTH = 0.5
"""Mean width of a letter of Helvetica, as a multiple of its size."""


def draw(left: float, height: float, text: str, size: float = 10, *, font: int = 1, before: str = "") -> str:
    """Return the operators that write a text. `before` sets its colour or its mode."""
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"q {before} BT /F{font} {size} Tf {left} {height} Td ({escaped}) Tj ET Q\n"


def column(left: float, top: float, lines: Iterable[str], *, leading: float = 13, size: float = 10) -> list[str]:
    """Return the operators of the lines of a column, from its top."""
    return [draw(left, top - leading * number, line, size) for number, line in enumerate(lines)]


def rule(left: float, bottom: float, right: float, top: float) -> str:
    """Return the operators of a line that is drawn."""
    return f"{left} {bottom} m {right} {top} l S\n"


def grid(xs: Sequence[float], ys: Sequence[float]) -> list[str]:
    """Return the operators of the lines of a table."""
    return [rule(x, min(ys), x, max(ys)) for x in xs] + [rule(min(xs), y, max(xs), y) for y in ys]


def make_pdf(pages: Sequence[Iterable[str]], info: str = "", page: str = "", more: Sequence[str] = ()) -> bytes:
    """Return a PDF with these operators on each page. `page` are further entries of each page; `more` are objects,
    whose numbers begin with 6: they are the pictures /P6, /P7, ... of each page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    objects += [f"<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>" for name in FONTS]
    objects += more
    pictures = "".join(f"/P{number} {number} 0 R" for number in range(6, 6 + len(more)))
    kids = []
    for operators in pages:
        stream = "".join(operators)
        objects.append(f"<</Length {len(stream.encode('cp1252'))}>>stream\n{stream}endstream ")
        resources = f"/Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>/XObject<<{pictures}>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]{page}/Resources<<{resources}>>"
            f"/Contents {len(objects)} 0 R>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    objects.append(f"<<{info}>>")
    body = "".join(f"{number} 0 obj{content}endobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R/Info {len(objects)} 0 R>>".encode("cp1252")


PICTURE = (
    "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\n"
    "x\nendstream "
)
"""A grey picture of one point."""
