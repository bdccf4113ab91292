"""The languages of the pages: each catalogue is whole, and fits the templates, the code and CLDR.

Who adds words to a page writes `{% trans %}...{% endtrans %}` or `_("...")` in a template, or `message("...")` in the
code, runs `make schemas`, and translates what the catalogues in streams/gateway/messages have without a translation.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.checkers import checkers
from babel.messages.pofile import read_po
from jinja2 import Environment, nodes

from docs.generate.messages import CATALOGUES, TEMPLATES, messages
from streams.gateway.http.languages import Wording, languages, negotiate
from streams.plain_text import counted_message, message

WHAT_TO_DO = "run `make schemas`, and translate what has no translation in streams/gateway/messages"
TAGS = [path.stem for path in sorted(CATALOGUES.glob("*.po"))]
FOR_OPERATORS = ("admin", "_admin", "labs", "_folded")
"""Templates of operators' pages, which are in English."""
NAMES = re.compile(r"riffle|API|JSON|PDF|Word|PowerPoint|Excel|nofollow|UTC", re.IGNORECASE)
"""Names, which are the same in all languages."""


def catalogue(tag: str) -> Catalog:
    with (CATALOGUES / f"{tag}.po").open("rb") as source:
        return read_po(source, locale=tag.replace("-", "_"))


def pieces(pattern: str, text: object) -> set[str]:
    return set(re.findall(pattern, str(text)))


def faults_of(entry: Message) -> list[str]:
    """Return the faults of one translation: a form that is missing, another value, element or code than in English."""
    english = entry.id if isinstance(entry.id, tuple) else (entry.id,)
    forms = entry.string if isinstance(entry.string, tuple) else (entry.string,)
    if not all(forms):
        return ["it has no translation"]
    faults = []
    for form in forms:
        for name, pattern in (("values", r"%\(\w+\)s|%%"), ("elements", r"<[^>]+>"), ("code", "`[^`]*`")):
            if pieces(pattern, form) != pieces(pattern, english[-1]):
                faults.append(f"its {name} differ: {form!r}")
        if '"' in re.sub(r"<[^>]+>", "", str(form)):
            faults.append(f"a straight quotation mark would end an attribute: {form!r}")
    return faults


@pytest.mark.parametrize("tag", TAGS)
def test_a_catalogue_is_whole_and_each_translation_fits(tag: str) -> None:
    found = catalogue(tag)
    assert {entry.id for entry in found if entry.id} == messages(), WHAT_TO_DO
    faults = []
    for entry in found:
        if entry.id:
            faults += [f"{entry.id!r}: {fault}" for fault in faults_of(entry)]
            for check in checkers:
                check(found, entry)  # raises for a wrong number of plural forms, and for values that differ
    assert not faults, f"{WHAT_TO_DO}:\n" + "\n".join(faults)


class _Words(HTMLParser):
    """Reads the visible words of a template that stand outside of its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_hidden = tag in ("style", "script")
        self.found += [
            value for name, value in attrs if value and name in ("title", "aria-label", "placeholder", "alt")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._is_hidden = False

    def handle_data(self, data: str) -> None:
        if not self._is_hidden:
            self.found.append(data)


def shown(node: nodes.Node) -> str:
    """Return what a node of a template writes, with a space for each value and message."""
    match node:
        case nodes.TemplateData(data=text):
            return str(text)
        case nodes.Const(value=str() as text):
            return text
        case nodes.CondExpr(expr1=one, expr2=other):
            return shown(one) + (shown(other) if other else "")
        case nodes.Concat(nodes=parts) | nodes.Output(nodes=parts):
            return "".join(map(shown, parts))
        case nodes.Include():
            return ""
        case nodes.Expr():
            return " "
    return "".join(map(shown, node.iter_child_nodes()))


def templates_for_people() -> list[Path]:
    return [path for path in sorted(TEMPLATES.glob("*.html")) if not path.name.startswith(FOR_OPERATORS)]


@pytest.mark.parametrize("path", templates_for_people(), ids=lambda path: path.stem)
def test_no_word_of_a_template_stands_outside_of_its_messages(path: Path) -> None:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    words = _Words()
    words.feed(shown(environment.parse(path.read_text(encoding="utf-8"))))
    found = [" ".join(text.split()) for text in words.found]
    example = re.compile(r"\S*[a-z]\.(?:org|html)\S*|RIFFLE_\w+")  # hosts and settings
    outside = [text for text in found if re.search("[A-Za-z]{2}", NAMES.sub("", example.sub("", text)))]
    assert not outside, "write it as a message: {% trans %}...{% endtrans %}"


def test_a_template_gives_only_constants_to_gettext() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    for path in templates_for_people():
        for call in environment.parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("_", "gettext", "ngettext"):
                assert isinstance(call.args[0], nodes.Const), f"{path.name}: no catalogue can have it"


ACCEPTED = [
    ("de", "de"),
    ("de-CH, en;q=0.5", "de"),
    ("en-US,en;q=0.9,de;q=0.8", "en"),
    ("tlh, de;q=0.3", "de"),  # there are no pages in the first language
    ("de;q=0, en;q=0.1", "en"),  # not wanted
    ("en;q=0.5, de;q=0.7", "de"),
    ("zh-TW, zh;q=0.9, en;q=0.8", "zh-Hans"),  # one form of writing is nearer than another language
    ("*", "en"),
    ("", "en"),
    ("de;q=nonsense", "en"),
    (";,;;q=,-", "en"),
    ("x" * 10_000 + ", de", "en"),  # only the start of a long header is read
]


@pytest.mark.parametrize(("accepted", "tag"), ACCEPTED)
def test_a_reader_gets_the_language_that_the_browser_wants(accepted: str, tag: str) -> None:
    assert negotiate(accepted) == tag


def test_a_message_keeps_its_values_for_other_languages() -> None:
    known, german = message("%(site)s is now hidden.", site="a.example"), Wording.of("de")
    assert known == "a.example is now hidden."
    assert german.say(known) == "a.example wird jetzt nie gezeigt."
    assert german.say(message("The answer may be incomplete. %(reason)s", reason=message("just now"))).endswith(
        "gerade eben"
    )
    assert german.say("words of a stranger, %s and %(x)s") == "words of a stranger, %s and %(x)s"


def test_numbers_choose_the_form_of_a_message() -> None:
    assert [counted_message("%(num)s page", "%(num)s pages", number) for number in (1, 1_200)] == [
        "1 page",
        "1,200 pages",
    ]
    one, many = "%(count)s page", "%(count)s pages"
    assert [Wording.of("de").ngettext(one, many, number, count=number) for number in (1, 1_200)] == [
        "1 Seite", "1.200 Seiten",
    ]  # fmt: skip


FORMS = [
    ("en", "1 February 2024", "February 2024", "3 hours ago", "1,234", "93%", "Chinese (Traditional)"),
    ("de", "1. Februar 2024", "Februar 2024", "vor 3 Stunden", "1.234", "93\xa0%", "Chinesisch (Traditionell)"),
    ("fr", "1 février 2024", "février 2024", "il y a 3 heures", "1\u202f234", "93\xa0%", "chinois (traditionnel)"),
    ("es", "1 de febrero de 2024", "febrero de 2024", "hace 3 horas", "1.234", "93\xa0%", "chino (tradicional)"),
    ("zh-Hans", "2024年2月1日", "2024年2月", "3小时前", "1,234", "93%", "中文 (繁体)"),
    ("ja", "2024年2月1日", "2024年2月", "3 時間前", "1,234", "93%", "中国語 (繁体字)"),
    (
        "ru",
        "1 февраля 2024\u202fг.",
        "февраль 2024\u202fг.",
        "3 часа назад",
        "1\xa0234",
        "93\xa0%",
        "китайский (традиционная)",
    ),
]


@pytest.mark.parametrize(("tag", "day", "month", "age", "number", "share", "language"), FORMS)
def test_dates_and_numbers_have_the_forms_of_the_language(
    tag: str, day: str, month: str, age: str, number: str, share: str, language: str
) -> None:
    words = Wording.of(tag)
    assert [words.date("2024-02-01"), words.date("2024-02"), words.date("2024")][:2] == [day, month]
    assert (words.age(10_900), words.number(1_234), words.percent(0.93)) == (age, number, share)
    assert words.language_name("zh-Hant") == language


def test_every_catalogue_is_a_language_of_the_pages() -> None:
    assert set(languages().values()) == {"en", *TAGS}
    assert {Wording.of(tag).direction for tag in languages().values()} == {"ltr"}
    assert len(set(languages())) == len(TAGS) + 1, "two catalogues have one first subtag"
