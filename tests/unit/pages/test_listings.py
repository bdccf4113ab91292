"""Listings of code have no line numbers and no buttons, whatever highlighter made them."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.listings import clean_listings

CODE = "def f(x):\n    return 4\nprint(f(1))"
LINES = CODE.split("\n")
NUMBERED = [
    ("Pygments, Rouge: a cell with a listing of numbers",
     "<table><tr><td class=linenos><div><pre>1\n2\n3</pre></div></td>"
     f"<td><div><pre>{CODE}\n</pre></div></td></tr></table>"),
    ("Chroma: each number in an element",
     "<table><tr><td><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span><span class=lnt>3\n</span></code>"
     f"</pre></td><td><pre><code>{CODE}</code></pre></td></tr></table>"),
    ("Hexo: lines with breaks",
     "<figure><table><tr><td class=gutter><pre><span class=line>1</span><br><span class=line>2</span><br>"
     f"<span class=line>3</span><br></pre></td><td><pre>{CODE}</pre></td></tr></table></figure>"),
    ("a part of a file", f"<table><tr><td><pre>98\n99\n100</pre></td><td><pre>{CODE}</pre></td></tr></table>"),
    ("rustdoc: a listing before the listing",
     f'<div><pre><a href="#1">1</a>\n<a href="#2">2</a>\n<a href="#3">3</a></pre><pre>{CODE}</pre></div>'),
    ("Sphinx: in each line",
     "<pre>" + "\n".join(f"<span class=linenos>{n}</span>{line}" for n, line in enumerate(LINES, 1)) + "</pre>"),
    ("with spaces", "<pre>" + "\n".join(f"<i> {n} </i>{line}" for n, line in enumerate(LINES, 9)) + "</pre>"),
    ("links to the lines",
     "<pre>" + "\n".join(f"<a class=ln href='#L{n}'>{n}</a>{line}" for n, line in enumerate(LINES, 1)) + "</pre>"),
    ("a button", f"<pre><code>{CODE}</code><button>Copy</button></pre>"),
    ("a button with a picture, before", f"<pre><button><svg></svg>Kopieren</button>{CODE}</pre>"),
]  # fmt: skip
KEPT = [
    ("numbers that are the code", "<pre><i>1</i>\n<i>2</i>\n<i>3</i></pre>", "1\n2\n3"),
    ("numbers that do not follow each other", "<pre><i>1</i> a\n<i>3</i> b</pre>", "1 a\n3 b"),
    ("one number", "<pre><i>1</i> apple</pre>", "1 apple"),
    ("a cell of a table of data", "<table><tr><td>1</td><td><pre>a\nb</pre></td></tr></table>", "1a\nb"),
    ("a listing of numbers before another one", "<pre>1\n2</pre><pre>a\nb\nc\nd</pre>", "1\n2a\nb\nc\nd"),
    ("more numbers than lines", "<pre><i>1</i><i>2</i><i>3</i> go away</pre>", "123 go away"),
]


def text_of(html: str) -> str:
    tree = LexborHTMLParser(f"<body>{html}")
    clean_listings(tree)
    assert tree.body is not None
    return tree.body.text()


@pytest.mark.parametrize(("why", "html"), NUMBERED)
def test_what_is_for_readers_goes(why: str, html: str) -> None:
    lines = [line.strip() for line in text_of(html).strip().split("\n")]
    assert lines == [line.strip() for line in LINES], why


@pytest.mark.parametrize(("why", "html", "expected"), KEPT)
def test_code_and_data_stay(why: str, html: str, expected: str) -> None:
    assert text_of(html) == expected, why
