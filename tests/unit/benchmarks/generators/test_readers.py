# ruff: noqa: E501 - sources as they come
"""The readers of sources: what counts as a name, a value and a listing in each markup."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.documents.generators.comments import read_c, read_haskell, read_java, read_ruby, read_rust
from benchmarks.documents.generators.docbook import identified, read_book, read_sections
from benchmarks.documents.generators.man import read_man
from benchmarks.documents.generators.markdown import read_markdown
from benchmarks.documents.generators.restructured import read_restructured
from benchmarks.documents.generators.source import Source
from benchmarks.documents.generators.texinfo import read_chapters

MARKDOWN = """---
sidebar: yes
---
# The gate
## `gate.open(width[, speed])`
* `width` {number} How far
  it opens.

| Part | Weight |
|---|---|
| Bar | 5 kg |

```js
gate.open(3);
```
"""
RESTRUCTURED = """
The gate
========

.. _gate-label:

Opening
-------

.. option:: --width <metres>

   How far it opens, see :ref:`closing <close>`.

speed
    It is given in ``m/s``.

* An *item*
  of two lines

Run it::

    gate --width 3

.. list-table::

   * - Bar
     - 5 kg
"""
MAN = r"""
.TH GATE 1 "May 2024"
.SH "SEE ALSO"
.TP
\fB\-w\fP, \fB\-\-width\fP=\fIMETRES\fP
how far the gate
.I opens
.PP
A paragraph.
.nf
gate \-w 3
.fi
"""
JAVA = """
/** The gate. */
public class Gate {
    /**
     * Opens the {@code Gate}. Slowly.
     * <pre>gate.open(3);</pre>
     * @param width  how far it opens
     * @return the new width
     */
    @Safe public int open(final int width) {
    /** Not documented for readers. */
    private void hidden() {
"""
HASKELL = """module Gate (
    -- * Opening
    ) where

-- | Opens the gate. Slowly.
--
-- > open 3
open :: Int -> Gate
"""
RUBY = "  # Opens the gate. Slowly.\n  def self.open(width)\n"
RUST = "/// Opens the gate.\n///\n/// # Panics\n///\n/// ```\n/// open(3);\n/// ```\n#[inline]\npub fn open(width: u8) -> bool {\n"


@pytest.mark.parametrize(
    ("read", "text", "names", "values", "code"),
    [
        (read_markdown, MARKDOWN, ["gate.open(width[, speed])", "Part", "Weight", "Bar"],
         ["width {number} How far it opens.", "5 kg"], "gate.open(3);"),
        (read_restructured, RESTRUCTURED, ["Opening", "--width <metres>", "speed", "Bar"],
         ["It is given in m/s.", "An item of two lines", "5 kg"], "gate --width 3"),
        (read_man, MAN, ["SEE ALSO", "-w, --width=METRES"], ["how far the gate opens"], "gate -w 3"),
        (read_java, JAVA, ["open", "public int open( int width)"],
         ["The gate.", "Opens the Gate.", "width how far it opens", "how far it opens", "the new width"], "gate.open(3);"),
        (read_haskell, HASKELL, ["Opening", "open :: Int -> Gate"], ["Opens the gate."], "open 3"),
        (read_ruby, RUBY, ["open(width)"], ["Opens the gate."], ""),
        (read_rust, RUST, ["pub fn open(width: u8) -> bool", "Panics"], ["Opens the gate."], "open(3);"),
    ],
    ids=["markdown", "restructured", "man", "java", "haskell", "ruby", "rust"],
)  # fmt: skip
def test_items_of_a_source(
    read: Callable[[str], Source], text: str, names: list[str], values: list[str], code: str
) -> None:
    source = read(text)
    assert [" ".join(one.split()) for one in source.names] == names
    assert [" ".join(one.split()) for one in source.values] == values
    assert "".join(source.code).strip() == code


def test_functions_of_c_have_the_marks_of_either_generator() -> None:
    doxygen = "/**\n * \\brief Opens the gate\n * \\param width How far\n * \\return 0 on success\n */\nint gate_open(int width)\n{"
    assert read_c(doxygen)["gate_open"].names == ["gate_open", "int gate_open(int width)"]
    assert "0 on success" in [one.strip() for one in read_c(doxygen)["gate_open"].values]
    gtk = "/**\n * gate_open:\n * @width: how far\n *   it opens\n *\n * Opens it.\n *\n * Returns: success\n */\nint gate_open (int width)\n{"
    assert read_c(gtk)["gate_open"].names == ["gate_open", "int gate_open (int width)", "width"]
    assert [" ".join(one.split()) for one in read_c(gtk)["gate_open"].values] == ["how far it opens", "success"]


def test_a_chapter_of_texinfo_has_its_sections() -> None:
    text = "@node Top\n@top\n@node Gates, Doors\n@chapter All gates\n@node Open\n@section Opening\n@table @option\n@item -w @var{n}\n@itemx --width\nHow @emph{far}\n@end table\n@example\ngate -w 3\n@end example\n"
    (source,) = read_chapters(text).values()
    assert (source.title, source.names) == ("All gates", ["Opening", "--width", "-w n"])
    assert (source.values, source.code) == ([" How far"], ["gate -w 3"])


def test_a_page_of_docbook_has_the_sections_whose_identifiers_it_has(tmp_path: Path) -> None:
    (tmp_path / "book.xml").write_text(
        "<book><chapter id='gates'><title>Gates</title><section id='open'><title>Opening</title><variablelist><varlistentry>"
        "<term>width</term><listitem><para>How <emphasis>far</emphasis></para></listitem></varlistentry></variablelist>"
        "</section><section id='close'><title>Closing</title></section></chapter></book>"
    )
    sections = identified(read_book([tmp_path / "book.xml"]))
    source = read_sections(sections, {"gates", "open", "a-menu"})
    assert (source.title, source.names, source.values) == ("Gates", ["Opening", "width"], ["How far"])
