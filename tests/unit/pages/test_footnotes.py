# ruff: noqa: E501 - pages as they come
"""Links that are marks of notes, and the footnotes made of them."""

import random
import re

import pytest

from streams.pages.assemble.footnotes import MAX_NOTES, _replace_marks, attach_notes
from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from streams.pages.parse.page import parse_page
from streams.pages.parse.segments import RawSpan, Segment

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
    *(
        (f"a name alone: {name}", f'<p>Boats float<a href="#{name}">1</a>.</p><p id="{name}">The note.</p>')
        for name in (
            "fn1", "fn:1", "fn:name", "fna", "fn*", "footnote-1", "footnote1", "footnote_a", "footnote-smith", "note-1",
            "noteref1", "_ftn1", "ftn.idm12", "_edn1", "endnote1", "sdfootnote1sym", "cite_note-name-1", "ref-1",
            "user-content-fn-1", "user-content-fn-name",
        )
    ),
    *(
        (f"two in a row, {why}",
         f"""<p>Boats float rather well {first} {second}.</p><p id="n1">The note. <a href="#r1">↑</a></p>
         <p id="n2">The note. <a href="#r2">↑</a></p>""")
        for why, first, second in (
            ("in brackets", '<a id=r1 href="#n1">[1]</a>', '<a id=r2 href="#n2">[2]</a>'),
            ("in brackets beside the links", '[<a id=r1 href="#n1">1</a>]', '[<a id=r2 href="#n2">2</a>]'),
            ("raised", '<sup><a id=r1 href="#n1">1</a></sup>', '<sup><a id=r2 href="#n2">2</a></sup>'),
            ("raised within", '<a id=r1 href="#n1"><sup>1</sup></a>', '<a id=r2 href="#n2"><sup>2</sup></a>'),
            ("of raised digits", '<a id=r1 href="#n1">¹</a>', '<a id=r2 href="#n2">²</a>'),
            ("with brackets that docutils leaves to the style",
             '<a class="footnote-reference brackets" id=r1 href="#n1">1</a>',
             '<a class="footnote-reference brackets" id=r2 href="#n2">2</a>'),
            ("of signs", '<a id=r1 href="#n1">*</a>', '<a id=r2 href="#n2">†</a>'),
        )
    ),
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
    *(
        (f"numbers of questions in a row, {why}",
         f"""<p>Answers to the questions that people ask: {between.join(f'<a id="t{at}" href="#q{at}">{at}</a>' for at in (1, 2, 3))}</p>
         <p id="q1">They do. <a href="#t1">↑</a></p><p id="q2">Some do. <a href="#t2">↑</a></p><p id="q3">No. <a href="#t3">↑</a></p>""")
        for why, between in (
            ("spaces between", " "), ("bars between", " | "), ("commas between", ", "),
            ("other marks between", ' <a href="#x">a</a> '), ("in bold", "</b> <b>"),
        )
    ),
    *(
        (f"a chapter of that name: {name}",
         f"""<p>They are on the shelf, as said before <a href="#{name}">1</a>.</p><section id="{name}"><h2>A heading</h2><p>Boats float.</p></section>""")
        for name in ("notebooks", "notes", "note-taking", "footnotes", "fn:map", "endnote-import", "fnord")
    ),
    *((f"a text of that name: {name}", f'<p>They are on the shelf, as said before <a href="#{name}">1</a>.</p><p id="{name}">Boats float.</p>')
      for name in ("notebooks", "notes", "note-taking", "footnotes", "fnord")),
    ("lines of a listing", '<table><tr><td><a id="L1" href="#L1">1</a><td>float(boat)<tr><td><a id="L2" href="#L2">2</a><td>sink(boat)</table>'),
]  # fmt: skip


@pytest.mark.parametrize(("why", "page"), KEPT, ids=[why for why, _ in KEPT])
def test_what_is_no_note_stays(why: str, page: str) -> None:
    document = normalize(page, url=URL).document
    assert not [span for block in document.blocks for span in block.spans if span.kind == "footnote"]
    bare = normalize(page.replace("href", "data-href"), url=URL).document
    assert document.text == bare.text


def test_many_marks_in_one_element() -> None:
    """Around each stands nearly all of the page, in elements that divide nothing."""
    marks = "".join(f'words <a id="a{at}" href="#b{at}">[{at % 999}]</a> ' for at in range(5_000))
    document = normalize(f"<span><font>{marks * 3}</font></span><p id=b7><a href='#a7'>[7]</a> Note.", url=URL).document
    notes = [span.target for block in document.blocks for span in block.spans if span.kind == "footnote"]
    assert set(notes) == {"Note."}


def test_a_note_is_read_in_the_order_of_its_texts() -> None:
    """Text directly in an element is its own, before and after the text of nested elements."""
    page = "<p>We dug it all by hand.<a id=r1 href='#n1'>[1]</a></p><ol><li id=n1>First <p>second</p> third. <a href='#r1'>^</a></ol>"
    document = normalize(page, url=URL).document
    assert [span.target for block in document.blocks for span in block.spans] == ["First second third."]


def test_a_mark_within_a_note_takes_no_text_away() -> None:
    """The first note is gone from the text when the second one's mark, which stands in it, is read."""
    page = """<p>We dug it all by hand in one winter.<a id=r1 href="#fn1"><sup>1</sup></a></p><p>The end of it is near.</p><hr>
    <p id=fn1>1. But for the hedge, see the story there.<a href="#fn2"><sup>2</sup></a></p>
    <p id=fn2>2. The hedge was planted by my grandfather in 1921.</p>"""
    document = normalize(page, url=URL).document
    (note,) = (span.target for block in document.blocks for span in block.spans if span.kind == "footnote")
    assert note.startswith("But for the hedge")
    assert [block.text for block in document.blocks] == [
        "We dug it all by hand in one winter.", "The end of it is near.", "2. The hedge was planted by my grandfather in 1921."
    ]  # fmt: skip


def _one_after_another(segment: Segment, notes: list[tuple[RawSpan, str]]) -> tuple[str, list[RawSpan]]:
    """The result of `_replace_marks`, computed plainly: the marks leave one by one, the last first, and all spans move each time."""
    text, spans = segment.text, [raw for raw in segment.spans if all(raw != mark for mark, _ in notes)]
    for (start, end, _, _, _), note in sorted(notes, key=lambda entry: -entry[0][0]):
        cut = start
        if text[start - 1 : start] + text[end : end + 1] in ("[]", "()"):
            cut, end = start - 1, end + 1
        cut -= text[:cut].endswith(" ")
        text = text[:cut] + text[end:]
        places = [*range(cut + 1), *[cut] * (end - cut), *range(cut + 1, len(text) + 1)]
        spans = [(places[a], places[b], kind, target, label) for a, b, kind, target, label in spans]
        spans.append((cut, cut, "footnote", note, ""))
    shift, size = len(text) - len(text.lstrip()), len(text.strip())
    spans = [
        (min(max(a - shift, 0), size), min(max(b - shift, 0), size), kind, target, label)
        for a, b, kind, target, label in spans
    ]
    return text.strip(), [raw for raw in spans if raw[0] < raw[1] or raw[2] in ("image", "footnote")]


def test_all_marks_leave_at_once_as_they_would_one_by_one() -> None:
    draw = random.Random(7)
    for _ in range(5_000):
        text = "".join(
            draw.choices(["a", " ", "[", "]", "(", ")", "1", "*", "[1]", " 2", "(3", "4)"], k=draw.randrange(1, 16))
        )
        links = [
            (found.start(), found.end(), "link", f"#{found.start()}", "")
            for found in re.finditer(r"[\[(]?(?:\d|\*)[\])]?", text)
        ]
        others = [
            (start, end, draw.choice(["strong", "link", "code"]), "", "")
            for start, end in (sorted(draw.choices(range(len(text) + 1), k=2)) for _ in range(draw.randrange(5)))
        ]
        points = [
            (at, at, draw.choice(["image", "footnote"]), "x", "") for at in draw.choices(range(len(text) + 1), k=2)
        ]
        spans: list[RawSpan] = [*links, *others, *points]
        draw.shuffle(spans)
        notes = [(raw, f"Note {raw[0]}") for raw in links if draw.random() < 0.8]
        draw.shuffle(notes)
        if notes:
            segment = Segment.read(0, text, spans, 0, len(links), 0)
            made = _replace_marks(segment, notes)
            assert (made.text, made.spans) == _one_after_another(segment, notes), (text, notes)


MANY = [
    # (why, how many notes are attached, the page): each took seconds when spans or elements were gone through for each
    # note
    ("notes of one text: the first two numbers have too little before them, the last are too many", MAX_NOTES - 2,
     f"""<p>{"".join(f'words <a id=r{at} href="#q{at}">7</a> ' for at in range(4_000))}</p>
     {"".join(f'<p id=q{at}><a href="#r{at}">7</a> note' for at in range(4_000))}"""),
    ("nested elements that nothing calls notes, with more in each than a note has", 0,
     f"""{"".join(f'<p>Some words and more<a id=r{at} href="#q{at % 250}">7</a>' for at in range(500))}
     {"".join(f"<div id=q{at}>" for at in range(250))}{"<p>x</p>" * 16_000}"""),
    ("the same with names of notes", 0,
     f"""{"".join(f'<p>Some words and more<a id=r{at} href="#fn{at % 250}">7</a>' for at in range(500))}
     {"".join(f"<div id=fn{at}>" for at in range(250))}{"<p>x</p>" * 16_000}"""),
]  # fmt: skip


@pytest.mark.parametrize(("why", "count", "page"), MANY, ids=[why for why, *_ in MANY])
def test_pages_with_more_than_can_be_notes(why: str, count: int, page: str) -> None:
    """All segments are taken for content, whatever the page looks like to the model."""
    parsed = parse_page(page, url=URL)
    attach_notes(parsed.walk, list(range(len(parsed.walk.segments))), parsed.tree, URL)
    spans = [span for segment in parsed.walk.segments for span in segment.spans]
    assert len([span for span in spans if span[2] == "footnote"]) == count, why
