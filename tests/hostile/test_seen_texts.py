"""Texts of rendered pages: real Chromium's computed style decides which of them a reader sees."""

import json
import shutil

import pytest

from streams.pages.normalize import normalize
from streams.pages.parse.hiding import doubts
from streams.pages.parse.robots_directives import IS_STYLED
from streams.render import seen_text
from streams.render.chromium import PROGRAMS, find_chromium
from streams.render.page import render
from tests.hostile.rendered_pages import LIMITS, URL, Loader

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not any(map(shutil.which, PROGRAMS)), reason="needs Debian's package chromium"),
]
SPAM = "Buy cheap pills number {} of the harbour here, without a doctor, for each of your friends today."
WORDS = "The harbour of the town has a wall of stone, and the ferry passes it each morning. " * 6
UNSEEN = {
    "not displayed": "display:none", "by a variable": "--d:none;display:var(--d)", "invisible": "visibility:hidden",
    "nearly transparent": "opacity:.05", "filtered": "filter:opacity(.01)", "content": "content-visibility:hidden",
    "small letters": "font-size:1px", "scaled": "transform:scale(0)", "scale property": "scale:.01", "zoom": "zoom:.01",
    "on edge": "transform:rotateX(90deg)", "back": "backface-visibility:hidden;transform:rotateY(180deg)",
    "left": "position:absolute;left:-9999px", "top": "position:fixed;top:-200vh", "moved": "translate:-9999px",
    "indented": "text-indent:-9999px", "no height": "height:0;overflow:hidden", "no width": "width:0;overflow:clip",
    "clipped": "position:absolute;clip:rect(0 0 0 0)", "clip path": "clip-path:circle(0)", "masked":
    "mask-image:linear-gradient(transparent,transparent)", "white": "color:white", "pale": "color:oklch(.99 0 0)",
    "mixed": "color:color-mix(in srgb,white 95%,black)", "no fill": "-webkit-text-fill-color:transparent",
    "behind": "position:relative;z-index:-1",
}  # fmt: skip
SEEN = {
    "plain": "", "moved a little": "transform:translate(4px,2px)", "box": "height:80px;overflow:hidden", "scrolls":
    "height:60px;overflow:auto", "dark": "color:#fff;background:#123", "picture":
    "color:#fff;background-image:linear-gradient(#111,#333)", "shadow": "color:#fff;text-shadow:0 0 2px #000",
    "half": "opacity:.6", "small print": "font-size:9px", "placed": "position:absolute;left:40px;top:9000px",
    "animated": "animation:none;transition:opacity 1s",
}  # fmt: skip
OUTSIDE = """<style id=late></style><script>
  document.querySelector('#late').textContent = '.outside{display:none}';
  document.querySelectorAll('[data-riffle-doubt]').forEach(each => { each.dataset.riffleDoubt = 'shown' });
  Element.prototype.checkVisibility = () => true; window.getComputedStyle = () => ({opacity: '1'});
</script>"""


def test_the_marks_are_the_ones_that_the_parser_reads() -> None:
    assert (seen_text.MARK, seen_text.OWN, seen_text.STAMP) == (doubts.MARK, doubts.OWN, doubts.STAMP)


OPENED_UNSEEN = [
    '<details style="display:none"><summary>More</summary><p>{}</p></details>',
    '<details><summary>More</summary><p style="display:none">{}</p></details>',
    '<details><summary>More</summary><p style="visibility:hidden">{}</p></details>',
    '<details><summary>More</summary><p style="position:absolute;left:-9999px">{}</p></details>',
    '<details><summary>More</summary><p style="color:white">{}</p></details>',
    '<details style="height:0;overflow:hidden"><summary>More</summary><p>{}</p></details>',
    '<details><summary style="display:none">More</summary><p>{}</p></details>',
    '<div hidden="until-found"><p style="opacity:0">{}</p></div>',
    '<div hidden="until-found" style="display:none"><p>{}</p></div>',
]
OPENED_SEEN = [
    "<details><p>{}</p></details>",
    "<details><summary>More</summary><details><summary>All</summary><p>{}</p></details></details>",
    '<p hidden="until-found">{}</p>',
    '<details><summary>More</summary><div hidden="until-found"><p>{}</p></div></details>',
]


async def rendered(html: str) -> str:
    return (await render(find_chromium(), URL, html.encode(), "text/html", Loader().load, LIMITS)).html


async def sure_blocks(html: str) -> set[str]:
    """Return the blocks of the page that are not doubtful, as a browser renders it."""
    document = normalize(await rendered(html), url=URL, headers={IS_STYLED: "1"}).document
    blocks = [block.text for block in document.blocks]
    return {text for index, text in enumerate(blocks) if index not in document.doubtful()}


async def test_what_a_reader_opens_is_hidden_by_all_else() -> None:
    parts = [*OPENED_UNSEEN, *OPENED_SEEN]
    texts = [SPAM.format(number) for number in range(len(parts))]
    shown = "".join(f"<p>{number} {WORDS}</p>" for number in range(9))
    forms = "".join(f"<div>{part.format(text)}</div>" for part, text in zip(parts, texts, strict=True))
    sure = await sure_blocks(f"<title>Harbour</title><main><h1>Harbour</h1>{shown}{forms}{shown}</main>")
    assert [part for part, text in zip(parts, texts, strict=True) if (text in sure) != (part in OPENED_SEEN)] == []


async def test_texts_behind_those_that_are_judged_are_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_text, "MAX_TEXTS", 30)
    html = await rendered(f"{'<p>a</p>' * 29}<p>First<br>second</p><p>Last</p>")
    assert "<p>First" in html
    assert '<p><riffle-text data-riffle-doubt="own">Last' in html


async def test_the_computed_style_decides() -> None:
    forms = [
        *((name, style, False) for name, style in UNSEEN.items()),
        *((n, style, True) for n, style in SEEN.items()),
    ]
    texts = [SPAM.format(number) for number in range(len(forms) + 3)]
    parts = [f'<p style="{style}">{text}</p>' for (_, style, _), text in zip(forms, texts, strict=False)]
    parts += [
        f'<p class=outside data-riffle-doubt="shown">{texts[-3]}</p>',
        f"<details><summary>More</summary><p>{texts[-2]}</p></details>",
        f'<div style="display:none" id=open><p>{texts[-1]}</p></div>',
        "<script>document.querySelector('#open').style.display = 'block'</script>",
    ]
    forms += [
        ("a rule that a script makes", "", False),
        ("what a reader opens", "", True),
        ("a script shows it", "", True),
    ]
    shown = "".join(f"<p>{number} {WORDS}</p>" for number in range(9))
    behind = "".join(f"<p>{number} {WORDS}</p>" for number in range(9, 18))
    html = f"<title>Harbour</title><main><h1>Harbour</h1>{shown}{''.join(parts)}{behind}</main>{OUTSIDE}"
    sure = await sure_blocks(html)
    wrong = [name for (name, _, is_seen), text in zip(forms, texts, strict=True) if (text in sure) != is_seen]
    assert wrong == []
    assert all(f"{number} {WORDS}".strip() in sure for number in range(9))


def made(code: str) -> str:
    """Return a place, and a script that builds something in it."""
    place = "[...document.querySelectorAll('.place')].pop()"
    return f"<div class=place></div><script>{{ const place = {place}; {code} }}</script>"


FADED = "style.opacity = 0"
OBSERVED = "static observedAttributes = ['data-riffle-doubt', 'data-riffle-judged', 'style']"
# Ways of a page to undo the marks of its unseen texts, to make some, or to have its document read as another tree:
# custom elements and observers (DOM 4.9, HTML 4.13), names that take the place of properties (HTML 4.10.3), trees that
# no parser makes, texts without escapes (HTML 13.3), shadow trees (DOM 4.8). `SPAM` is the unseen text.
FORGERS = {
    "an element that is asked about each mark": f"""<script>customElements.define('x-undo', class extends HTMLElement {{
        {OBSERVED}; attributeChangedCallback() {{ undo() }} }})</script><x-undo style="opacity:0">SPAM</x-undo>""",
    "an observer of all attributes": """<script>function undo() { for (const each of document.querySelectorAll('*'))
        each.removeAttribute('data-riffle-doubt') }; new MutationObserver(undo).observe(document, {attributes: true,
        subtree: true, childList: true})</script><p style="opacity:0">SPAM</p>""",
    "an element of a registry of its own": made(f"""let registry; try {{ registry = new CustomElementRegistry();
        registry.define('x-own', class extends HTMLElement {{ {OBSERVED}; attributeChangedCallback() {{ undo() }}
        constructor() {{ super(); undo() }} }}) }} catch (e) {{}}; const own = document.createElement('x-own');
        if (registry) registry.initialize?.(own); own.{FADED}; own.append('SPAM'); place.append(own)"""),
    "functions of the page": """<script>Element.prototype.checkVisibility = () => true; Text.prototype.toString =
        String.prototype.replace = () => ''; Node.prototype.appendChild = undo; Set.prototype.has = () => false
        </script><p style="opacity:0">SPAM</p>""",
    "a mark of the page's own": '<p style="opacity:0" data-riffle-doubt="shown">SPAM</p>',
    "a wrapper of the page's own": '<riffle-text data-riffle-doubt="shown" style="opacity:0">SPAM</riffle-text>',
    "a field as the element above": '<div style="opacity:0"><form id=a>SPAM</form></div><input form=a name=parentNode>',
    "fields as other properties": """<form style="opacity:0">SPAM<input name=checkVisibility><input name=localName>
        <input name=nodeType><input name=attributes><input name=setAttribute><input name=textContent></form>""",
    "names on the document": """<p style="opacity:0">SPAM</p><img name=documentElement><form name=createTreeWalker>
        </form>""",
    "a block in a paragraph": made(f"""const outer = document.createElement('p'); outer.{FADED};
        outer.append(document.createElement('div'), 'SPAM'); place.append(outer)"""),
    "a text in a table": made(f"const outer = document.createElement('table'); outer.{FADED}; outer.append('SPAM');"
        "place.append(outer)"),
    "a cell without a table": made(f"const cell = document.createElement('td'); cell.{FADED}; cell.append('SPAM');"
        "place.append(cell)"),
    "a form in a form": made(f"""const one = document.createElement('form'), two = document.createElement('form');
        two.{FADED}; two.append('SPAM'); one.append(two); place.append(one)"""),
    "an item in an item": made(f"""const one = document.createElement('li'); one.{FADED};
        one.append(document.createElement('li'), 'SPAM'); place.append(one)"""),
    "a body in the body": made(f"const two = document.createElement('body'); two.{FADED}; two.append('SPAM');"
        "place.append(two)"),
    "a block in a formula": made(f"""const space = 'http://www.w3.org/1998/Math/MathML',
        math = document.createElementNS(space, 'math'), table = document.createElementNS(space, 'table');
        table.{FADED}; table.append('SPAM'); math.append(table); place.append(math)"""),
    "an end of a style sheet": made("""const sheet = document.createElement('style');
        sheet.textContent = '</style><p>SPAM</p>'; place.append(sheet)"""),
    "an end of a script": made("""const data = document.createElement('script'); data.type = 'application/json';
        data.textContent = '<' + '/SCRIPT ><p>SPAM</p>'; place.append(data)"""),
    "an end of a comment": made("place.append(document.createComment('--><p>SPAM</p>'))"),
    "the end of a comment by its beginning": made("place.append(document.createComment('><p>SPAM</p>'))"),
    "an end of a frame": made("""const frame = document.createElement('iframe');
        frame.textContent = '</iframe><p>SPAM</p>'; place.append(frame)"""),
    "an end of an attribute": made("""place.setAttribute('title', '"><p>SPAM</p>')"""),
    "a script that swallows an attribute": made("""const data = document.createElement('script');
        data.type = 'x'; data.textContent = '<' + '!--<' + 'script>'; const box = document.createElement('b');
        const end = '<' + '/script>'; box.title = end + '-->' + end + '<p>SPAM</p>'; place.append(data, box)"""),
    "text for browsers without scripts": "<noscript><p>SPAM</p></noscript>",
    "a table for browsers without scripts": made("""const none = document.createElement('noscript'),
        table = document.createElement('table'); none.textContent = '<tr><td>SPAM</td></tr>';
        table.append(none); place.append(table)"""),
    "a template": "<template><p>SPAM</p></template>",
    "an open shadow tree": made("""place.append('SPAM');
        place.attachShadow({mode: 'open'}).innerHTML = '<b style="opacity:.01"><slot></slot></b>'"""),
    "a closed shadow tree": made("""place.append('SPAM');
        place.attachShadow({mode: 'closed'}).innerHTML = '<b style="opacity:.01"><slot></slot></b>'"""),
    "a style of the slot": made("""place.append('SPAM');
        place.attachShadow({mode: 'open'}).innerHTML = '<slot style="font-size:1px"></slot>'"""),
    "a shadow tree without a slot": made("place.append('SPAM'); place.attachShadow({mode: 'closed'})"),
    "a declared shadow tree": '<div><template shadowrootmode=closed><b style="opacity:.01"><slot></slot></b></template>'
        "<p>SPAM</p></div>",
    "a closed shadow tree in an open one": made("""place.append('SPAM');
        place.attachShadow({mode: 'open'}).innerHTML = '<p><slot></slot></p>';
        place.shadowRoot.firstChild.attachShadow({mode: 'closed'}).innerHTML =
            '<b style="opacity:.01"><slot></slot></b>'"""),
    "an end of a style sheet in two texts": made("""const sheet = document.createElement('style');
        sheet.append('</sty', 'le><p>SPAM</p>'); place.append(sheet)"""),
    "an end of a script in two texts": made("""const data = document.createElement('script'); data.type = 'x';
        data.append('<' + '/scr', 'ipt><p>SPAM</p>'); place.append(data)"""),
    "the end of JSON": made("""const data = document.createElement('script'); data.type = 'application/ld+json';
        data.textContent = '"<' + '/script><p>SPAM</p>"'; place.append(data)"""),
    **{f"a {name} in its own kind": made(f"""const outer = document.createElement('{name}');
        outer.append(document.createElement('{name}'), 'SPAM'); outer.{FADED}; place.append(outer)""")
        for name in ("style", "script", "textarea", "title", "template", "noscript", "xmp", "iframe", "select")},
    "a paragraph in a style sheet": made("""const sheet = document.createElement('style'), p =
        document.createElement('p'); p.append('SPAM'); sheet.append(p); place.append(sheet)"""),
    "a script that swallows a style sheet": made("""const data = document.createElement('script'); data.type = 'x';
        data.textContent = '<' + '!--<' + 'script>'; const sheet = document.createElement('style');
        sheet.textContent = '<' + '/script><p>SPAM</p>'; place.append(data, sheet)"""),
    "a paragraph in the head": "<script>{ const p = document.createElement('p'); p.append('SPAM');"
        "document.head.append(p) }</script>",
    "a text in the root": f"""<script>{{ const box = document.createElement('div'); box.{FADED}; box.append('SPAM');
        document.documentElement.append(box) }}</script>""",
    "a second body": f"""<script>{{ const box = document.createElement('body'); box.{FADED}; box.append('SPAM');
        document.documentElement.append(box) }}</script>""",
    **{f"a name that begins with {name[0]}": made(f"""const box = document.createElement('{name}');
        box.title = '{char}SPAM{char}'; box.setAttribute('title', '<p>SPAM</p>'); place.append(box)""")
        for name, char in (("_x", ""), (":x", ""), ("éx", ""))},
    "names of attributes": made("""const box = document.createElement('b'), source = document.createElement('div');
        source.innerHTML = '<b "<p=1 \'=2 <p=3 ==4 ÄDATA-RIFFLE-DOUBT=shown></b>'; box.textContent = '';
        for (const name of ['x>SPAM', 'x/>SPAM', '"', "'", 'x y', 'a"b', 'DATA-RIFFLE-DOUBT', 'DATA-RIFFLE-JUDGED'])
            try { box.setAttributeNS(null, name, 'shown') } catch (e) {}
        for (const each of [...source.firstChild.attributes]) box.setAttributeNode(each.cloneNode());
        box.style.opacity = 0; box.append('SPAM'); place.append(box, source)"""),
    **{f"a {name} of no HTML in {kind}": made(f"""const box = document.createElementNS('{space}', '{name}');
        box.append(document.createElementNS('{space}', 'b'), 'SPAM', '<p>SPAM</p>');
        const outer = document.createElement('div'); outer.{FADED}; outer.append(box); place.append(outer)""")
        for kind, space in (("a drawing", "http://www.w3.org/2000/svg"), ("nothing", "x:y"),
                            ("a formula", "http://www.w3.org/1998/Math/MathML"))
        for name in ("xmp", "XMP", "plaintext", "style", "script", "title", "textarea", "noscript", "iframe",
                     "template", "listing", "p", "image", "select")},
    "elements that leave a drawing": made(f"""const space = 'http://www.w3.org/2000/svg', svg =
        document.createElementNS(space, 'svg'), sheet = document.createElementNS(space, 'style'), p =
        document.createElement('p'); sheet.textContent = '<p>SPAM</p>'; p.append('SPAM'); p.{FADED};
        svg.append(p, sheet, 'SPAM'); place.append(svg)"""),
    "paragraphs of a listing": '<pre style="opacity:0">SPAM\n\nSPAM SPAM</pre>',
    "elements that leave a formula": made(f"""const space = 'http://www.w3.org/1998/Math/MathML', p =
        document.createElement('p'), math = document.createElementNS(space, 'math'), box =
        document.createElementNS(space, 'mi'); box.append(document.createElement('p'), 'SPAM'); p.append(box);
        math.append(p); math.{FADED}; const outer = document.createElement('div'); outer.{FADED}; outer.append(math);
        place.append(outer)"""),
    "a style sheet in a formula": made("""const space = 'http://www.w3.org/1998/Math/MathML', math =
        document.createElementNS(space, 'math'), sheet = document.createElement('style');
        sheet.textContent = '<' + '/math><p>SPAM</p>'; math.append(sheet); place.append(math)"""),
}  # fmt: skip
GROWN = f"""<title>Harbour</title><main>{"".join(f"<p>{number} {WORDS}</p>" for number in range(9))}</main><script>
let state = 7; const any = most => (state = state * 48271 % 2147483647) % most, of = list => list[any(list.length)];
const html = 'http://www.w3.org/1999/xhtml', spaces = [html, html, html, html, 'http://www.w3.org/2000/svg',
    'http://www.w3.org/1998/Math/MathML', 'x:y', null];
const names = `a b p p div span table tr td caption col select option title style script textarea xmp plaintext svg math
    mi mtext mglyph annotation annotation-xml foreignObject desc form button li dd h1 pre body html head frameset image
    input br template noscript iframe noframes noembed object nobr font ruby rt details summary base listing x-y _x
    keygen marquee hr option optgroup tbody colgroup center`.split(/\\s+/);
const spam = () => of(['', '<' + '!--', '<' + '/script>', '<' + '/style>', '<' + '/title>', '<svg>', '<' + '![CDATA['])
    + 'Buy cheap pills of the harbour here, without a doctor, for each of your friends today. '
    + of(['', ']]' + '>', '--' + '>', '<' + '/math>', '<' + '/p>', '<p>pills', '<script>']);
const grow = (above, depth) => {{ for (let count = 1 + any(4); count--;) {{
    if (any(3) == 0) above.append(spam());
    else if (any(12) == 0) above.append(document.createComment('>' + spam()));
    else {{ const each = document.createElementNS(of(spaces), of(names));
        for (const name of ['title', 'encoding', 'type', 'DATA-RIFFLE-DOUBT'])
            if (any(4) == 0) each.setAttributeNS(null, name, of(['shown', 'text/html', '"><p>pills', 'x-json']));
        above.append(each); if (depth) grow(each, depth - 1) }} }} }};
for (let number = 0; number < 150; number++) {{
    const box = document.createElement('div'); box.style.opacity = 0; grow(box, 5); document.body.append(box) }}
</script>"""
# What a reader sees, in the same places.
HONEST = {
    "a custom element": "<script>customElements.define('x-plain', class extends HTMLElement {})</script>"
        "<x-plain><p>SPAM</p></x-plain>",
    "an open shadow tree with a slot": made("""const text = document.createElement('p'); text.append('SPAM');
        place.append(text); place.attachShadow({mode: 'open'}).innerHTML = '<section><slot></slot></section>'"""),
    "an element without a box": '<div style="display:contents">SPAM</div>',
    "a text with marks of HTML": "<p>SPAM a &lt; b &amp;&amp; c &gt; d</p>",
    "an old element for code": "<xmp>SPAM <b></xmp>",
}  # fmt: skip


async def test_a_page_can_neither_undo_nor_forge_the_marks_of_its_texts() -> None:
    parts = [*FORGERS.items(), *HONEST.items()]
    texts = [SPAM.format(number) for number in range(len(parts))]
    forms = "".join(f"<div>{part.replace('SPAM', text)}</div>" for (_, part), text in zip(parts, texts, strict=True))
    shown = "".join(f"<p>{number} {WORDS}</p>" for number in range(9))
    sure = await sure_blocks(f"<title>Harbour</title><main><h1>Harbour</h1>{shown}{forms}{shown}</main>")
    seen = {name for (name, _), text in zip(parts, texts, strict=True) if any(text in block for block in sure)}
    assert seen == set(HONEST)


async def test_what_scripts_say_as_json_keeps_its_signs() -> None:
    html = await rendered("""<p>Text</p><script>const data = document.createElement('script');
        data.type = 'application/ld+json'; data.text = JSON.stringify({headline: 'a <b>wall<' + '/b> <!-- < of stone'});
        document.body.append(data)</script>""")
    json_text = html.partition('<script type="application/ld+json">')[2].partition("</script>")[0]
    assert json.loads(json_text) == {"headline": "a <b>wall</b> <!-- < of stone"}


async def test_trees_that_no_parser_makes_show_no_unseen_text() -> None:
    """Random trees of elements whose names change how a parser reads on, all unseen."""
    assert [block for block in await sure_blocks(GROWN) if "pills" in block] == []
