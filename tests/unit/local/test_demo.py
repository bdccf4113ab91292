"""The bundled web: whole, reproducible, and asked fairly."""

import io
import json
import re
import tarfile
from functools import cache
from pathlib import Path

import pytest
from protego import Protego
from selectolax.lexbor import LexborHTMLParser

from benchmarks.documents.demo_web import SITES, build
from streams.commands.stack.demo import LANGUAGES
from streams.local import demo
from streams.local.demo import QUESTIONS, Question, unpack
from streams.local.web_files import answer
from streams.pages.normalize import normalize

BOT = "RiffleBot"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("demo") / "web")


def bundled() -> list[str]:
    return (Path(demo.__file__).parent / "pages.txt").read_text().split()


def test_it_holds_what_the_list_says(web: Path) -> None:
    assert {one.name for one in web.iterdir() if one.is_dir()} == set(SITES)
    there = {file.relative_to(web).as_posix() for file in web.rglob("*.html")}
    assert there == set(bundled())
    assert 200 <= len(there) <= 300
    assert demo.ARCHIVE.stat().st_size < 3_000_000


def test_unpacking_again_changes_nothing_but_repairs(web: Path) -> None:
    page = web / "sqlite.test" / "faq.html"
    page.write_text("changed by hand")
    unpack(web)
    assert page.read_text() == "changed by hand", "the same archive is not unpacked twice"
    (web / ".archive").write_text("another version")
    unpack(web)
    assert "changed by hand" not in page.read_text()


@pytest.mark.parametrize("max_pages", [20, 60, 1_000])
def test_a_part_of_it_has_the_first_pages_and_the_answers(tmp_path: Path, max_pages: int) -> None:
    web = unpack(tmp_path / "web", max_pages)
    there = {file.relative_to(web).as_posix() for file in web.rglob("*.html")}
    assert len(there) == min(max_pages, len(bundled()))
    assert there >= {one.url.removeprefix("https://") for one in QUESTIONS} | {"git-scm.test/html/index.html"}
    assert unpack(tmp_path / "web") == web
    assert len(list(web.rglob("*.html"))) == len(bundled()), "all of it replaces a part"


@pytest.mark.night
def test_the_same_pages_give_the_same_bytes(web: Path, tmp_path: Path) -> None:
    assert build(web, tmp_path / "again.tar.zst") == len(bundled())
    assert (tmp_path / "again.tar.zst").read_bytes() == demo.ARCHIVE.read_bytes(), "run benchmarks.documents.demo_web"


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, 2 if kind == tarfile.REGTYPE else 0
    return info


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(entry("/outside"), id="an absolute path"),
        pytest.param(entry("a/../../outside"), id="a path that leads out"),
        pytest.param(entry("a.html", tarfile.SYMTYPE, "/etc/passwd"), id="a symbolic link"),
        pytest.param(entry("a.html", tarfile.LNKTYPE, "b.html"), id="a hard link"),
        pytest.param(entry("a.html", tarfile.CHRTYPE), id="a device"),
    ],
)
def test_an_archive_may_hold_only_files_with_relative_paths(hostile: tarfile.TarInfo, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(entry("host/b.html"), io.BytesIO(b"ok"))
        archive.addfile(hostile, io.BytesIO(b"no"))
    packed.seek(0)
    into = tmp_path / "into"
    with tarfile.open(fileobj=packed) as archive, pytest.raises(ValueError, match="is not a file with a path inside"):
        demo.extract_files(archive, into)
    assert [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if not file.is_dir()] == [
        "into/host/b.html"
    ]


@pytest.mark.parametrize("host", SITES)
def test_robots_redirects_and_dead_links(web: Path, host: str) -> None:
    site, root = SITES[host], web / host
    robots = Protego.parse((root / "robots.txt").read_text())
    open_pages = [page.removeprefix(host) for page in bundled() if page.startswith(f"{host}/")]
    refused = {path for path in open_pages if not robots.can_fetch(f"https://{host}{path}", BOT)}
    assert refused == set(site.hidden), "only what is meant to be hidden is"
    assert all(answer(root, host, path).status == 200 for path in open_pages)
    for path in site.missing:
        assert answer(root, host, path).status == 404
        assert robots.can_fetch(f"https://{host}{path}", BOT), f"{path} is meant to be tried in vain"
    for path, target in site.redirects.items():
        found = answer(root, host, path)
        assert (found.status, found.location) == ((301, target) if target else (410, ""))
    assert answer(root, host, "/").status in (200, 301)
    assert robots.crawl_delay(BOT) == pytest.approx(0.05)


def test_each_licence_is_there() -> None:
    licences = Path(demo.__file__).parent / "licences"
    assert {one.name for one in licences.iterdir()} == {
        *("debian-faq-de", "git-doc", "postgresql-doc-15", "python3.11-doc", "sqlite3-doc")
    }
    assert all("opyright" in one.read_text() for one in licences.iterdir())


def sentence(web: Path, question: Question) -> str:
    """The sentence that holds the answer: cut crudely, at full stops and where a block begins."""
    content = (web / question.url.removeprefix("https://")).read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"\s+", " ", LexborHTMLParser(content).text())
    assert text.count(question.answer) == 1, (
        f"{question.answer!r} stands {text.count(question.answer)} times on the page"
    )
    before, _, after = text.partition(question.answer)
    return re.split(r"[.!?:] ", before)[-1] + question.answer + re.split(r"[.!?]( |$)", after)[0]


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.question for one in QUESTIONS])
def test_no_word_of_an_english_question_is_in_its_answer(web: Path, question: Question) -> None:
    answering = sentence(web, question)
    assert stems(question.question).isdisjoint(stems(answering)) == (question.language == "en"), answering


def test_the_languages_of_questions_are_those_of_their_pages(web: Path) -> None:
    documents = {one.url: normalize((web / one.url[8:]).read_bytes(), url=one.url).document for one in QUESTIONS}
    assert [one.language for one in QUESTIONS] == [documents[one.url].language for one in QUESTIONS]
    assert {one.language for one in QUESTIONS} == set(LANGUAGES)


@pytest.mark.parametrize("question", QUESTIONS, ids=[one.question for one in QUESTIONS])
def test_an_answer_stands_in_one_page_only(web: Path, question: Question) -> None:
    pages = [file for file in web.rglob("*.html") if question.answer in _text(file)]
    assert [f"https://{page.relative_to(web).as_posix()}" for page in pages] == [question.url]


def test_there_are_enough_questions() -> None:
    assert len([one for one in QUESTIONS if one.language == "en"]) >= 10
    assert len({one.url.split("/")[2] for one in QUESTIONS}) >= 3, "of at least three hosts"
    written = json.loads((Path(demo.__file__).parent / "questions.json").read_text(encoding="utf-8"))
    assert [one.question for one in QUESTIONS] == [one["question"] for one in written]


@cache
def _text(file: Path) -> str:
    return re.sub(r"\s+", " ", LexborHTMLParser(file.read_text(encoding="utf-8", errors="replace")).text())


STOP_WORDS = set(
    re.findall(
        r"[a-z]+",
        """a an the and or but if not no nor so than that this these those there here it its i my me we our us you your
    he she they them their his her who whom whose which what when where why how is are was were be been being am do
    does did done have has had having can could may might must shall should will would to of in on at by for from with
    without about into onto over under up down out off as all any some each every both either neither more most much
    many few other another such only own same too very just also yet still again ever never else then once""",
    )
)


def stems(text: str) -> set[str]:
    """Content words without their endings: crude on purpose, for it finds too many words in common, never too few."""
    words = set(re.findall(r"[a-z0-9]+", text.lower().replace("’", "").replace("'", ""))) - STOP_WORDS
    return {re.sub(r"(ations?|ing|ings|ers?|ors?|ies|ied|ed|es|ly|s|e|y)$", "", word)[:6] or word for word in words}
