"""The examples of docs/guide/contribute.md, carried out in a copy of the repository.

A block that begins with `+++` and a file is a patch: lines with `+` are added, lines with `-` are removed, and the
others are the place, which the file has once. A few other lines may stand between the lines of a place, so that no
addition of a line breaks an example. `@@` separates places. A block of Python or HTML that begins with a comment of a
path is a new file.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "contribute.md"
EXAMPLES = (
    "Adding an event",
    "Adding a stage",
    "Adding an operator of the query",
    "Adding a field of the document",
    "Adding a ranking signal",
    "Adding a source beside the results",
)
_BLOCK = re.compile(r"^```(diff|python|html)\n(.*?)^```$", re.M | re.S)
MAX_LINES_BETWEEN = 8
"""Maximum lines of a file between two lines of a place."""
_COMMENTS = {"python": "#", "html": "{#"}
CHECKED_BY = (
    "tests/stages/test_call_traces.py",
    "tests/stages/test_gateway_help.py",
    "tests/stages/test_gateway_lengths.py",
    "tests/stages/test_gateway_ranking.py",
    "tests/stages/test_gateway_sources.py",
    "tests/stages/test_readability.py",
    "tests/unit/ledger/test_descriptions.py",
    "tests/unit/ledger/test_status.py",
    "tests/unit/pages/test_facts.py",
    "tests/unit/planning",
    "tests/unit/schemas",
    "tests/unit/search/query_language/test_matching.py",
    "tests/unit/search/query_language/test_query.py",
    "tests/unit/search/ranking/test_title_words.py",
    "tests/unit/search/test_lengths.py",
    "tests/unit/search/test_options.py",
    "tests/unit/stores/test_packing.py",
    "tests/unit/stores/test_page_record.py",
    "tests/rules/test_docs.py",
    "tests/rules/test_layers.py",
    "tests/rules/test_regular_expressions.py",
    "tests/unit/test_topology.py",
    "tests/rules/test_words.py",
)
"""The tests that the examples could break, and the examples' own."""
NOT_BROKEN = " and ".join(
    f"not {name}"
    for name in (
        "test_a_new_package_needs_a_layer",
        "test_imports_that_point_the_wrong_way_are_found",
        "test_no_pure_module_may_reach_out_of_the_process",
        "test_such_a_pattern_is_exponential",
    )
)
"""Without those that try a rule on mistakes of their own: no addition changes what they find."""


def section(heading: str) -> str:
    """The text below a heading of the guide."""
    return GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def carry_out(kind: str, block: str, root: Path) -> str:
    """Change or make the file of a block. Return the file's path."""
    first, content = block.split("\n", 1)
    mark, name = first.removesuffix(" #}").split(maxsplit=1)
    path = root / name
    if kind in _COMMENTS:
        assert mark == _COMMENTS[kind], f"{first}: a new file begins with a comment of its path"
        assert not path.exists(), f"{name} is there already"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    else:
        assert mark == "+++", f"{first}: a patch begins with +++ and a file"
        try:
            path.write_text(patch(path.read_text(encoding="utf-8"), content), encoding="utf-8")
        except ValueError as error:
            raise ValueError(
                f"an example of docs/guide/contribute.md changes {name}: {error}"
                "If your change moved this place, change the example in the same commit."
            ) from None
    return name


def patch(text: str, changes: str) -> str:
    """The text with the changes. Raises ValueError if a place is not there, or more than once."""
    for hunk in filter(None, changes.split("@@\n")):
        lines = [line if line.strip() else " \n" for line in hunk.splitlines(keepends=True)]
        before = [line[1:] for line in lines if line[0] in " -"]
        have = text.splitlines(keepends=True)
        found = _places(have, before)
        if len(found) != 1:
            raise ValueError(f"the file does not have once:\n{''.join(before)}")
        place = iter(found[0])
        at, after = found[0][0], have[: found[0][0]]
        for line in lines:
            if line[0] == "+":
                after.append(line[1:])
                continue
            there = next(place)
            after += have[at : there if line[0] == "-" else there + 1]
            at = there + 1
        text = "".join(after + have[at:])
    return text


def _places(have: Sequence[str], wanted: Sequence[str]) -> list[list[int]]:
    """The places of the wanted lines among those of a file: the numbers of the lines, of the closest places only."""
    places = []
    for start in (number for number, line in enumerate(have) if wanted and line == wanted[0]):
        place = [start]
        for line in wanted[1:]:
            following = range(place[-1] + 1, min(place[-1] + 2 + MAX_LINES_BETWEEN, len(have)))
            if (there := next((number for number in following if have[number] == line), None)) is None:
                break
            place.append(there)
        else:
            places.append(place)
    closest = min((place[-1] - place[0] for place in places), default=0)
    return [place for place in places if place[-1] - place[0] == closest]


def contents(root: Path) -> dict[str, bytes]:
    """Each file of a copy with its bytes."""
    files = (path for path in root.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def run(root: Path, *arguments: str) -> str:
    """Run a module of Python in the copy. Return its output."""
    ran = subprocess.run(
        (sys.executable, "-m", *arguments), cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert ran.returncode == 0, (
        f"with the examples of docs/guide/contribute.md carried out, `python -m {' '.join(arguments)}` fails. Mend the "
        f"example, or what it meets:\n{ran.stdout[-8_000:]}"
    )
    return ran.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, unchanged, with what is compiled already: its modules are those of the same files."""
    root = tmp_path_factory.mktemp("contribute") / "riffle"
    return Path(shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".*"), symlinks=True))


@pytest.mark.timeout(900)
def test_the_examples_are_all_that_there_is_to_do(copy: Path) -> None:
    before = contents(copy)
    written = {carry_out(kind, block, copy) for heading in EXAMPLES for kind, block in _BLOCK.findall(section(heading))}
    generated = set(re.findall(r"^wrote (.*)$", run(copy, "docs.generate"), re.M))
    assert "schemas/generated/pages.measured.schema.json" in generated
    changed = {name for name, content in contents(copy).items() if before.get(name) != content}
    assert changed == written | generated
    python = sorted(name for name in written if name.endswith(".py"))
    # Other imports may stand around those of an example: `make format` sorts them.
    run(copy, "ruff", "check", "--no-cache", "--select", "I,RUF022", "--fix", *python)
    run(copy, "ruff", "check", "--no-cache", *python)
    run(copy, "ruff", "format", "--check", "--no-cache", *python)
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=few", "-k", NOT_BROKEN, *CHECKED_BY)


def test_a_place_that_has_changed_is_named() -> None:
    assert patch("a\nb\nc\n", "@@\n a\n+x\n-b\n@@\n c\n+d\n") == "a\nx\nc\nd\n"
    assert patch("a\nnew\nb\n", "@@\n a\n+x\n b\n") == "a\nx\nnew\nb\n", "another line came between"
    assert patch("a\nnew\na\nb\n", "@@\n a\n+x\n b\n") == "a\nnew\na\nx\nb\n", "the closest place"
    far = "new\n" * (MAX_LINES_BETWEEN + 1)
    for gone in ("@@\n z\n+x\n", "@@\n c\n a\n", "@@\n d\n+x\n"):
        with pytest.raises(ValueError, match="does not have once"):
            patch("a\nb\nc\nd\nd\n", gone)
    with pytest.raises(ValueError, match="does not have once"):
        patch(f"a\n{far}b\n", "@@\n a\n+x\n b\n")
