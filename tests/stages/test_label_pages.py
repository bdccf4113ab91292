"""`/labs/label`: one statement at a time, undo, differences, the export, and what is refused."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid5

import httpx2
import pytest

from benchmarks.evaluation.chains import read_documents
from benchmarks.labelling.labelling import export_rows, next_task
from benchmarks.labelling.labels import MAX_FILE_BYTES, Label, LabelsFull, LabelStore
from schemas.ids import page_id
from streams.statements.statement import PageStatements, Statement
from tests.stages.gateway_fakes import client, labelling
from tests.stages.test_gateway_pages import HOSTILE, HTML, assert_harmless
from tests.stages.test_gateway_statements import URL, stored

ASKED = re.compile(r'<p class="asked" dir="auto">([^<]*)</p>')
STATEMENT = re.compile(r'name="statement" value="([^"]+)"')
CHOICE = re.compile(r'name="antecedent" value="([^"]*)"')


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with client(labelling(await stored(), tmp_path / "labels")) as web:
        yield web


async def opened(web: httpx2.AsyncClient, labeller: str = "ada", **parameters: str | int) -> str:
    response = await web.get("/labs/label", params={"url": URL, "labeller": labeller, **parameters}, headers=HTML)
    assert response.status_code == 200, response.text
    assert_harmless(response.text)
    return str(response.text)


async def posted(web: httpx2.AsyncClient, html: str, labeller: str = "ada", **fields: str) -> str:
    """Send the form of a page, and open the page that it leads to."""
    statement = STATEMENT.search(html)
    skipped = re.search(r'name="skipped" value="([^"]*)"', html)
    form = {"url": URL, "labeller": labeller, "skipped": skipped[1] if skipped else "", "do": "label", **fields}
    if statement:
        form["statement"] = statement[1]
    response = await web.post("/labs/label", data=form, headers=HTML)
    assert response.status_code == 303, response.text
    following = await web.get(response.headers["location"], headers=HTML)
    return str(following.text)


def asked(html: str) -> str:
    found = ASKED.search(html)
    return found[1] if found else ""


async def test_one_statement_at_a_time_with_those_before_it_the_nearest_first(web: httpx2.AsyncClient) -> None:
    html = await opened(web)
    assert asked(html) == "A log is written ahead of the file by every writer."
    assert CHOICE.findall(html) == [""]
    html = await posted(web, html, leaf="yes")
    assert asked(html) == "It holds the changes that are not in the file."
    html = await posted(web, html, antecedent=CHOICE.findall(html)[1])
    assert asked(html) == "Readers read the file as it was before."
    assert "2 of 5 labelled by ada. The model gives 100 % of the same answers." in html
    shown = re.findall(r"<kbd>\d</kbd><span[^>]*>([^<]*)</span>", html)
    assert shown == [
        "none",
        "It holds the changes that are not in the file.",
        "A log is written ahead of the file by every writer.",
    ]


async def test_a_last_label_is_undone_and_asked_again(web: httpx2.AsyncClient) -> None:
    first = await opened(web)
    second = await posted(web, first, leaf="yes")
    assert asked(await posted(web, second, do="undo")) == asked(first)
    assert "Undo" not in await opened(web), "there is nothing left to undo"


async def test_a_statement_is_passed_over_and_comes_again(web: httpx2.AsyncClient) -> None:
    html = await posted(web, await opened(web), do="skip")
    assert asked(html) == "It holds the changes that are not in the file."
    for _ in range(4):
        html = await posted(web, html, leaf="yes")
    assert "Show those that you passed over" in html
    assert asked(await opened(web)) == "A log is written ahead of the file by every writer."


async def test_differences_are_shown_with_every_answer(web: httpx2.AsyncClient) -> None:
    for labeller, leaf in (("ada", "yes"), ("grace", "")):
        html = await opened(web, labeller)
        html = await posted(web, html, labeller, leaf="yes")
        await posted(web, html, labeller, antecedent=CHOICE.findall(html)[1] if leaf else "", leaf=leaf)
    html = await opened(web, "ada")
    differing = html.partition('id="differences"')[2].partition("</section>")[0]
    assert "It holds the changes that are not in the file." in differing
    answers = re.findall(r"<strong>([^<]+)</strong>: (needs none|needs)[^;]*; (leaf|no leaf)", differing)
    assert answers == [("the model", "needs", "no leaf"), ("ada", "needs", "leaf"), ("grace", "needs none", "no leaf")]


async def test_labels_are_exported_in_the_format_of_the_evaluation(web: httpx2.AsyncClient, tmp_path: Path) -> None:
    html = await posted(web, await opened(web), leaf="yes")
    html = await posted(web, html, antecedent=CHOICE.findall(html)[1])
    html = await posted(web, html, antecedent=CHOICE.findall(html)[1])
    file = tmp_path / "labels.jsonl"
    file.write_bytes((await web.get("/labs/label/export", params={"url": URL})).content)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["needs_context"] for row in rows] == [False, True, True, None, None]
    assert [row["leaf"] for row in rows] == [True, False, False, None, None]
    ((dep,),) = [row["deps"] for row in rows[2:3]]
    assert (dep["to"], dep["nominal_to"]) == (rows[1]["sent_id"], rows[0]["sent_id"]), "the chain's end names it"
    (document,) = read_documents(file).values()
    assert [(each.needs, set(each.nominal), each.nearest) for each in document] == [
        (False, set(), -1),
        (True, {0}, 0),
        (True, {0}, 1),
        (None, set(), -1),
        (None, set(), -1),
    ]


FIRST, SECOND = "A log is written ahead of the file.", "It holds the changes that are not in the file."


def fetched(*texts: str) -> PageStatements:
    """A page with these sentences. Their ids are of their texts."""
    page = page_id(URL)
    statements = (Statement(uuid5(page, text), ordinal, text) for ordinal, text in enumerate(texts))
    return PageStatements(page, URL, "Logs", "en", tuple(statements))


def labelled(page: PageStatements, statement: int, antecedent: int | None = None, labeller: str = "ada") -> Label:
    ids = [str(each.id) for each in page.statements]
    return Label(labeller, ids[statement], "" if antecedent is None else ids[antecedent])


@pytest.mark.parametrize(
    ("later", "needs", "why"),
    [
        ([FIRST, SECOND], [False, True], "the page is the same"),
        (["A log is kept ahead of the file.", SECOND], [None, None], "the antecedent's text was corrected"),
        ([SECOND, FIRST], [None, False], "the antecedent is no longer before it"),
        ([FIRST], [False], "the statement is gone"),
    ],
)
def test_a_label_whose_antecedent_is_gone_does_not_say_that_none_is_needed(
    later: list[str], needs: list[bool | None], why: str
) -> None:
    first = fetched(FIRST, SECOND)
    labels = [labelled(first, 0), labelled(first, 1, 0)]
    page = fetched(*later)
    assert [row["needs_context"] for row in export_rows(page, labels)] == needs, why
    made = next_task(page, labels, "ada", frozenset(), -1)
    assert made.done == len(needs) - needs.count(None)
    asked = [needed is None for needed in needs].index(True) if None in needs else None
    assert (None if made.statement is None else made.statement.ordinal) == asked, "it is asked again"


async def test_undo_takes_back_the_label_that_is_shown_as_the_last(web: httpx2.AsyncClient, tmp_path: Path) -> None:
    second = await posted(web, await opened(web), leaf="yes")
    # A label of a statement that the page had before it was fetched again:
    await LabelStore(tmp_path / "labels").add(page_id(URL), Label("ada", "statement-of-an-earlier-fetch"))
    shown = await opened(web)
    assert "1 of 5 labelled" in shown
    html = await posted(web, second, do="undo")
    assert "0 of 5 labelled" in html
    assert asked(html) == "A log is written ahead of the file by every writer."


async def test_a_full_file_refuses_labels_and_undo_with_a_sentence(web: httpx2.AsyncClient, tmp_path: Path) -> None:
    html = await posted(web, await opened(web), leaf="yes")
    statement = STATEMENT.search(html)
    assert statement
    with (tmp_path / "labels" / f"{page_id(URL)}.jsonl").open("ab") as file:
        file.write(b" " * (MAX_FILE_BYTES - file.tell()))
    for do in ("label", "undo"):
        form = {"url": URL, "labeller": "ada", "statement": statement[1], "do": do}
        response = await web.post("/labs/label", data=form)
        assert response.status_code == 507, do
        assert "This page takes no more labels" in response.text, do


BAD_LINES = [
    b"\xff",
    b'{"labeller": "ada", "statement": "\xff',
    b'{"labeller": "ada", "statement": ["x"]}',
    b'{"labeller": ["ada"], "statement": "x"}',
    b'{"labeller": "\\ud800", "statement": "x"}',
    b'{"labeller": "ada", "statement": "x", "antecedent": {}}',
    b'{"labeller": "ada", "statement": "x", "leaf": "no"}',
    b'{"labeller": "ada"}',
    b'"labeller"',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:60].decode("ascii", "backslashreplace"))
async def test_a_line_that_is_no_label_is_passed_over(web: httpx2.AsyncClient, tmp_path: Path, line: bytes) -> None:
    await posted(web, await opened(web), leaf="yes")
    with (tmp_path / "labels" / f"{page_id(URL)}.jsonl").open("ab") as file:
        file.write(line + b"\n")
    assert "1 of 5 labelled" in await opened(web)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://riffle.test", "sec-fetch-site": "same-origin"}, 303),
    ],
)
async def test_a_form_of_another_site_writes_nothing(
    web: httpx2.AsyncClient, headers: dict[str, str], status: int
) -> None:
    statement = STATEMENT.search(await opened(web))
    assert statement
    form = {"url": URL, "labeller": "ada", "statement": statement[1], "do": "label"}
    assert (await web.post("/labs/label", data=form, headers=headers)).status_code == status
    assert ("1 of 5 labelled" in await opened(web)) == (status == 303)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"labeller": "../../etc"}, 400),
        ({"statement": "nonsense"}, 400),
        ({"antecedent": "nonsense"}, 400),
        ({"filler": "x" * 30_000}, 413),
        ({f"field{n}": "x" for n in range(30)}, 400),
    ],
)
async def test_invalid_forms_are_refused(web: httpx2.AsyncClient, fields: dict[str, str], status: int) -> None:
    statement = STATEMENT.search(await opened(web))
    assert statement
    form = {"url": URL, "labeller": "ada", "statement": statement[1], "do": "label"} | fields
    assert (await web.post("/labs/label", data=form)).status_code == status


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_hostile_becomes_markup(tmp_path: Path, hostile: str) -> None:
    text = hostile.replace("<", "&lt;")
    page = f"<title>{text}</title><main><p>This is a log {text} of it. It has {text} in it and more words.</p></main>"
    async with client(labelling(await stored(page), tmp_path)) as web:
        html = await opened(web, skipped=hostile)
        assert_harmless(await posted(web, html, leaf=hostile))
        start = await web.get("/labs/label", params={"url": hostile, "labeller": hostile}, headers=HTML)
    assert_harmless(start.text)


async def test_a_store_of_labels_outlives_a_line_cut_short_and_has_a_limit(tmp_path: Path) -> None:
    store, page = LabelStore(tmp_path), page_id(URL)
    assert await store.of_page(page) == []
    first = Label("ada", "s1")
    await store.add(page, first)
    file = tmp_path / f"{page}.jsonl"
    file.write_text(file.read_text() + '{"labeller": "gra\n[]\n')
    await store.add(page, Label("ada", "s1", "s0", leaf=False))
    assert await LabelStore(tmp_path).of_page(page) == [Label("ada", "s1", "s0", leaf=False)]
    await store.add(page, Label("ada", "s1", undone=True))
    assert await store.of_page(page) == []
    file.write_bytes(b" " * MAX_FILE_BYTES)
    with pytest.raises(LabelsFull):
        await store.add(page, first)


async def test_a_label_after_a_line_cut_short_begins_a_line(tmp_path: Path) -> None:
    store, page = LabelStore(tmp_path), page_id(URL)
    labels = [Label("ada", f"s{number}") for number in range(3)]
    await store.add(page, labels[0])
    await store.add(page, labels[1])
    file = tmp_path / f"{page}.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    await store.add(page, labels[2])
    assert await store.of_page(page) == [labels[0], labels[2]]
