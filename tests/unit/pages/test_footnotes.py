# ruff: noqa: E501 - pages as they come
"""Which links are marks of notes, and what becomes of them and their notes."""

import pytest

from streams.pages.html import to_html
from streams.pages.normalize import normalize

URL = "https://site.example/page"
FOUND = [
    ("docutils since 0.18, Sphinx 5",
     """<p>Boats float well <a class="footnote-reference brackets" href="#id2" id="id1" role="doc-noteref"><span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></a>.</p>
     <p class="rubric">Footnotes</p><aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="doc-footnote">
     <span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id1">1</a><span class="fn-bracket">]</span></span><p>The note.</p></aside></aside>"""),
    ("and a note with two marks",
     """<p>Boats float <a class="footnote-reference brackets" href="#id3" id="id1" role="doc-noteref">1</a> well.</p>
     <p>Boats float again <a class="footnote-reference brackets" href="#id3" id="id2" role="doc-noteref">1</a>.</p>
     <aside class="footnote brackets" id="id3" role="doc-footnote"><span class="label">[1]</span>
     <span class="backrefs">(<a role="doc-backlink" href="#id1">1</a>,<a role="doc-backlink" href="#id2">2</a>)</span><p>The note.</p></aside>"""),
    ("docutils 0.16, Sphinx 2 to 4",
     """<p>Boats float rather well <a class="footnote-reference brackets" href="#id2" id="id1">1</a>.</p>
     <dl class="footnote brackets"><dt class="label" id="id2"><span class="brackets"><a class="fn-backref" href="#id1">1</a></span></dt><dd><p>The note.</p></dd></dl>"""),
    ("older docutils",
     """<p>Boats float <a class="footnote-reference" href="#id2" id="id1">[1]</a>.</p>
     <table class="docutils footnote" frame="void" id="id2" rules="none"><colgroup><col class="label" /><col /></colgroup><tbody valign="top">
     <tr><td class="label"><a class="fn-backref" href="#id1">[1]</a></td><td>The note.</td></tr></tbody></table>"""),
    ("a name around the mark, a way back at the end",
     """<p>Boats float<sup id="up1">[<a href="#down1">1</a>]</sup>.</p><p id="down1">The note. <a href="#up1">Back</a></p>"""),
    ("a name around its brackets alone",
     """<p>Boats float well [<a id="up1" href="#down1">1</a>].</p><p id="down1">The note. (<a href="#up1">↑</a>)</p>"""),
    ("an empty name before the mark",
     """<p>Boats float<a name="up1"></a><a href="#down1">*</a>.</p><div id="down1"><a href="#up1">*</a> <p>The note.</p></div>"""),
    ("names of links alone",
     """<p>Boats float<a href="#_two1" name="_one1">[1]</a>.</p><hr><p><a href="#_one1" name="_two1">[1]</a> The note.</p>"""),
    ("a role of the note", '<p>Boats float <a href="#x">a</a>.</p><aside id="x" role="doc-footnote">The note.</aside>'),
    ("a role of the mark", '<p>Boats float <a href="#x" role="doc-noteref">1</a>.</p><p id="x">1. The note.</p>'),
    ("a role of all notes",
     '<p>Boats float <a href="#x">1</a>.</p><section role="doc-endnotes"><ol><li id="x"><p>The note.</p></li></ol></section>'),
    ("an EPUB's mark", '<p>Boats float <a epub:type="noteref" href="#x">1</a>.</p><p id="x">The note.</p>'),
    ("an EPUB's note", '<p>Boats float <a href="#x">1</a>.</p><div epub:type="footnote" id="x"><p>The note.</p></div>'),
    ("python-markdown",
     """<p>Boats float<sup id="fnref:1"><a class="footnote-ref" href="#fn:1">1</a></sup>.</p><div class="footnote"><hr/><ol>
     <li id="fn:1"><p>The note.&#160;<a class="footnote-backref" href="#fnref:1" title="Jump back">&#8617;</a></p></li></ol></div>"""),
    ("pandoc",
     """<p>Boats float<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a>.</p>
     <section class="footnotes" role="doc-endnotes"><ol><li id="fn1"><p>The note.<a href="#fnref1" class="footnote-back" role="doc-backlink">↩︎</a></p></li></ol></section>"""),
    ("kramdown",
     """<p>Boats float<sup id="fnref:1" role="doc-noteref"><a href="#fn:1" class="footnote" rel="footnote">1</a></sup>.</p><div class="footnotes" role="doc-endnotes"><ol>
     <li id="fn:1" role="doc-endnote"><p>The note. <a href="#fnref:1" class="reversefootnote" role="doc-backlink">&#8617;</a></p></li></ol></div>"""),
    ("GitHub",
     """<p>Boats float<sup><a href="#user-content-fn-1-ab" id="user-content-fnref-1-ab" data-footnote-ref="">1</a></sup>.</p><section class="footnotes"><ol>
     <li id="user-content-fn-1-ab"><p>The note. <a href="#user-content-fnref-1-ab" data-footnote-backref="">↩</a></p></li></ol></section>"""),
]  # fmt: skip


@pytest.mark.parametrize(("why", "page"), FOUND, ids=[why for why, _ in FOUND])
def test_notes_stand_at_their_marks(why: str, page: str) -> None:
    document = normalize(page, url=URL).document
    marks = [span for block in document.blocks for span in block.spans]
    assert {(span.kind, span.target) for span in marks} == {("footnote", "The note.")}
    assert document.blocks[0].text.startswith("Boats float")
    assert not any(letter.isdigit() or letter in "[]()*" for letter in document.text)
    assert {block.text for block in document.blocks} <= {
        "Boats float.", "Boats float well.", "Boats float rather well.", "Boats float again."
    }  # fmt: skip
    assert normalize(to_html(document), url=URL).document == document


KEPT = [
    ("chapters that lead back to the list of them",
     """<p id="top">Chapters of this book: <a href="#c1">1</a> <a href="#c2">2</a></p>
     <div id="c1"><p>Boats float.</p><a href="#top">Top</a></div><div id="c2"><p>They sink.</p><a href="#top">Top</a></div>"""),
    ("or to their own entry",
     """<p>The chapters of this book: <a id="t1" href="#c1">1</a>, <a id="t2" href="#c2">2</a></p>
     <div id="c1"><h3>Boats</h3><p>Boats float. <a href="#t1">Up</a></p></div><div id="c2"><h3>Sinking</h3><p>They sink. <a href="#t2">Up</a></p></div>"""),
    ("numbers that begin an entry",
     """<ul><li><a id="q1" href="#a1">1.</a> Do boats float?</li><li><a id="q2" href="#a2">2</a> Do they sink?</li></ul>
     <p id="a1">They do. <a href="#q1">Back</a></p><p id="a2">Some do. <a href="#q2">Back</a></p>"""),
    ("numbers of questions",
     """<p>Question <a id="q1" href="#a1">1</a></p><p>Question <a id="q2" href="#a2">2</a></p>
     <p id="a1">They do. <a href="#q1">Back</a></p><p id="a2">Some do. <a href="#q2">Back</a></p>"""),
    ("questions in words",
     """<p><a id="q1" href="#a1">Do boats float?</a></p><p><a id="q2" href="#a2">Why</a> do they?</p>
     <p id="a1">They do. <a href="#q1">Back</a></p><p id="a2">Wood is light. <a href="#q2">Back</a></p>"""),
    ("the letters of a glossary",
     """<p>All of the words with <a id="la" href="#wa">A</a> and with <a id="lb" href="#wb">B</a></p>
     <div id="wa">Anchor <a href="#la">back</a></div><div id="wb">Boat <a href="#lb">back</a></div>"""),
    ("listings",
     """<p>As the program shows <a id="r1" href="#code1">[1]</a>, boats float.</p>
     <div id="code1"><a href="#r1">[1]</a><pre>float(boat)</pre></div>"""),
    ("marks within code",
     """<pre>float(boat)  <a id="co1" href="#callout1">(1)</a></pre><p id="callout1"><a href="#co1">(1)</a> Calls the boat.</p>"""),
    ("tables and pictures",
     """<p>As the table shows <a id="r1" href="#t1">[1]</a> and the picture <a id="r2" href="#f1">[2]</a>.</p>
     <table id="t1"><caption><a href="#r1">[1]</a> Boats<tr><td>1<td>2</table><figure id="f1"><a href="#r2">[2]</a> A boat</figure>"""),
    ("what leads nowhere back", '<p>Boats, as is well known, float <a href="#x">[1]</a>.</p><p id="x">1. Not a note.</p>'),
    ("what leads back to another", """<p>Boats float <a id="a" href="#x">[1]</a> and <a id="b" href="#y">[2]</a>.</p>
     <p id="x"><a href="#b">[1]</a> One.</p><p id="y"><a href="#a">[2]</a> Two.</p>"""),
    ("what leads back in its middle",
     """<p>Boats, as is well known, float <a id="a" href="#x">[1]</a>.</p><p id="x">Some say so, <a href="#a">there</a>, and rightly.</p>"""),
    ("what stands above", """<p id="x"><a href="#a">[1]</a> Boats.</p><p>Boats, as is well known, float <a id="a" href="#x">[1]</a>.</p>"""),
    ("lines of a listing", '<table><tr><td><a id="L1" href="#L1">1</a><td>float(boat)<tr><td><a id="L2" href="#L2">2</a><td>sink(boat)</table>'),
]  # fmt: skip


@pytest.mark.parametrize(("why", "page"), KEPT, ids=[why for why, _ in KEPT])
def test_what_is_no_note_stays(why: str, page: str) -> None:
    document = normalize(page, url=URL).document
    assert not [span for block in document.blocks for span in block.spans if span.kind == "footnote"]
    bare = normalize(page.replace("href", "data-href"), url=URL).document
    assert document.text == bare.text


def test_many_marks_in_one_element_take_no_time() -> None:
    """Around each stands nearly all of the page, in elements that divide nothing."""
    marks = "".join(f'words <a id="a{at}" href="#b{at}">[{at % 999}]</a> ' for at in range(5_000))
    document = normalize(f"<span><font>{marks * 3}</font></span><p id=b7><a href='#a7'>[7]</a> Note.", url=URL).document
    notes = [span.target for block in document.blocks for span in block.spans if span.kind == "footnote"]
    assert set(notes) == {"Note."}
