"""Pages of a Wikipedia: the beginning as plain text, names, links; redirects, choices, lists; hostile pages."""

from time import process_time

import pytest

from streams.knowledge.wikipedia.articles import to_article
from streams.knowledge.wikipedia.wikitext import clean, cut_sentences, read_lead, read_meanings
from streams.knowledge.wikipedia.xml_page import NotAPage, XmlPage, read_page


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("'''Rust''' is a [[Programming language|language]].", "Rust is a language."),
        ("A [[state (polity)|]] and [[b]].<ref>See {{cite|x}}.</ref>", "A and b."),
        ("[[File:A.jpg|thumb|A [[b]] picture]]Text.", "Text."),
        ("{{Infobox|name=x|{{y}}}}\nText.", "Text."),
        ("Achilles ({{IPA|x}}; {{langx|grc|Ἀχ}}, {{lang|la|Ac}}) was.", "Achilles (Ἀχ, Ac) was."),
        ("It is {{convert|5|km|mi}} long, {{nowrap|a b}}.", "It is 5 km long, a b."),
        ("She is {{convert|5|ft|6|in|cm}} tall.", "She is 5 ft 6 in tall."),
        ("She walks {{cvt|5|to|10|km|mi}} or {{convert|3|-|4|km}}.", "She walks 5 to 10 km or 3–4 km."),
        ("It is {{convert|5|km|mi|0}} long.", "It is 5 km long."),
        (
            "He met {{ill|Anna Karina|fr}} in {{circa|1450}}, or {{c.}} 1460.",
            "He met Anna Karina in c. 1450, or c. 1460.",
        ),
        ("It weighs {{val|5.4|u=kg}} of {{formatnum:12345}}.", "It weighs 5.4 kg of 12345."),
        (
            "Foo ({{birth date|1950|1|2}} – {{death date and age|2000|12|1950|1|2}})",
            "Foo (2 January 1950 – December 2000)",
        ),
        ("Foo (born {{birth date|df=y|1950|1|2}}, {{film date|1999}})", "Foo (born 2 January 1950, 1999)"),
        ("A ({{IPA|x}}) b.", "A b."),
        ("A<!-- hidden --> b&nbsp;c &amp; d.", "A b c & d."),
        ("{| class=x\n| cell\n|}\nText.", "Text."),
        ("Text.\n\n== History ==\nMore.", "Text."),
        ("<script>alert(1)</script>Text.", "alert(1)Text."),
        ("a &lt;b&gt; c", "a <b> c"),  # plain text: a page escapes it
    ],
)
def test_the_beginning_of_an_article_is_plain_text(wikitext: str, text: str) -> None:
    assert read_lead(wikitext).text == text


@pytest.mark.parametrize(
    ("wikitext", "text", "lost"),
    [
        ("Foo is a hill. It has a height of {{height|m=5}} and a hut.", "Foo is a hill.", {"height"}),
        ("{{nihongo|Foo|x}} is a hill. It has a hut.", "It has a hut.", {"nihongo"}),
        ("It costs £{{inflation|UK|5}} a year. It has a hut.", "It has a hut.", {"inflation"}),
        ("It has {{#expr: 5*3}} huts. It is a hill.", "It is a hill.", {"#expr"}),
        ("Its area is <math>a^2</math> here. It is a square.", "It is a square.", {"<math>"}),
        ("Foo (born {{odd date|1952}}) is a man.", "Foo is a man.", {"odd date"}),
        ("Foo ({{IPA|x}}; born 1952) is a man.", "Foo (born 1952) is a man.", set()),
        ("He met J. R. Bar in {{odd|x}}. He left.", "He left.", {"odd"}),
        ("A hill.{{sfn|Foo}} It is{{efn|Or was.}} high. {{cn}} It has a hut {{citation needed}}.", None, set()),
        ("{{Short description|A}} {{Use dmy dates}} {{Infobox hill}} '''Foo''' is a hill.", "Foo is a hill.", set()),
        ("{{Infobox hill}}\n{{about|x}}\nFoo is a hill.", "Foo is a hill.", set()),
        ("It is 5{{nbsp}}km long{{snd}}or more.", "It is 5 km long – or more.", set()),
        ("{{a}} b {{c}} d.\nA line without a hole.", "A line without a hole.", {"a", "c"}),
        ("A \ue0000\ue001 hill &#xe000;0&#xe001; is high.", "A 0 hill 0 is high.", set()),
    ],
)
def test_a_sentence_that_lost_a_word_is_left_out(wikitext: str, text: str | None, lost: set[str]) -> None:
    lead = read_lead(wikitext)
    assert lead.text == (text or "A hill. It is high. It has a hut.")
    assert lead.lost == lost


def test_names_links_and_the_short_description() -> None:
    lead = read_lead(
        "{{Short description|A town}}\n'''Foo''' or '''Föö''' is near [[bar#Top|Bar]] and [[:Category:X]] [[de:Y]]."
    )
    assert (lead.bold, lead.links, lead.description) == (["Foo", "Föö"], ["Bar"], "A town")


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One. Two.", "One. Two."),
        ("The first sentence. The second sentence is long and longer.", "The first sentence."),
        (
            "He met J. R. Tolkien in the town of Oxford. Then he left the town again.",
            "He met J. R. Tolkien in the town of Oxford.",
        ),
        (
            "One sentence without an end that goes on and on and on and on and on",
            "One sentence without an end that goes on and on…",
        ),
    ],
)
def test_a_summary_ends_behind_a_sentence(text: str, cut: str) -> None:
    assert cut_sentences(text, 50) == cut


def page(title: str, text: str = "", redirect: str = "", namespace: int = 0) -> XmlPage:
    return XmlPage(title=title, namespace=namespace, page_id=1, redirect=redirect, text=text)


LONG = "'''{0}''' is a thing that has a whole sentence of its own, with a [[neighbour]]."


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (page("Rust", LONG.format("Rust")), ("entity", "Rust", "")),
        (page("Rust (video game)", LONG.format("Rust")), ("entity", "Rust", "video game")),
        (page("Rust (disambiguation)", "* [[Rust]]\n* [[Rust (video game)]], a game"), ("choice", "Rust", "")),
        (
            page("Mercury", "'''Mercury''' may be:\n* [[Mercury (planet)]], a planet\n{{disambiguation}}"),
            ("choice", "Mercury", ""),
        ),
        (page("Nothing", "{{disambig}}"), None),
        (page("List of towns", LONG.format("List")), None),
        (page("Talk:Rust", LONG.format("Rust"), namespace=1), None),
        (page("Empty", "{{Infobox}}"), None),
        (
            page("Rustlang", redirect="Rust (programming language)"),
            ("enwiki:Rust (programming language)", "Rustlang", ""),
        ),
        (page("Shortcut", redirect="Wikipedia:Help"), None),
        (page("ATLA", redirect="Avatar: The Last Airbender"), ("enwiki:Avatar: The Last Airbender", "ATLA", "")),
        (page("Automata", redirect="Nier: Automata"), ("enwiki:Nier: Automata", "Automata", "")),
        (page("Index of physics articles", LONG.format("Index")), None),
        (page("Timeline of Earth", LONG.format("Timeline")), None),
        (page("Index of refraction", LONG.format("Index")), ("entity", "Index of refraction", "")),
        (page("Timeline of Earth (film)", LONG.format("Earth")), ("entity", "Timeline of Earth", "film")),
    ],
    ids=lambda value: value.title if isinstance(value, XmlPage) else "",
)
def test_what_a_page_becomes(given: XmlPage, becomes: tuple[str, str, str] | None) -> None:
    article = to_article(given, "enwiki", "en")
    if article and article.alias_of:
        assert (article.alias_of, article.alias, "") == becomes
    else:
        part = article.part if article else None
        assert (part and (part.kind, part.label, part.description)) == becomes


def test_a_choice_lists_the_base_topic_first() -> None:
    article = to_article(page("Rust (disambiguation)", "* [[Rust (video game)]], a game\n* no link\n"), "enwiki", "en")
    assert article
    assert article.part
    assert [(one.title, one.description) for one in article.part.options] == [
        ("Rust", ""),
        ("Rust (video game)", "Rust (video game), a game"),
    ]


def test_the_meanings_of_a_page_are_the_first_links_of_its_items() -> None:
    found = read_meanings("'''A'''\n* [[B]], not [[C]]\n** {{x|y}} [[d|D]] e\n*\n")
    assert [(one.title, one.words) for one in found] == [("B", "B, not C"), ("D", "D e")]


PAGE = (
    "<page><title>A &amp; B</title><ns>0</ns><id>3</id>{}<revision><id>9</id><text>old</text></revision>"
    "<revision><text>x &lt;b&gt;</text></revision></page>"
)


def test_a_page_of_an_export() -> None:
    found = read_page(PAGE.format('<redirect title="C#D" />').encode())
    assert (found.title, found.namespace, found.page_id, found.redirect, found.text) == ("A & B", 0, 3, "C", "x <b>")


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + PAGE.format("").encode(),
        PAGE.format("&a;").encode(),
        PAGE.format("").encode()[:-20],
        PAGE.format("<a>" * 40 + "</a>" * 40).encode(),
        b"",
    ],
    ids=["document type", "entity", "cut off", "nested", "empty"],
)
def test_what_is_no_page_is_refused(content: bytes) -> None:
    with pytest.raises(NotAPage):
        read_page(content)


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 30_000,
        "[[" * 30_000,
        "'''" * 20_000,
        "(" * 60_000,
        ", " * 30_000 + ")",
        "<b>" * 20_000,
        "{|\n|" * 9_000,
        "[[a|" * 15_000,
        "* [[a]]\n" * 15_000,
        "a {{x}} " * 8_000,
        "(a {{x}} " * 8_000,
        "(a {{x}}) b. " * 5_000,
    ],
)
def test_a_hostile_text_takes_linear_time(text: str) -> None:
    start = process_time()
    to_article(page("A", text), "enwiki", "en")
    to_article(page("A (disambiguation)", text), "enwiki", "en")
    clean(text)
    assert process_time() - start < 20, "the limit of a process is 20 s"
