"""The sources of a panel: each leads to its own page."""

import pytest

from streams.knowledge.entity import Fact, Part, Value
from streams.knowledge.lookup.panel import may_quote, to_panel
from streams.knowledge.merging import ORDER, merge_parts

WIKIDATA = "https://www.wikidata.org/wiki/Q42"
WIKIPEDIA = "https://en.wikipedia.org/wiki/Douglas_Adams"
OWN = "https://acme.example/adams"
OPERATOR = "The operator of this search engine"
PARTS = {
    "wikipedia": Part(label="Adams", summary="An author.", url=WIKIPEDIA, licence="CC BY-SA 4.0"),
    "wikidata": Part(label="Adams", url=WIKIDATA, licence="CC0 1.0"),
    "own": Part(label="Adams", summary="Our text.", url=OWN, licence="All rights reserved"),
    "own, no address": Part(label="Adams", description="ours"),
}


@pytest.mark.parametrize(
    ("names", "links", "licence"),
    [
        (["wikidata"], {"Wikidata": WIKIDATA}, ""),
        (["wikidata", "wikipedia"], {"Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA}, "CC BY-SA 4.0"),
        (
            ["own", "wikidata", "wikipedia"],
            {OPERATOR: OWN, "Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA},
            "All rights reserved",
        ),
        (
            ["own, no address", "wikidata", "wikipedia"],  # the summary is Wikipedia's
            {OPERATOR: "", "Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA},
            "CC BY-SA 4.0",
        ),
    ],
)
def test_each_source_leads_to_its_own_page(names: list[str], links: dict[str, str], licence: str) -> None:
    panel = to_panel(merge_parts("Q42", {name.split(",")[0]: PARTS[name] for name in names}), {})
    assert {source.name: source.url for source in panel.sources} == links
    assert panel.summary_licence == licence


@pytest.mark.parametrize("source", [*ORDER, "pages"])
def test_facts_and_a_website_are_the_operators_or_wikidatas(source: str) -> None:
    """A page can't put a telephone number beside the name of a bank."""
    fact = Fact(label="Telephone", values=(Value(text="+1 900 555 0199"),))
    part = Part(label="First Example Bank", website="https://first-example-bank.pages.dev/", facts=(fact,))
    panel = to_panel(merge_parts("Q1", {source: part}), {})
    is_believed = source in ("own", "wikidata")
    assert (bool(panel.facts), bool(panel.website)) == (is_believed, is_believed)


BANK = "https://www.firstexamplebank.example/"
# A statement, the page that has it -> whether a panel of the bank quotes it.
MENTIONS = [
    ("First Example Bank is a bank since 1890.", "https://news.example/", True, "a statement"),
    ("First Example Bank was founded on 1890-01-12.", "https://news.example/", True, "a date"),
    ("First Example (1815–1852) was a banker.", "https://news.example/", True, "years of a life"),
    ("First Example (1815 - 1852) was a banker.", "https://news.example/", True, "years with a hyphen"),
    ("First Example (1815–1852) – a banker.", "https://news.example/", True, "years before a dash"),
    ("First Example, banker. (1815\u2009–\u20091852.)", "https://news.example/", True, "years with thin spaces"),
    ("First Example, 1815-12-10–1852-11-27", "https://news.example/", True, "a range of dates"),
    ("First Example Bank lost the 1999/2000 season.", "https://news.example/", True, "years of a season"),
    ("First Example Bank: 0900 1815–1852", "https://evil.example/", False, "years beside further digits"),
    ("First Example Bank: +1815-1852", "https://evil.example/", False, "a number with the mark of a country"),
    ("First Example Bank: 1900 1950", "https://evil.example/", False, "two groups without a dash"),
    ("First Example Bank: 1950-1900", "https://evil.example/", False, "no later year"),
    ("First Example Bank: 1900-5550", "https://evil.example/", False, "a group that is no year"),
    ("First Example Bank: 1900-55-50", "https://evil.example/", False, "groups that are no date"),
    ("Call First Example Bank: +1 900 555 0199.", "https://evil.example/", False, "a telephone number"),
    ("First Example Bank (0900) 555-0199", "https://first-example-bank.pages.dev/", False, "on a platform"),
    ("First Example Bank ٠٩٠٠٥٥٥٠١٩٩", "https://evil.example/", False, "digits of another script"),
    ("Pay First Example Bank: DE02 1203 0000 0000 2020 51", "https://evil.example/", False, "an account"),
    ("Write to First Example Bank: help@evil.example", "https://evil.example/", False, "an address of mail"),
    ("First Example Bank: www.evil.example", "https://evil.example/", False, "an address of the web"),
    (
        "First Example Bank: log in at evil-bank.com/login",
        "https://evil.example/",
        False,
        "a name with a public suffix",
    ),
    ("First Example Bank: Evil-Bank.COM.", "https://evil.example/", False, "the same in capitals"),
    ("First Example Bank: банк.рф", "https://evil.example/", False, "a name in another script"),
    ("First Example Bank: evil-bank。com", "https://evil.example/", False, "another full stop, as browsers read it"),
    ("First Example Bank: help＠ｅｖｉｌ．example", "https://evil.example/", False, "wide letters and marks"),
    ("First Example Bank: 请登录evil-bank.com查询", "https://evil.example/", False, "a name within other letters"),
    (
        "First Example Bank, e.g. in the U.S., uses Node.js 3.11.",
        "https://news.example/",
        True,
        "words with full stops",
    ),
    ("FirstExampleBank.example is a bank.", "https://news.example/", True, "its own address"),
    ("Call First Example Bank: +1 900 555 0100.", f"{BANK}contact", True, "its own website"),
    ("Call First Example Bank: +1 900 555 0100.", "https://help.firstexamplebank.example/", True, "a name below it"),
    ("Call First Example Bank: +1 900 555 0199.", "https://evilfirstexamplebank.example/", False, "a longer name"),
    ("First Example Bank has 120 branches and 4,500 people.", "https://news.example/", True, "numbers"),
]


@pytest.mark.parametrize(("text", "url", "is_quoted", "why"), MENTIONS, ids=[row[-1] for row in MENTIONS])
def test_what_a_panel_quotes(text: str, url: str, is_quoted: bool, why: str) -> None:
    assert may_quote(text, url, BANK) is is_quoted, why
    if is_quoted and "+" in text:
        assert not may_quote(text, url, ""), "an entity without a website"


VIEW = "https://sites.google.com/view/bank"
# The website of an entity, a page with a telephone number -> whether it is of the website.
WEBSITES = [
    (VIEW, VIEW, True, "the page itself"),
    (f"{VIEW}/", VIEW, True, "a website that ends in a slash"),
    (VIEW, f"{VIEW}/contact", True, "a page below it"),
    (VIEW, "https://www.sites.google.com/view/bank/contact", True, "the same name with www"),
    (VIEW, "https://sites.google.com/view/evil", False, "another path of the host"),
    (VIEW, "https://sites.google.com/view/bank2", False, "a longer segment"),
    (VIEW, "https://sites.google.com/", False, "the page above it"),
    (VIEW, "https://evil.sites.google.com/view/bank", False, "a name below the host"),
    (VIEW, "https://sites.google.com:8443/view/bank", True, "another port: who has one has all"),
    ("https://service.example/?site=bank", "https://service.example/?site=bank", True, "a query"),
    ("https://service.example/?site=bank", "https://service.example/?site=evil", False, "another query"),
    ("https://service.example/#/bank", "https://service.example/", False, "a fragment: no page says whose it is"),
    ("http://www.firstexamplebank.example", f"{BANK}contact", True, "http, and no path"),
    ("https:///", f"{BANK}contact", False, "no address"),
]


@pytest.mark.parametrize(("website", "url", "is_own", "why"), WEBSITES, ids=[row[-1] for row in WEBSITES])
def test_what_is_of_a_website(website: str, url: str, is_own: bool, why: str) -> None:
    assert may_quote("Call First Example Bank: +1 900 555 0100.", url, website) is is_own, why
