"""Pages and files that other extractors were reported to read wrongly: all that each of them must give.

The classes of these situations, with their other members, are tested where they are read (`tests/unit/pages`,
`tests/unit/statements`). Here a whole page goes through both stages, to the statements that are searched.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from streams.errors import Refused
from streams.pages.normalize import Normalized
from streams.pages.sandbox.normalizing import read_document
from streams.statements.drafting import Draft, draft_statements
from tests.sentence_splitter import SPLITTER

FOLDER = Path(__file__).parents[1] / "data" / "reported_pages"
PAGES = {page["file"]: page for page in map(json.loads, (FOLDER / "pages.jsonl").read_text().splitlines())}
SITE = "https://site.example"


@dataclass(frozen=True)
class Read:
    """A page as it is read, with its statements."""

    normalized: Normalized

    @cached_property
    def drafts(self) -> list[Draft]:
        return draft_statements(self.normalized.document, SPLITTER)[0]

    @property
    def title(self) -> str:
        return self.normalized.document.title

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self.normalized.document.facts)

    @property
    def links(self) -> list[str]:
        return [link.url for link in self.normalized.document.links]

    @property
    def images(self) -> list[str]:
        return [
            span.target for block in self.normalized.document.blocks for span in block.spans if span.kind == "image"
        ]

    @property
    def code(self) -> list[str]:
        return [draft.text for draft in self.drafts if draft.kind == "code"]

    def says(self, *texts: str) -> bool:
        """Return whether each text stands in a statement, or in what a statement stands below."""
        shown = [" ".join("\n".join((*draft.context, draft.text)).split()) for draft in self.drafts]
        return all(any(text in one for one in shown) for text in texts)

    def says_one_of(self, *texts: str) -> bool:
        return any(map(self.says, texts))

    def has_lines(self, *lines: str) -> bool:
        """Return whether no two of the lines run together: each is a statement, or a line of one."""
        return set(lines) <= {line.strip() for draft in self.drafts for line in draft.text.split("\n")}

    def below(self, text: str, *headings: str) -> bool:
        """Return whether a statement with this text is read below these headings."""
        return any(text in draft.text and set(headings) <= set(draft.context) for draft in self.drafts)

    def together(self, *texts: str) -> bool:
        """Return whether one statement with its context has all of the texts."""
        return any(all(text in "\n".join((*one.context, one.text)) for text in texts) for one in self.drafts)


Check = Callable[[Read], bool]
PROSE = ("dug in 1874", "tide turns", "arrive by train", "wrote down the weather", "former rope factory")
CHMOD, COPY = "Changes the permissions of a file", "Copies the table of a port"
OPTIONS = ("--port NAME: the port whose tables are used.", "--zone ZONE: the zone of the printed times.")
EXPECTED: dict[str, dict[str, Check]] = {
    "api_methods.html": {
        "both texts of chmod": lambda page: sum(CHMOD in draft.text for draft in page.drafts) == 2,
        "the headings of the second part": lambda page: page.says("tide.copyTide(src, dest, callback)"),
        "each below its own heading": lambda page: (
            page.below(COPY, "tidePromises.copyTide(src, dest)")
            and page.below(COPY, "Callback API", "tide.copyTide(src, dest, callback)")
        ),
    },
    "author_people_link.html": {"no author": lambda page: "author" not in page.facts},
    "canonical_body.html": {"ignored": lambda page: page.normalized.canonical is None},
    "canonical_two.html": {"none taken": lambda page: page.normalized.canonical is None},
    "code_p_br.html": {"lines apart": lambda page: page.has_lines("RewriteEngine on", "# send all to the new host")},
    "copy_in_pre.html": {"code without the button": lambda page: page.code == ["tide --port elmsworth\ntide --list"]},
    "cp1250_cs_undeclared.html": {
        "text": lambda page: page.says("čtyřicet dělníků, kteří byli placeni sledi"),
        "title": lambda page: page.title == "Přístav a žebříček",
    },
    "date_ctime.html": {"date": lambda page: page.facts["published"].startswith("2013-03-05T14:22:31")},
    "date_event.html": {"not published then": lambda page: "published" not in page.facts},
    "date_slash_engb.html": {"5 April": lambda page: page.facts["published"] == "2024-04-05"},
    "date_slash_fr_meta.html": {"5 April": lambda page: page.facts["published"] == "2024-04-05"},
    "dl_in_article.html": {
        "values": lambda page: page.together("Depth", "4 metres") and page.together("Pilot", "compulsory"),
    },
    "docs_edit_toc.html": {
        "text": lambda page: page.says("prints the next high and low water", "Each option may be given", *OPTIONS),
        "no chrome": lambda page: (
            not page.says_one_of("Edit this", "On this page", "tide-ports", "Breadcrumbs", "Gazette")
        ),
        "modified": lambda page: page.facts["modified"] == "2024-02-03",
    },
    "docs_permalink_words.html": {
        "headings clean": lambda page: (
            page.below("Each option", "Options")
            and page.below("The tables are", "Files")
            and page.below("It ends with 0", "Exit status")
        ),
    },
    "facts_th_td.html": {
        "values": lambda page: page.together("Depth", "4 metres") and page.together("Pilot", "compulsory")
    },
    "frameset.html": {
        "links": lambda page: (
            {f"{SITE}/blog/overview-frame.html", f"{SITE}/blog/overview-summary.html"} <= set(page.links)
        ),
    },
    "gutter_hljs.html": {"code without numbers": lambda page: page.code == ["let boats = 3;\nlaunch(boats);"]},
    "iframe_content.html": {"link": lambda page: f"{SITE}/embedded/doc.html" in page.links},
    "lazy_file_placeholder.html": {"image": lambda page: page.images == [f"{SITE}/crane.jpg"]},
    "linenos_inline.html": {"code without numbers": lambda page: page.code == ["def tide(port):\n    return 4"]},
    "linenos_table.html": {
        "code whole": lambda page: page.code == ['def tide(port):\n    return 4\nprint(tide("E"))'],
        "no statement of numbers": lambda page: (
            not any(draft.text.replace("\n", "").isdigit() for draft in page.drafts)
        ),
    },
    "md_badges.markdown": {
        "title": lambda page: page.title == "Tide",
        "no marks": lambda page: not page.says_one_of("[!NOTE]", "[x]", "[^1]"),
        "table": lambda page: page.says("Port: Tarn | Fee: 30"),
        "footnote resolved": lambda page: any(
            span.kind == "footnote" and span.target == "The note of the text."
            for block in page.normalized.document.blocks
            for span in block.spans
        ),
    },
    "md_comment_in_code.markdown": {
        "comment kept": lambda page: page.code == ['<!-- tide widget -->\n<div id="tide"></div>']
    },
    "meta_after_3k.html": {"title": lambda page: page.title == "Порт"},
    "pdf_headers_two_pages.pdf": {
        "text": lambda page: page.says(*PROSE[:4]),
        "no running header": lambda page: not page.says_one_of("Page 1 of 2", "Page 2 of 2", "Annual report"),
    },
    "pdf_page_of.pdf": {"left out": lambda page: not page.says_one_of("Page 1 of 2", "Page 2 of 2")},
    "pdf_rotated_page.pdf": {"paragraphs": lambda page: len(page.drafts) == 3 and page.says(*PROSE[:3])},
    "pdf_title_pptx_de.pdf": {"title": lambda page: page.title == "Depth of the harbour bar"},
    "pdf_title_tmp.pdf": {"title": lambda page: page.title == "Depth of the harbour bar"},
    "rel_next.html": {"found": lambda page: f"{SITE}/blog/page?p=2" in page.links},
    "rowspan.html": {
        "each row": lambda page: page.says(
            "Month: January | Boats: 12 | Fee: $50", "Month: March | Boats: 21 | Fee: $70"
        ),
        "a row below the value": lambda page: page.says("Month: February | Boats: 9 | Fee: $50"),
    },
    "spa_jsonld.html": {
        "text": lambda page: page.says("labourers who were paid in herring", "measure the depth each morning"),
        "no notice": lambda page: not page.says("JavaScript"),
    },
    "title_header_h1.html": {"title": lambda page: page.title == "Errors"},
    "title_missing.html": {"not empty": lambda page: page.title == "tide tables"},
    "title_rtd_icon.html": {
        "title": lambda page: page.title == "Localizing the tables",
        "headings clean": lambda page: page.below("wrote down the weather", "Supported zones"),
    },
    "title_section_h1.html": {"title": lambda page: page.title == "Data.Tide.Encoding"},
    "title_short_last.html": {"title kept": lambda page: page.title == "Interview with the harbour master - part two"},
    "txt_email.txt": {
        "answer whole": lambda page: page.says(
            "The sign is right, but the table was made with the old release, in which"
        ),
        "quotation without marks": lambda page: page.says("has the wrong sign, so that the tables are wrong by eight"),
    },
    "txt_rfc.txt": {
        "a sentence across pages": lambda page: page.says("with the times of the next high and low water in the zone"),
        "no running header": lambda page: not page.says_one_of("[Page 1]", "March 2013"),
    },
    "ul_terms_torn.html": {
        "all": lambda page: page.says("Red buoy", "Green buoy", "Fog horn", "Low light", "High light")
    },
    "br_lines_facts.html": {"lines apart": lambda page: page.has_lines("Saturday: 10 to 14", "Sunday: closed")},
    "details_summary.html": {
        "answers": lambda page: page.says("nine crowns for adults"),
        "questions": lambda page: page.together("What does a ticket cost?", "nine crowns for adults"),
    },
    "faq_accordion.html": {"answers": lambda page: page.together("What does a ticket cost?", "crowns")},
    "hackernews.html": {
        "comments": lambda page: page.says(
            "only the last resort", "depends on the river", "every second year", "from 1998"
        ),
        "no chrome": lambda page: not page.says_one_of("reply", "parent", "next", "[–]"),
        "no rows": lambda page: not any(draft.kind == "row" for draft in page.drafts),
    },
    "index_articles.html": {
        "titles": lambda page: (
            page.below("dug in 1874", "Manuals for the crane")
            and page.below("tide turns", "Ropes in winter")
            and page.below("wrote down", "Why the ferry is late")
        ),
    },
    "last_item_of_list.html": {"last item": lambda page: page.says(*OPTIONS)},
    "pdf_two_columns_rowwise.pdf": {
        "columns": lambda page: page.says(
            "dug in 1874 by forty labourers who were paid in herring",
            "the pilots row out to the bar and",
            "The lighthouse keeper wrote down the weather twice a day",
        ),
    },
    "pdf_white_text.pdf": {"not indexed": lambda page: not page.says("casino")},
    "rustdoc_item_table.html": {
        "names kept": lambda page: page.says("DepthI8", "DepthI16", "DepthI32", "Wrapping", "TideError"),
        "with their descriptions": lambda page: (
            page.together("Wrapping", "wrap at the end")
            and page.together("TideError", "An error which can be returned")
        ),
    },
    "sjis_short_title.html": {"text": lambda page: page.says("感染症及び寄生虫症", "新生物")},
    "slashdot_comments.html": {
        "posts": lambda page: page.says(
            "My old diesel", "Air in the fuel line", "That was it!", "like a sewing machine"
        ),
        "no signature": lambda page: not page.says("Sailing is life"),
        "title": lambda page: page.title == "Engine stops at idle",
    },
    "txt_poem.txt": {"lines stay": lambda page: page.has_lines("The sky is wide and the wind is right")},
}


def read(name: str) -> Read:
    page = PAGES[name]
    headers = {"content-type": page["content_type"]}
    return Read(read_document((FOLDER / name).read_bytes(), url=page["url"], headers=headers))


def test_each_page_is_expected_to_give_something() -> None:
    assert PAGES.keys() == EXPECTED.keys() | {"pdf_xfa.pdf"}


def test_the_notice_of_a_dynamic_form_is_no_text() -> None:
    with pytest.raises(Refused, match="dynamic form"):
        read("pdf_xfa.pdf")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_reported_page_gives_all_that_it_must(name: str) -> None:
    page = read(name)
    wrong = [what for what, holds in EXPECTED[name].items() if not holds(page)]
    assert not wrong, PAGES[name]["situation"]
