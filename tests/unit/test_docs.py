"""The documentation points to what exists: files, headings, commands, settings."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import SECTIONS
from streams.cli import COMMANDS, commands_of, load_command
from streams.settings import Settings

ROOT = Path(__file__).parents[2]
MADE = {"dist"}
"""Folders that tasks of the Makefile write."""
FOLDERS = [
    path
    for path in ROOT.iterdir()
    if path.is_dir() and path.name not in MADE and (path.name == ".github" or path.name[0] != ".")
]
PAGES = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in folder.rglob("*.md"))])
DECISIONS = ROOT / "docs" / "decisions"
LINK = re.compile(r"(?:!?\[[^\]]*\]\(|^\[[^\]]+\]: )<?([^)\s>]+)>?", re.M)
"""A link with its target, or the target of links by name (`[name]: target`)."""
PICTURE = re.compile(r'<picture>\n *<source [^>]*srcset="([^"]+)">\n *<img [^>]*src="([^"]+)">\n *</picture>')
"""A picture that follows the reader's light or dark screen: the dark file, and the light one."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINE_CHARACTERS = 160
"""Maximum length of a line of Markdown."""
LONG_LINES = {"docs/reference/api.md": "one line of JSON: a statement is a string, and a string has no line breaks"}
"""Pages that may have one longer line each, in a block of code, with the reason."""


def name(path: object) -> str:
    return str(path.relative_to(ROOT)) if isinstance(path, Path) else ""


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_heading_stands_twice_in_a_page() -> None:
    """Two headings of one name below the same heading are left over from a merge, and readers find only the first."""
    twice = {name(page): found for page in PAGES if page.name != "CHANGELOG.md" and (found := doubled(page))}
    assert twice == {}


def doubled(page: Path) -> list[str]:
    above: list[str] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for marks, text in re.findall(r"^(#+) (.*)$", FENCE.sub("", page.read_text()), re.M):
        above = [*above[: len(marks) - 1], text]
        seen[tuple(above)] += 1
    return [" / ".join(place) for place, count in seen.items() if count > 1]


def undefined_links(text: str) -> set[str]:
    """Names of links (`[text][name]`) that have no target (`[name]: target`)."""
    used = re.findall(r"\]\[([\w-]+)\]", re.sub(r"`[^`\n]*`", "", text))
    return set(used) - set(re.findall(r"^\[([\w-]+)\]: ", text, re.M))


def broken_links(page: Path) -> Iterator[str]:
    text = FENCE.sub("", page.read_text())
    yield from (f"[{link}]: no such target" for link in undefined_links(text))
    for target in [*LINK.findall(text), *(file for pair in PICTURE.findall(text) for file in pair)]:
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        if not found.exists():
            yield f"{target}: there is no such file"
        elif ROOT not in (found, *found.parents):
            yield f"{target}: outside the repository"
        elif fragment and found.suffix == ".md" and fragment not in anchors(found):
            yield f"{target}: no such heading; there are {sorted(anchors(found))}"


TABLES = {"docs/reference/figures.md"}
"""Generated pages that are only tables. A row of a table is one line."""


def test_lines_are_short() -> None:
    faults = []
    for page in (page for page in PAGES if name(page) not in TABLES):
        text = FENCE.sub("", page.read_text()) if name(page) in LONG_LINES else page.read_text()
        faults += [f"{name(page)}: {line[:60]}..." for line in text.splitlines() if len(line) > LINE_CHARACTERS]
    assert faults == []


def test_pages_with_longer_lines_need_them() -> None:
    longer = {
        path: sum(len(line) > LINE_CHARACTERS for line in (ROOT / path).read_text().splitlines()) for path in LONG_LINES
    }
    assert longer == dict.fromkeys(LONG_LINES, 1)


def test_no_heading_is_twice_on_a_page() -> None:
    faults = {}
    for page in PAGES:
        counts = Counter(re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M))
        if repeated := [heading for heading, count in counts.items() if count > 1]:
            faults[name(page)] = repeated
    assert faults == {}


def test_relative_links_lead_somewhere() -> None:
    assert [f"{name(page)}: {fault}" for page in PAGES for fault in broken_links(page)] == []


def test_each_picture_is_shown_on_both_screens() -> None:
    """A file NAME-dark.webp is the dark side of NAME.webp, and no file is left over."""
    shown: set[Path] = set()
    for page in PAGES:
        text = page.read_text()
        pairs = PICTURE.findall(text)
        assert len(pairs) == text.count("<picture>"), f"{name(page)}: a picture of another form"
        assert [dark for dark, light in pairs if dark != light.replace(".webp", "-dark.webp")] == []
        targets = [*LINK.findall(text), *(file for pair in pairs for file in pair)]
        shown |= {(page.parent / target).resolve() for target in targets}
    images = set((ROOT / "docs" / "images").iterdir())
    assert sorted(map(name, images - shown)) == []


def test_what_counts_as_an_undefined_link() -> None:
    assert undefined_links("[`guard.py`][guard], [http][http] and `rows[0][column]`\n\n[http]: http.py\n") == {"guard"}


def test_every_page_is_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    linked = {(docs / target).resolve() for target in LINK.findall((docs / "README.md").read_text())}
    pages = {path for path in docs.glob("**/*.md") if DECISIONS not in path.parents} - {docs / "README.md"}
    assert sorted(map(name, pages - linked)) == []


def commands_in(page: Path) -> Iterator[str]:
    """Every `riffle ...` of a page: lines of shell examples, and inline code."""
    text = page.read_text()
    for language, code in FENCE.findall(text):
        if language in {"", "console", "sh", "bash", "text"}:
            # In commands of other programs, `riffle` is a namespace or a release.
            code = re.sub(r"^\$ (?:kubectl|helm) .*$", "", code, flags=re.M)
            yield from re.findall(r"(?:^|[\s(/`])riffle ([a-z][^\n`]*)", code)
    yield from re.findall(r"`(?:\.venv/bin/)?riffle ([a-z][^`\n]*)`", FENCE.sub("", text))


def problem_of(line: str) -> str:
    """Return the fault of a command line, empty if its command and options exist."""
    words = shlex.split(re.split(r" && | \| |  +#| {3,}", line)[0], comments=True)
    if words[0] not in COMMANDS:
        return f"no command {words[0]!r}"
    return problem_of_call(words[0], load_command(words[0]), words[1:])


def problem_of_call(name: str, command: Any, below: list[str]) -> str:
    """Return the fault of the words behind a command, empty if its subcommand and options exist."""
    if hasattr(command, "commands"):
        if not below or below[0].startswith("-"):
            return ""
        if (command := command.commands.get(below[0].rstrip(",.)"))) is None:
            return f"{name} has no command {below[0]!r}"
    options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    unknown = [word for word in below if word.startswith("--") and word.partition("=")[0] not in options]
    return f"{name} has no option {unknown[0]}" if unknown else ""


HAND_WRITTEN = [page for page in PAGES if page.name != "commands.md"]


def test_commands_in_the_docs_exist() -> None:
    problems = [(name(page), line, problem_of(line)) for page in HAND_WRITTEN for line in commands_in(page)]
    assert problems
    assert [fault for fault in problems if fault[-1]] == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("crawl https://example.org/ --depth 2", ""),
        ("dead-letters list --stage embed", ""),
        ("crwal x", "no command 'crwal'"),
        ("crawl x --dept 2", "crawl has no option --dept"),
        ("dead-letters lst", "dead-letters has no command 'lst'"),
    ],
)
def test_what_counts_as_an_existing_command(line: str, problem: str) -> None:
    assert problem_of(line) == problem


def test_make_targets_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    code = "\n".join(code for page in PAGES for _, code in FENCE.findall(page.read_text()))
    inline = "\n".join(re.findall(r"`([^`\n]+)`", "\n".join(FENCE.sub("", page.read_text()) for page in PAGES)))
    named = set(re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", f"{code}\n{inline}", re.M))
    assert named
    assert named <= targets


def test_benchmarks_in_the_docs_exist() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    lines = [quoted or word for quoted, word in re.findall(r'make bench ARGS=(?:"([^"\n]+)"|([\w-]+))', text)]
    known = commands_of(SECTIONS)
    # Square brackets enclose what may be left out.
    calls = {line: re.sub(r"[\[\]]", "", line).split() for line in lines}
    problems = {
        line: problem_of_call(name, load_command(name, known), words) if name in known else "no such benchmark"
        for line, (name, *words) in calls.items()
        if name != "--help"
    }
    assert lines
    assert {line: problem for line, problem in problems.items() if problem} == {}


def test_programs_in_the_docs_and_the_code_exist() -> None:
    code = [path for folder in ("streams", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text() for path in [*PAGES, *code])
    named = set(re.findall(r"python -m\s+((?:benchmarks|docs|tests)(?:\.\w+)*)", text))
    assert len(named) > 10
    assert [each for each in sorted(named) if find_spec(each) is None] == []


def settings_named() -> set[str]:
    groups = {n: f.annotation for n, f in Settings.model_fields.items()}
    names = {f"RIFFLE_{name.upper()}" for name in groups}
    for name, kind in groups.items():
        names |= {f"RIFFLE_{name.upper()}__{field.upper()}" for field in getattr(kind, "model_fields", {})}
    return names


SETTINGS_OF_EXAMPLES = {"RIFFLE_GATEWAY__TITLE_WEIGHT"}
"""Settings that an example of docs/guide/contribute.md adds."""


def test_settings_in_the_docs_exist() -> None:
    known = settings_named() | SETTINGS_OF_EXAMPLES
    named = [(name(page), each) for page in PAGES for each in re.findall(r"\bRIFFLE_[A-Z_]*[A-Z]\b", page.read_text())]
    assert named
    assert [(page, each) for page, each in named if each not in known] == []


def test_every_setting_says_what_it_is() -> None:
    silent = []
    for field_name, field in Settings.model_fields.items():
        for below, inner in getattr(field.annotation, "model_fields", {field_name: field}).items():
            if not inner.description:
                silent.append(f"{field_name}.{below}")
    assert silent == []


def test_decisions_have_a_number_of_their_own_and_are_listed() -> None:
    files = [path for path in DECISIONS.glob("*.md") if path.name != "README.md"]
    numbers = Counter(path.name[:4] for path in files)
    assert [number for number, count in numbers.items() if count > 1] == []
    listed = dict(re.findall(r"^\| \d{4} \| \[(.+)\]\((.+)\) \|$", (DECISIONS / "README.md").read_text(), re.M))
    titles = {path.read_text().splitlines()[0].removeprefix(f"# {path.name[:4]} "): path.name for path in files}
    assert listed == titles


NO_PROMISES = {
    "architecture.md: | line | packages |": "what the rules of imports say, which are checked",
    "architecture.md: | you want to change | file |": "links",
    "glossary.md: | word | meaning |": "words",
    "journey.md: | stage | what it does | stores |": "made from the topology",
    "journey.md: | topic | key | sent by | read by |": "made from the topology",
    "stores.md: | store | server | keeps | found by | written by |": "an overview",
}
"""Tables of docs/concepts without tests in their last column, with the reason."""


def tables() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Each table of docs/concepts: its page with its columns, its rows, and the test files that the page links to."""
    for page in sorted((ROOT / "docs" / "concepts").glob("*.md")):
        text = FENCE.sub("", page.read_text())
        links = dict(re.findall(r"^\[(\w+)\]: \.\./\.\./(tests/\S+)$", text, re.M))
        for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.M):
            columns, _, *rows = table.splitlines()
            yield f"{page.name}: {columns}", rows, links


def untested(row: str, links: dict[str, str]) -> str:
    """Return the fault of a row of promises, or an empty string if it names tests that exist."""
    names = re.findall(r"\[(\w+)\]", row.rsplit("|", 2)[1])
    missing = [name for name in names if not (ROOT / links.get(name, "none")).is_file()]
    return f"no test {missing}: {row}" if missing or not names else ""


def test_each_promise_names_its_tests() -> None:
    promises = [(rows, links) for columns, rows, links in tables() if "| tests |" in columns]
    assert len(promises) >= 8
    assert [fault for rows, links in promises for row in rows if (fault := untested(row, links))] == []


def test_each_table_of_the_concepts_has_tests_or_is_no_promise() -> None:
    found = {columns for columns, _, _ in tables() if "| tests |" not in columns}
    assert found == NO_PROMISES.keys()


@pytest.mark.parametrize(
    ("row", "is_fault"),
    [
        ("| a | [docs], [ruff] |", False),
        ("| [docs] | b |", True),
        ("| a | [docs], [gone] |", True),
        ("| a | [unknown] |", True),
        ("| a | |", True),
    ],
)
def test_what_counts_as_a_named_test(row: str, is_fault: bool) -> None:
    links = {"docs": "tests/unit/test_docs.py", "ruff": "tests/conftest.py", "gone": "tests/unit/test_gone.py"}
    assert bool(untested(row, links)) is is_fault
