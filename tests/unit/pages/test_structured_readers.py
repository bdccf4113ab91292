# ruff: noqa: E501 - pages as they come
"""Riffle's reader of structured data beside the library extruct: the same pages, in the same normal form.

Where Riffle differs on purpose, the case has the result of extruct, and the reason.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import extruct
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.pages.content.main_content import label
from streams.pages.metadata import facts
from streams.pages.metadata.items import kinds
from streams.pages.metadata.structured_data import Structured, read_structured_data
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed, parse_page
from tests.sizes import examples
from tests.unit.pages.extruct_oracle import read_with_extruct

URL = "https://site.example/news/page"
SCHEMA = "https://schema.org/"


Reader = Callable[[Parsed, Resolver], Structured]


def riffle(parsed: Parsed, resolver: Resolver) -> Structured:
    return read_structured_data(parsed.tree, parsed.head, resolver.absolute)


def facts_by(reader: Reader, page: str) -> dict[str, Any]:
    """The facts of a page whose structured data this reader reads."""
    parsed = parse_page(f"<!doctype html><title>T</title>{page}", {}, url=URL)
    resolver = Resolver(URL, parsed.head.base)
    kept = label(parsed).kept
    return facts.collect_facts(parsed.tree, parsed.head, parsed.walk, kept, resolver, reader(parsed, resolver)).facts


class Case(NamedTuple):
    """A page and its items; `by_extruct` and `because`, where extruct's items are others."""

    why: str
    page: str
    expected: list[Any]
    by_extruct: list[Any] | None = None
    because: str = ""


def json_ld(*scripts: str) -> str:
    return "".join(f'<script type="application/ld+json">{script}</script>' for script in scripts)


def scope(kind: str, inner: str, attributes: str = "", tag: str = "div") -> str:
    return f'<{tag} itemscope itemtype="{SCHEMA}{kind}" {attributes}>{inner}</{tag}>'


def node(kind: str, inner: str, attributes: str = "", tag: str = "div") -> str:
    return f'<{tag} typeof="{kind}" {attributes}>{inner}</{tag}>'


def vocabulary(inner: str) -> str:
    return f'<div vocab="{SCHEMA}">{inner}</div>'


ADA = {"type": "Person", "name": "Ada"}
OFFER = {"type": "Offer", "price": "9.50", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}
RATING = {"type": "AggregateRating", "ratingValue": "4.5", "reviewCount": "9"}
STEPS = [{"type": "HowToStep", "text": "Boil."}, {"type": "HowToStep", "text": "Serve."}]
ANSWERED = {"type": "Question", "name": "How high?", "acceptedAnswer": {"type": "Answer", "text": "8,849 m"}}
CRUMBS = [
    {"type": "ListItem", "position": "1", "name": "Home", "item": "https://site.example/"},
    {"type": "ListItem", "position": "2", "name": "News", "item": "https://site.example/news"},
]

JSON_LD = [
    Case(
        "an article of a graph, by reference",
        json_ld('{"@context": "https://schema.org", "@graph": ['
                '{"@type": "Article", "@id": "#a", "headline": "H", "author": {"@id": "#ada"}, "publisher": {"@id": "#o"}, "datePublished": "2024-03-01"},'
                '{"@type": "Person", "@id": "#ada", "name": "Ada"}, {"@type": "Organization", "@id": "#o", "name": "Org"}]}'),
        [{"type": "Article", "headline": "H", "author": ADA, "publisher": {"type": "Organization", "name": "Org"}, "datePublished": "2024-03-01"},
         ADA, {"type": "Organization", "name": "Org"}],
    ),
    Case(
        "references from one script to another",
        json_ld('{"@type": "Article", "headline": "H", "author": {"@id": "#ada"}}', '{"@type": "Person", "@id": "#ada", "name": "Ada"}'),
        [{"type": "Article", "headline": "H", "author": ADA}, ADA],
    ),
    Case(
        "a product with offers and ratings",
        json_ld('{"@type": "Product", "name": "Lamp", "offers": [{"@type": "Offer", "price": 9.5}, {"@type": "Offer", "price": "12"}], '
                '"aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 9}, "isNew": true}'),
        [{"type": "Product", "name": "Lamp", "offers": [{"type": "Offer", "price": 9.5}, {"type": "Offer", "price": "12"}],
          "aggregateRating": {"type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 9}, "isNew": True}],
    ),
    Case(
        "a recipe",
        json_ld('[{"@type": "Recipe", "name": "Soup", "recipeIngredient": ["water", "salt"], '
                '"recipeInstructions": [{"@type": "HowToStep", "text": "Boil."}, {"@type": "HowToStep", "text": "Serve."}]}]'),
        [{"type": "Recipe", "name": "Soup", "recipeIngredient": ["water", "salt"], "recipeInstructions": STEPS}],
    ),
    Case(
        "an event",
        json_ld('{"@type": "Event", "name": "Gig", "startDate": "2031-05-01T20:00", "location": {"@type": "Place", "name": "Hall"}}'),
        [{"type": "Event", "name": "Gig", "startDate": "2031-05-01T20:00", "location": {"type": "Place", "name": "Hall"}}],
    ),
    Case(
        "questions with answers",
        json_ld('{"@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "How high?", "acceptedAnswer": {"@type": "Answer", "text": "8,849&nbsp;m"}}]}'),
        [{"type": "FAQPage", "mainEntity": [ANSWERED]}],
    ),
    Case(
        "a question with its answers",
        json_ld('{"@type": "QAPage", "mainEntity": {"@type": "Question", "name": "How high?", "suggestedAnswer": [{"@type": "Answer", "text": "High."}]}}'),
        [{"type": "QAPage", "mainEntity": {"type": "Question", "name": "How high?", "suggestedAnswer": [{"type": "Answer", "text": "High."}]}}],
    ),
    Case(
        "an instruction",
        json_ld('{"@type": "HowTo", "name": "Tie", "step": [{"@type": "HowToStep", "text": "Boil."}, {"@type": "HowToStep", "text": "Serve."}]}'),
        [{"type": "HowTo", "name": "Tie", "step": STEPS}],
    ),
    Case(
        "a person and an organization, types by their whole names",
        json_ld('[{"@type": "http://schema.org/Person", "name": "Ada"}, {"@type": ["schema:Organization", "Brand"], "name": "Org"}]'),
        [ADA, {"type": "Organization", "types": ["Organization", "Brand"], "name": "Org"}],
    ),
    Case(
        "where the page stands",
        json_ld('{"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": "1", "name": "Home", "item": "https://site.example/"}, '
                '{"@type": "ListItem", "position": "2", "name": "News", "item": "https://site.example/news"}]}'),
        [{"type": "BreadcrumbList", "itemListElement": CRUMBS}],
    ),
    Case("a value and a list", json_ld('{"@type": "Thing", "name": {"@value": "N", "@language": "en"}, "a": {"@list": ["x", "y"]}}'),
         [{"type": "Thing", "name": "N", "a": ["x", "y"]}]),
    Case("broken scripts beside a good one", json_ld('{"@type": "Article" "headline"', "", "null", '{"@type": "Thing", "name": "N"}', '["x", 5]'),
         [{"type": "Thing", "name": "N"}]),
    Case("line breaks in a text", json_ld('{"@type": "Thing", "name": "N\n N"}'), [{"type": "Thing", "name": "N N"}]),
    Case("a comma too many", json_ld('{"@type": "Thing", "name": "N",}'), [{"type": "Thing", "name": "N"}]),
    Case("notes of a programmer", json_ld('// one\n{"@type": "Thing", /* two */ "url": "https://a.example/" // three\n}\n'),
         [{"type": "Thing", "url": "https://a.example/"}]),
    Case("a note of HTML", json_ld('<!-- made by hand -->\n{"@type": "Thing", "name": "N"}'), [{"type": "Thing", "name": "N"}]),
    Case("a comment around all", json_ld('<!-- {"@type": "Thing", "name": "N"} -->'), [{"type": "Thing", "name": "N"}], [], "extruct fails at it"),
    Case("a semicolon", json_ld('{"@type": "Thing", "name": "N"};'), [{"type": "Thing", "name": "N"}], [], "extruct fails at it"),
    Case("a type of script with a charset", '<script type="Application/LD+JSON; charset=utf-8">{"@type": "Thing", "name": "N"}</script>',
         [{"type": "Thing", "name": "N"}], [], "extruct knows the one spelling"),
    Case("actions", json_ld('{"@type": "WebSite", "name": "S", "potentialAction": {"@type": "SearchAction", "target": "https://a.example/?q={q}"}}'),
         [{"type": "WebSite", "name": "S"}]),
    Case("an article's own text", json_ld('{"@type": "Article", "headline": "H", "articleBody": "All of it."}'), [{"type": "Article", "headline": "H"}]),
    Case("no type", json_ld('{"name": "N"}'), []),
]  # fmt: skip

MICRODATA = [
    Case(
        "an article",
        scope("Article", f'<h1 itemprop=headline>H</h1>{scope("Person", "<span itemprop=name>Ada</span>", "itemprop=author")}'
                         "<time itemprop=datePublished datetime=2024-03-01>March</time><meta itemprop=wordCount content=5>"
                         "<img itemprop=image src=i.png><p itemprop=articleBody>All of it.</p>"),
        [{"type": "Article", "headline": "H", "author": ADA, "datePublished": "2024-03-01", "wordCount": "5", "image": "https://site.example/news/i.png"}],
    ),
    Case(
        "a product with offers and ratings",
        scope("Product", "<h1 itemprop=name>Lamp</h1>"
              + scope("Offer", "<span itemprop=price content=9.50>9 and a half</span><meta itemprop=priceCurrency content=EUR>"
                               "<link itemprop=availability href=https://schema.org/InStock>", "itemprop=offers")
              + scope("AggregateRating", "<data itemprop=ratingValue value=4.5>4½</data><span itemprop=reviewCount>9</span>", "itemprop=aggregateRating")),
        [{"type": "Product", "name": "Lamp", "offers": OFFER, "aggregateRating": RATING}],
    ),
    Case(
        "a recipe",
        scope("Recipe", "<h1 itemprop=name>Soup</h1><ul><li itemprop=recipeIngredient>water<li itemprop=recipeIngredient>salt</ul><ol>"
              + scope("HowToStep", "<p itemprop=text>Boil.</p>", "itemprop=recipeInstructions", "li")
              + scope("HowToStep", "<p itemprop=text>Serve.</p>", "itemprop=recipeInstructions", "li") + "</ol>"),
        [{"type": "Recipe", "name": "Soup", "recipeIngredient": ["water", "salt"], "recipeInstructions": STEPS}],
    ),
    Case(
        "an event, nested three deep",
        scope("Event", "<h1 itemprop=name>Gig</h1>" + scope("Place", "<b itemprop=name>Hall</b>"
              + scope("PostalAddress", "<span itemprop=addressLocality>Bern</span>", "itemprop=address"), "itemprop=location")),
        [{"type": "Event", "name": "Gig", "location": {"type": "Place", "name": "Hall", "address": {"type": "PostalAddress", "addressLocality": "Bern"}}}],
    ),
    Case(
        "questions with answers",
        scope("FAQPage", scope("Question", "<h2 itemprop=name>How high?</h2>" + scope("Answer", "<p itemprop=text>8,849 m</p>", "itemprop=acceptedAnswer"),
                               "itemprop=mainEntity")),
        [{"type": "FAQPage", "mainEntity": ANSWERED}],
    ),
    Case(
        "a question with its answer",
        scope("QAPage", scope("Question", "<h2 itemprop=name>How high?</h2>" + scope("Answer", "<p itemprop=text>8,849 m</p>", "itemprop=acceptedAnswer"),
                              "itemprop=mainEntity")),
        [{"type": "QAPage", "mainEntity": ANSWERED}],
    ),
    Case("an instruction", scope("HowTo", "<h1 itemprop=name>Tie</h1>" + scope("HowToStep", "<p itemprop=text>Boil.</p>", "itemprop=step")),
         [{"type": "HowTo", "name": "Tie", "step": STEPS[0]}]),
    Case("a person and an organization", scope("Person", "<b itemprop=name>Ada</b>") + scope("Organization", "<b itemprop=name>Org</b><a itemprop=url href=/o>us</a>"),
         [ADA, {"type": "Organization", "name": "Org", "url": "https://site.example/o"}]),
    Case(
        "where the page stands",
        scope("BreadcrumbList", "".join(
            scope("ListItem", f"<a itemprop=item href={href}><span itemprop=name>{name}</span></a><meta itemprop=position content={number}>", "itemprop=itemListElement", "li")
            for number, name, href in ((1, "Home", "/"), (2, "News", "/news"))), tag="ol"),
        [{"type": "BreadcrumbList", "itemListElement": CRUMBS}],
    ),
    Case(
        "a crumb whose name is nothing but its link's words",
        scope("BreadcrumbList", scope("ListItem", "<a itemprop=item href=/>Home</a>", "itemprop=itemListElement", "li"), tag="ol"),
        [{"type": "BreadcrumbList", "itemListElement": {"type": "ListItem", "item": "https://site.example/", "name": "Home"}}],
        [{"type": "BreadcrumbList", "itemListElement": {"type": "ListItem", "item": "https://site.example/"}}],
        "by the standard it has no name, and a path without names is none",
    ),
    Case("properties elsewhere", scope("Product", "<b itemprop=name>N</b>", "itemref='more gone'") + "<div id=more><p itemprop=sku>S</p></div>",
         [{"type": "Product", "name": "N", "sku": "S"}]),
    Case("an item elsewhere", scope("Product", "<b itemprop=name>N</b>", "itemref=o") + scope("Offer", "<b itemprop=price>5</b>", "itemprop=offers id=o"),
         [{"type": "Product", "name": "N", "offers": {"type": "Offer", "price": "5"}}]),
    Case("an identity", scope("Book", "<b itemprop=name>N</b>", "itemid=urn:isbn:0-330-34032-8"), [{"type": "Book", "name": "N"}]),
    Case("two types", f'<div itemscope itemtype="{SCHEMA}Book {SCHEMA}Product"><b itemprop=name>N</b></div>',
         [{"type": "Book", "types": ["Book", "Product"], "name": "N"}]),
    Case("two names", scope("Thing", "<b itemprop='name alternateName'>N</b>"), [{"type": "Thing", "name": "N", "alternateName": "N"}]),
    Case("names by their whole names", scope("Thing", "<b itemprop=https://schema.org/name>N</b>"), [{"type": "Thing", "name": "N"}]),
    Case("a typed item in one without a type", "<div itemscope>" + scope("Thing", "<b itemprop=name>N</b>", "itemprop=x") + "</div>", [{"type": "Thing", "name": "N"}]),
    Case("an item outside of the one whose property it is", scope("Thing", "<b itemprop=name>N</b>", "itemprop=x"), [{"type": "Thing", "name": "N"}]),
    Case("media", scope("Thing", "<video itemprop=video src=v.mp4></video><object itemprop=a data=o.swf></object><iframe itemprop=b src=/f></iframe>"),
         [{"type": "Thing", "video": "https://site.example/news/v.mp4", "a": "https://site.example/news/o.swf", "b": "https://site.example/f"}]),
    Case("a page with a base", "<base href=https://cdn.example/x/>" + scope("Thing", "<img itemprop=image src=i.png>"),
         [{"type": "Thing", "image": "https://cdn.example/x/i.png"}]),
    Case(
        "a link whose words are meant",
        scope("Article", "<a itemprop=author href=/ada>Ada</a>"),
        [{"type": "Article", "author": "Ada"}],
        [{"type": "Article", "author": "https://site.example/ada"}],
        "by the standard it is the address; an author who writes a name into the link means the name",
    ),
    Case(
        "a time without a machine's form",
        scope("Article", "<time itemprop=datePublished>2024-03-01</time>"),
        [{"type": "Article", "datePublished": "2024-03-01"}],
        [],
        "by the standard it is the text; extruct reads the attribute alone",
    ),
    Case(
        "content on an element that has a value of its own",
        scope("Article", "<time itemprop=datePublished content=2024-03-01>March</time>"),
        [{"type": "Article", "datePublished": "2024-03-01"}],
        [],
        "by the standard `content` is for meta alone; pages write it everywhere",
    ),
    Case(
        "paragraphs of one text",
        scope("Thing", "<div itemprop=description><p>One.</p><p>Two.</p></div>"),
        [{"type": "Thing", "description": "One.Two."}],
        [{"type": "Thing", "description": "One. Two."}],
        "ours takes the text as the standard does (textContent), extruct as a browser shows it",
    ),
    Case(
        "an item that is nothing but text",
        scope("Article", "<h1 itemprop=headline>H</h1><span itemprop=author itemscope>Ada</span>"),
        [{"type": "Article", "headline": "H"}],
        [{"type": "Article", "headline": "H", "author": "Ada"}],
        "by the standard it has no properties and is no text",
    ),
    Case("an item that says nothing", scope("Thing", "Text."), []),
    Case(
        "what stands in a menu",
        f'<nav>{scope("Organization", "<b itemprop=name>Org</b>")}</nav>{scope("Thing", "<b itemprop=name>N</b>")}<p>Text.',
        [{"type": "Thing", "name": "N"}],
        [{"type": "Organization", "name": "Org"}, {"type": "Thing", "name": "N"}],
        "ours reads the page without its menus and footers, as all else of it is read; extruct the page as it came",
    ),
]  # fmt: skip

RDFA = [
    Case(
        "an article",
        vocabulary(node("Article", f'<h1 property=headline>H</h1>{node("Person", "<b property=name>Ada</b>", "property=author")}'
                                   "<time property=datePublished content=2024-03-01>March</time><meta property=wordCount content=5>")),
        [{"type": "Article", "headline": "H", "author": ADA, "datePublished": "2024-03-01", "wordCount": "5"}],
    ),
    Case(
        "a time in a machine's form",
        vocabulary(node("Article", "<time property=datePublished datetime=2024-03-01>March</time>")),
        [{"type": "Article", "datePublished": "2024-03-01"}],
        [{"type": "Article", "datePublished": "March"}],
        "HTML+RDFa 1.1 says that it is the attribute; extruct reads RDFa as of any XML",
    ),
    Case(
        "a product with offers and ratings",
        vocabulary(node("Product", "<h1 property=name>Lamp</h1>"
                   + node("Offer", "<span property=price content=9.50>9 and a half</span><meta property=priceCurrency content=EUR>"
                                   "<link property=availability href=https://schema.org/InStock>", "property=offers")
                   + node("AggregateRating", "<b property=ratingValue>4.5</b><b property=reviewCount>9</b>", "property=aggregateRating"))),
        [{"type": "Product", "name": "Lamp", "offers": OFFER, "aggregateRating": RATING}],
    ),
    Case(
        "a recipe",
        vocabulary(node("Recipe", "<h1 property=name>Soup</h1><ul><li property=recipeIngredient>salt<li property=recipeIngredient>water</ul>"
                   + node("HowToStep", "<p property=text>Boil.</p>", "property=recipeInstructions")
                   + node("HowToStep", "<p property=text>Serve.</p>", "property=recipeInstructions"))),
        [{"type": "Recipe", "name": "Soup", "recipeIngredient": ["salt", "water"], "recipeInstructions": STEPS}],
    ),
    Case("an event", vocabulary(node("Event", "<h1 property=name>Gig</h1>" + node("Place", "<b property=name>Hall</b>", "property=location"))),
         [{"type": "Event", "name": "Gig", "location": {"type": "Place", "name": "Hall"}}]),
    Case(
        "questions with answers",
        vocabulary(node("FAQPage", node("Question", "<h2 property=name>How high?</h2>" + node("Answer", "<p property=text>8,849 m</p>", "property=acceptedAnswer"),
                                        "property=mainEntity"))),
        [{"type": "FAQPage", "mainEntity": ANSWERED}],
    ),
    Case(
        "a question with its answer",
        vocabulary(node("QAPage", node("Question", "<h2 property=name>How high?</h2>" + node("Answer", "<p property=text>8,849 m</p>", "property=acceptedAnswer"),
                                       "property=mainEntity"))),
        [{"type": "QAPage", "mainEntity": ANSWERED}],
    ),
    Case("an instruction", vocabulary(node("HowTo", "<h1 property=name>Tie</h1>" + node("HowToStep", "<p property=text>Boil.</p>", "property=step"))),
         [{"type": "HowTo", "name": "Tie", "step": STEPS[0]}]),
    Case("a person and an organization", vocabulary(node("Person", "<b property=name>Ada</b>") + node("Organization", "<b property=name>Org</b><a property=url href=/o>us</a>")),
         [ADA, {"type": "Organization", "name": "Org", "url": "https://site.example/o"}]),
    Case(
        "where the page stands",
        vocabulary(node("BreadcrumbList", "".join(
            node("ListItem", f"<a property=item href={href}><span property=name>{name}</span></a><meta property=position content={number}>", "property=itemListElement", "li")
            for number, name, href in ((1, "Home", "/"), (2, "News", "/news"))), tag="ol")),
        [{"type": "BreadcrumbList", "itemListElement": CRUMBS}],
    ),
    Case("a resource", vocabulary(node("Person", "<b property=name>Ada</b>", "resource=#ada")), [ADA]),
    Case("a prefix", f'<div prefix="s: {SCHEMA}"><div typeof="s:Person"><b property="s:name">Ada</b></div></div>', [ADA]),
    Case("a prefix that everybody knows", '<div typeof="schema:Person"><b property="schema:name">Ada</b></div>', [ADA]),
    Case("whole names", f'<div typeof="{SCHEMA}Person"><b property="{SCHEMA}name">Ada</b></div>', [ADA]),
    Case("names with a fragment", '<div typeof="http://v.example/v#Person"><b property="http://v.example/v#name">Ada</b></div>', [ADA]),
    Case("a vocabulary on the item itself", f'<div vocab="{SCHEMA}" typeof="Person"><b property=name>Ada</b></div>', [ADA]),
    Case("two types", vocabulary(node("Book Product", "<b property=name>N</b>")), [{"type": "Book", "types": ["Book", "Product"], "name": "N"}]),
    Case(
        "a reference to an item elsewhere",
        vocabulary(node("Article", "<h1 property=headline>H</h1><a property=author resource=#ada>Ada</a>") + node("Person", "<b property=name>Ada</b>", "resource=#ada")),
        [{"type": "Article", "headline": "H", "author": "Ada"}, ADA],
        [{"type": "Article", "headline": "H", "author": ADA}],
        "ours is RDFa Lite's tree without its references; the item is found all the same",
    ),
    Case(
        "an item by about and rel",
        vocabulary('<div about=#h typeof=Hotel><b property=name>N</b><div rel=address><p typeof=PostalAddress><b property=addressLocality>Bern</b></p></div></div>'),
        [{"type": "Hotel", "name": "N"}, {"type": "PostalAddress", "addressLocality": "Bern"}],
        [{"type": "Hotel", "name": "N", "address": {"type": "PostalAddress", "addressLocality": "Bern"}}],
        "`rel` is no part of RDFa Lite, which ours reads",
    ),
]  # fmt: skip


def unordered(value: Any) -> Any:
    """RDF has no order, neither of items nor of values."""
    if isinstance(value, dict):
        return {
            key: sorted(inner, key=str) if key == "types" else unordered(inner) for key, inner in sorted(value.items())
        }
    return sorted((unordered(inner) for inner in value), key=str) if isinstance(value, list) else value


@pytest.mark.parametrize("case", [*JSON_LD, *MICRODATA, *RDFA], ids=lambda case: case.why)
def test_riffle_finds_the_items(case: Case) -> None:
    assert facts_by(riffle, case.page).get("structured", []) == case.expected, case.why


@pytest.mark.parametrize("case", [*JSON_LD, *MICRODATA], ids=lambda case: case.why)
def test_extruct_finds_the_same(case: Case) -> None:
    expected = case.expected if case.by_extruct is None else case.by_extruct
    assert facts_by(read_with_extruct, case.page).get("structured", []) == expected, case.why


@pytest.mark.parametrize("case", RDFA, ids=lambda case: case.why)
def test_extruct_finds_the_same_in_rdfa(case: Case) -> None:
    expected = case.expected if case.by_extruct is None else case.by_extruct
    assert unordered(facts_by(read_with_extruct, case.page).get("structured", [])) == unordered(expected), case.why


@pytest.mark.parametrize("case", [*JSON_LD, *MICRODATA, *RDFA], ids=lambda case: case.why)
def test_a_difference_is_one_and_has_a_reason(case: Case) -> None:
    assert (case.by_extruct is None) == (case.because == "")
    assert case.by_extruct is None or unordered(case.by_extruct) != unordered(case.expected)


CARDS = """<head prefix="og: https://ogp.me/ns# article: https://ogp.me/ns/article#"><meta property=og:type content=article>
<meta property=og:title content="A &amp; B"><meta property=og:image content=https://a.example/i.png>
<meta property=article:published_time content=2024-03-01><meta property=article:tag content=one><meta property=article:tag content=two>
<meta name=twitter:card content=summary><meta name=twitter:title content=T><meta name=twitter:title content=U></head><p>Text."""


def test_cards_are_read_from_the_head_alone() -> None:
    own, theirs = facts_by(riffle, CARDS), facts_by(read_with_extruct, CARDS)
    assert own == theirs
    assert own["twitter"] == {"card": "summary", "title": "T"}
    (known,) = extruct.extract(f"<!doctype html><html>{CARDS}", base_url=URL, syntaxes=["opengraph"])["opengraph"]
    listed: dict[str, Any] = {}
    for name, value in known["properties"]:
        listed.setdefault(name.removeprefix("og:"), []).append(value)
    assert own["opengraph"] == {name: values[0] if len(values) == 1 else values for name, values in listed.items()}


NAMES = (
    "name",
    "headline",
    "offers",
    "location",
    "review",
    "mainEntity",
    "itemListElement",
    "step",
    "about",
    "image",
    "url",
)
TYPES = (
    "Article",
    "Product",
    "Offer",
    "Event",
    "Recipe",
    "Person",
    "Review",
    "FAQPage",
    "Question",
    "ListItem",
    "Thing",
)
TEXTS = st.text("abc äß東 \t&amp;'", max_size=8)


def types_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from kinds(value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from types_in(inner)


_THINGS = st.recursive(
    st.fixed_dictionaries({"@type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=2)},
                          optional={name: TEXTS | st.integers(-5, 5) | st.booleans() | st.none() for name in NAMES[:4]}),
    lambda inner: st.fixed_dictionaries({"@type": st.sampled_from(TYPES)},
                                        optional={name: inner | st.lists(inner | TEXTS, max_size=3) for name in NAMES}
                                        | {"@id": st.sampled_from(("#a", "#b")), "@graph": st.lists(inner, max_size=3)}),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_THINGS | st.just({"@type": "Thing", "about": {"@id": "#a"}}), max_size=3))
def test_json_ld_is_the_same_to_both(things: list[Any]) -> None:
    page = json_ld(*(orjson.dumps(thing).decode() for thing in things))
    assert facts_by(riffle, page) == facts_by(read_with_extruct, page)


def marked(attribute: str) -> st.SearchStrategy[str]:
    """Elements with a property, of all kinds whose values both read in the same way. (Addresses are ASCII: ours writes
    the others with percents, as browsers do.)"""
    texts = st.text("abc äß東'", min_size=1, max_size=8)
    written = (
        "<span {0}={1}>{2}</span>", "<b {0}={1}> {2} </b>", '<meta {0}={1} content="x{2}">', "<img {0}={1} src=/{3}.png>", "<link {0}={1} href=/{3}>",
    )  # fmt: skip
    return st.builds(
        lambda form, name, text, number: form.format(attribute, name, text, number),
        st.sampled_from(written), st.sampled_from(NAMES), texts, st.integers(0, 3),
    )  # fmt: skip


def annotated(item: str, attribute: str, leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Items in items, some of them properties of what is around them, some not."""

    def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        made = st.builds(
            lambda kind, name, parts: f"<div {item.format(kind)}{f' {attribute}={name}' if name else ''}>{''.join(parts)}</div>",
            st.sampled_from(TYPES), st.none() | st.sampled_from(NAMES), st.lists(inner, max_size=4),
        )  # fmt: skip
        return made | st.lists(inner, max_size=3).map(lambda parts: f"<section>{''.join(parts)}</section>")

    return st.recursive(leaves, around, max_leaves=12)


_MICRODATA = annotated("itemscope itemtype=https://schema.org/{}", "itemprop", marked("itemprop"))
_RDFA = annotated("typeof={}", "property", marked("property"))
_REFERRING = st.builds(
    lambda page, refs: page.replace("<div itemscope", f"<div itemref='{refs}' itemscope", 1) + "<p id=one itemprop=sku>S</p>"
    "<div id=two><b itemprop=gtin>G</b><i itemscope itemtype=https://schema.org/Brand itemprop=brand><b itemprop=name>N</b></i></div>",
    _MICRODATA, st.sampled_from(("one", "two", "one two", "two one", "gone one", "two two")),
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(_MICRODATA | _REFERRING)
def test_microdata_is_the_same_to_both(page: str) -> None:
    assert facts_by(riffle, page).get("structured") == facts_by(read_with_extruct, page).get("structured")


@settings(max_examples=examples(75), deadline=None)
@given(_RDFA.map(vocabulary))
def test_types_that_extruct_finds_in_rdfa_are_found(page: str) -> None:
    assert set(types_in(facts_by(read_with_extruct, page).get("structured"))) <= set(
        types_in(facts_by(riffle, page).get("structured"))
    )


REFERENCES = [
    "https://evil.example/context.jsonld",
    "http://127.0.0.1:1/context",
    "file:///etc/passwd",
    "/etc/passwd",
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_no_reference_of_structured_data_is_opened(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts, vocabularies, DTDs and entities name addresses and files. None of them is read."""
    page = (
        f'<!DOCTYPE html SYSTEM "{reference}" [<!ENTITY x SYSTEM "{reference}">]><title>T</title>'
        f'<link rel=schema href="{reference}">'
        + json_ld(f'{{"@context": "{reference}", "@type": "Article", "headline": "&x;"}}')
        + f'<div vocab="{reference}" prefix="e: {reference}" typeof=Article><b property=headline>&x;</b></div>'
        + f'<div itemscope itemtype="{reference}"><b itemprop=name>&x;</b></div>'
    )
    facts_by(riffle, page)  # what reads files once, such as tables of the language, has read them
    opened: list[Any] = []

    def note(*arguments: Any, **_: Any) -> None:
        opened.append(arguments)
        raise OSError("nothing may be opened")

    for name in ("socket.socket.connect", "socket.getaddrinfo", "builtins.open", "os.open"):
        monkeypatch.setattr(name, note)
    facts_by(riffle, page)
    monkeypatch.undo()
    assert opened == []
