# ruff: noqa: E501 - pages as they come
"""Structured data: what is kept of it, and that nothing in it can stop a page."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.pages.document.codec import decode_document, encode_document
from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from tests.sizes import examples

URL = "https://site.example/news/page"


def facts_of(*items: Any, body: str = "") -> dict[str, Any]:
    scripts = "".join(f'<script type="application/ld+json">{orjson.dumps(item).decode()}</script>' for item in items)
    return normalize(f"<title>T</title>{scripts}{body or '<p>Text.'}", url=URL).document.facts


def structured(*items: Any, body: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = facts_of(*items, body=body).get("structured", [])
    return found


@pytest.mark.parametrize(
    ("why", "item", "expected"),
    [
        ("no type", {"@type": None, "name": "x"}, []),
        ("an empty type", {"@type": "", "name": "x"}, []),
        ("no types", {"@type": [], "name": "x"}, []),
        ("a type that is no name", {"type": {"a": "b"}, "name": "x"}, []),
        ("types that are no names", {"@type": [1, None, {"a": 1}, "Thing"], "name": "x"}, [{"type": "Thing", "name": "x"}]),
        ("a value with a type is no item", {"@type": "Thing", "@value": "x"}, []),
        ("nor is a list", {"@type": "Thing", "@list": ["x"]}, []),
        ("an identity that is none", {"@type": "Article", "author": {"@id": {"a": 1}}}, [{"type": "Article"}]),
        ("nor this", {"@type": "Article", "@id": ["a"], "author": {"@id": [1]}}, [{"type": "Article"}]),
        ("its own part", {"@id": "#a", "@type": "Thing", "x": {"@id": "#a"}}, [{"type": "Thing"}]),
        ("a property named as ours", {"@type": "Thing", "type": "x", "types": 5}, [{"type": "Thing"}]),
    ],
)  # fmt: skip
def test_odd_items(why: str, item: Any, expected: list[Any]) -> None:
    assert structured(item) == expected, why


_KEYS = (
    "@type", "type", "types", "@id", "@graph", "@value", "@list", "@set", "name", "author", "mainEntity", "text", "itemListElement",
    "breadcrumb", "review", "comment", "image", "url", "license", "datePublished", "startDate", "position", "item", "headline",
    "publisher", "acceptedAnswer", "isPartOf", "description",
)  # fmt: skip
_NAMES = (
    "Article",
    "Product",
    "Review",
    "FAQPage",
    "Question",
    "Answer",
    "WebPage",
    "BreadcrumbList",
    "ImageObject",
    "Event",
    "#a",
    "",
)
_LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(_NAMES) | st.text(max_size=8)
)  # fmt: skip
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=examples(300), deadline=None)
@given(_JSON)
def test_no_json_stops_a_page_and_every_item_has_a_type(value: Any) -> None:
    script = orjson.dumps(value).decode().replace("<", "\\u003c")
    page = f'<title>T</title><script type="application/ld+json">{script}</script><p>By Ada on March 1, 2024<p>Text.'
    document = normalize(page, url=URL).document
    for item in document.facts.get("structured", []):
        assert isinstance(item, dict)
        assert isinstance(item["type"], str)
        assert item["type"]
    assert decode_document(encode_document(document)) == document
    assert normalize(to_html(document), url=URL).document == document


@pytest.mark.parametrize(
    ("why", "item"),
    [
        ("lists in lists", "[" * 900 + '{"@type":"Thing"}' + "]" * 900),
        ("names in names", '{"@type":"Review","author":' + '{"name":' * 900 + '"x"' + "}" * 901),
        ("authors in lists", '{"@type":"T","review":[' + '{"@type":"Review","author":' + "[" * 900 + "]" * 900 + "}]}"),
    ],
)  # fmt: skip
def test_depth_stops_nothing(why: str, item: str) -> None:
    page = f'<script type="application/ld+json">{item}</script><p>Text.'
    assert normalize(page, url=URL).document.text == "Text.", why


def test_references_cannot_make_much_of_little() -> None:
    items = [{"@type": "T", "@id": str(one), "a": [{"@id": str(two)} for two in range(50)]} for one in range(50)]
    assert len(str(structured(items))) < 1_000_000


QUESTION = {
    "@type": "Question",
    "name": "How high?",
    "acceptedAnswer": {"@type": "Answer", "text": "8,849 metres."},
}
KEPT_QUESTION = {"type": "Question", "name": "How high?", "acceptedAnswer": {"type": "Answer", "text": "8,849 metres."}}


@pytest.mark.parametrize(
    ("why", "item", "page_type", "expected"),
    [
        (
            "an article without its body",
            {"@type": "NewsArticle", "headline": "H", "author": {"@type": "Person", "name": "Ada"}, "datePublished": "2024-03-01",
             "articleBody": "all of it", "text": "all of it", "isPartOf": {"@type": "PublicationIssue", "issueNumber": 5}},
            "NewsArticle",
            {"type": "NewsArticle", "headline": "H", "author": {"type": "Person", "name": "Ada"}, "datePublished": "2024-03-01",
             "isPartOf": {"type": "PublicationIssue", "issueNumber": 5}},
        ),
        (
            "a product with its offer and reviews",
            {"@type": "Product", "name": "Lamp", "sku": "L1", "brand": {"@type": "Brand", "name": "Lux"},
             "offers": {"@type": "Offer", "price": 9.5, "priceCurrency": "EUR", "availability": "https://schema.org/InStock"},
             "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 9},
             "review": [{"@type": "Review", "reviewBody": f"Good {number}"} for number in range(9)]},
            "Product",
            {"type": "Product", "name": "Lamp", "sku": "L1", "brand": {"type": "Brand", "name": "Lux"},
             "offers": {"type": "Offer", "price": 9.5, "priceCurrency": "EUR", "availability": "https://schema.org/InStock"},
             "aggregateRating": {"type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 9},
             "review": [{"type": "Review", "reviewBody": f"Good {number}"} for number in range(5)]},
        ),
        (
            "a recipe with its steps",
            {"@type": "Recipe", "name": "Soup", "recipeIngredient": ["water", "salt"], "totalTime": "PT10M", "recipeYield": "2",
             "recipeInstructions": [{"@type": "HowToSection", "name": "All", "itemListElement": [
                 {"@type": "HowToStep", "itemListElement": [{"@type": "HowToDirection", "text": ["Boil."]}]}]},
                 {"@type": "HowToStep", "text": "Serve."}]},
            "Recipe",
            {"type": "Recipe", "name": "Soup", "recipeIngredient": ["water", "salt"], "totalTime": "PT10M", "recipeYield": "2",
             "recipeInstructions": [{"type": "HowToSection", "name": "All", "itemListElement": [
                 {"type": "HowToStep", "itemListElement": [{"type": "HowToDirection", "text": ["Boil."]}]}]},
                 {"type": "HowToStep", "text": "Serve."}]},
        ),
        (
            "an event with its place",
            {"@type": "MusicEvent", "name": "Gig", "startDate": "2031-05-01T20:00", "location": {"@type": "Place", "name": "Hall",
             "address": {"@type": "PostalAddress", "addressLocality": "Bern"}}, "performer": {"@type": "Person", "name": "Ada"}},
            "MusicEvent",
            {"type": "MusicEvent", "name": "Gig", "startDate": "2031-05-01T20:00", "location": {"type": "Place", "name": "Hall",
             "address": {"type": "PostalAddress", "addressLocality": "Bern"}}, "performer": {"type": "Person", "name": "Ada"}},
        ),
        ("questions with answers", {"@type": "FAQPage", "mainEntity": [QUESTION]}, "FAQPage",
         {"type": "FAQPage", "mainEntity": [KEPT_QUESTION]}),
        (
            "a page that is two things",
            {"@type": ["WebPage", "FAQPage"], "mainEntity": QUESTION},
            "FAQPage",
            {"type": "WebPage", "types": ["WebPage", "FAQPage"], "mainEntity": KEPT_QUESTION},
        ),
        (
            "a question with its answers",
            {"@type": "QAPage", "mainEntity": {**QUESTION, "text": "In metres.", "author": {"@type": "Person", "name": "Ada"},
             "suggestedAnswer": [{"@type": "Answer", "text": "High.", "upvoteCount": 2}]}},
            "QAPage",
            {"type": "QAPage", "mainEntity": {**KEPT_QUESTION, "text": "In metres.", "author": {"type": "Person", "name": "Ada"},
             "suggestedAnswer": [{"type": "Answer", "text": "High.", "upvoteCount": 2}]}},
        ),
        ("an instruction", {"@type": "HowTo", "name": "Tie", "step": [{"@type": "HowToStep", "name": "1", "text": "Pull."}]}, "HowTo",
         {"type": "HowTo", "name": "Tie", "step": [{"type": "HowToStep", "name": "1", "text": "Pull."}]}),
        ("a person", {"@type": "Person", "name": "Ada", "jobTitle": "Author", "sameAs": ["https://a.example/"]}, "Person",
         {"type": "Person", "name": "Ada", "jobTitle": "Author", "sameAs": ["https://a.example/"]}),
        ("an organization", {"@type": "Organization", "name": "Org", "logo": "https://o.example/l.png", "url": "https://o.example/",
          "contactPoint": {"@type": "ContactPoint", "telephone": "+1"}}, "Organization",
         {"type": "Organization", "name": "Org", "logo": "https://o.example/l.png", "url": "https://o.example/",
          "contactPoint": {"type": "ContactPoint", "telephone": "+1"}}),
    ],
)  # fmt: skip
def test_what_is_kept_of_each_type(why: str, item: Any, page_type: str, expected: Any) -> None:
    facts = facts_of({"@context": "https://schema.org", **item})
    assert facts["structured"] == [expected], why
    assert facts["type"] == page_type, why


def test_questions_that_are_referred_to_stand_once_in_their_page() -> None:
    graph = {"@graph": [{"@type": "FAQPage", "mainEntity": [{"@id": "#q"}]}, {"@id": "#q", **QUESTION}]}
    assert structured(graph) == [{"type": "FAQPage", "mainEntity": [KEPT_QUESTION]}]


def test_what_a_page_is_part_of_is_not_repeated_in_it() -> None:
    site = {"@id": "#site", "@type": "WebSite", "name": "S"}
    page = {"@id": "#page", "@type": "WebPage", "name": "P", "isPartOf": {"@id": "#site"}, "mainEntity": {"@id": "#a"}}
    article = {"@id": "#a", "@type": "Article", "headline": "H", "isPartOf": {"@id": "#page"}}
    facts = facts_of({"@graph": [site, page, article]})
    assert facts["structured"] == [
        {"type": "WebSite", "name": "S"},
        {"type": "WebPage", "name": "P"},
        {"type": "Article", "headline": "H"},
    ]
    assert facts["type"] == "Article"


@pytest.mark.parametrize(
    ("why", "items", "expected"),
    [
        ("what is sold, not what one says of it", [{"@type": "Review"}, {"@type": "Product", "name": "x"}], "Product"),
        ("a review and nothing else", [{"@type": "WebSite"}, {"@type": "Review", "author": "Ada"}], "Review"),
        ("two reviews of nothing", [{"@type": "WebPage"}, {"@type": "Review"}, {"@type": "Review"}], "WebPage"),
        ("the article in the page", [{"@type": "WebPage", "mainEntity": {"@type": "Article", "headline": "x"}}], "Article"),
        ("the article that answers questions, too", [{"@type": "FAQPage", "mainEntity": []}, {"@type": "Article"}], "Article"),
        ("a page that is what it sells", [{"@type": ["WebPage", "Product"]}, {"@type": "Organization"}], "Product"),
        ("what stands on any page comes last", [{"@type": "Organization"}, {"@type": "Movie", "name": "x"}], "Movie"),
    ],
)  # fmt: skip
def test_the_type_of_a_page(why: str, items: list[Any], expected: str) -> None:
    assert facts_of(*items).get("type") == expected, why


ITEM = "<div itemscope itemtype=https://schema.org/"


@pytest.mark.parametrize(
    ("why", "body", "expected"),
    [
        ("a link's address", f"{ITEM}Thing><a itemprop=url href=/anvil>see it</a></div>",
         {"type": "Thing", "url": "https://site.example/anvil"}),
        ("a link's words, where words are meant", f"{ITEM}Article><a itemprop=author href=/ada>Ada</a></div>",
         {"type": "Article", "author": "Ada"}),
        ("an address without words", f"{ITEM}Thing><a itemprop=name href=/x></a></div>",
         {"type": "Thing", "name": "https://site.example/x"}),
        ("each by its own name", f"{ITEM}Thing><a itemprop='name url' href=/x>X</a></div>",
         {"type": "Thing", "name": "X", "url": "https://site.example/x"}),
        ("an image's source", f"{ITEM}Thing><img itemprop=image src=i.png></div>",
         {"type": "Thing", "image": "https://site.example/news/i.png"}),
        ("a link element", f"{ITEM}Offer><link itemprop=availability href=https://schema.org/InStock></div>",
         {"type": "Offer", "availability": "https://schema.org/InStock"}),
        ("a time, a number", f"{ITEM}Thing><time itemprop=a datetime=2024-03-01>March</time><data itemprop=b value=5>five</data></div>",
         {"type": "Thing", "a": "2024-03-01", "b": "5"}),
        ("content", f"{ITEM}Offer><span itemprop=price content=9.50>9 and a half</span></div>", {"type": "Offer", "price": "9.50"}),
        ("the text of an answer", f"{ITEM}Question><div itemprop=acceptedAnswer itemscope itemtype=https://schema.org/Answer>"
         "<p itemprop=text>Yes.</p></div></div>", {"type": "Question", "acceptedAnswer": {"type": "Answer", "text": "Yes."}}),
        ("not the body of an article", f"{ITEM}Article><h1 itemprop=headline>H</h1><p itemprop=articleBody>B</p></div>",
         {"type": "Article", "headline": "H"}),
        ("two types", "<div itemscope itemtype='https://schema.org/A https://schema.org/B'><p itemprop=name>N</div>",
         {"type": "A", "types": ["A", "B"], "name": "N"}),
        ("properties elsewhere", f"{ITEM}Product itemref=more><p itemprop=name>N</p></div><div id=more><p itemprop=sku>S</p></div>",
         {"type": "Product", "name": "N", "sku": "S"}),
        ("an element elsewhere", f"{ITEM}Product itemref='x more'><p itemprop=name>N</p></div><p id=more itemprop=sku>S",
         {"type": "Product", "name": "N", "sku": "S"}),
        ("RDFa", "<div vocab=https://schema.org/ typeof=Thing><a property=url href=/x>X</a><a property=name href=/x>X</a></div>",
         {"type": "Thing", "url": "https://site.example/x", "name": "X"}),
    ],
)  # fmt: skip
def test_values_of_microdata(why: str, body: str, expected: Any) -> None:
    assert structured(body=body) == [expected], why


def test_items_that_refer_to_each_other() -> None:
    body = f"{ITEM}A itemref=b><p itemprop=name>A</div><div id=b>{ITEM[:-1]} itemprop=x itemtype=B itemref=c></div></div><div id=c>"
    assert structured(body=body + f"{ITEM[:5]} itemprop=y itemscope itemtype=C itemref=b></div></div>") is not None


def test_properties_in_properties_are_read_up_to_a_limit() -> None:
    inner = "".join(f"<div itemprop=p{number}>" for number in range(50))
    (item,) = structured(body=f"{ITEM}Thing>{inner}" + "x" * 200_000)
    assert 10 < len(item) < 20
