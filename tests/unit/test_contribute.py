"""The examples of docs/guide/contribute.md, carried out in a copy of the repository.

A block that begins with `+++` and a file is a patch: lines with `+` are added, lines with `-` are removed, and the
others are the place, which the file has once. `@@` separates places. A block of Python or HTML that begins with a
comment of a path is a new file.
"""

import re
import shutil
import subprocess
import sys
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
_COMMENTS = {"python": "#", "html": "{#"}
CHECKED_BY = (
    "tests/stages/test_call_traces.py",
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
    "tests/unit/test_docs.py",
    "tests/unit/test_layers.py",
    "tests/unit/test_regular_expressions.py",
    "tests/unit/test_topology.py",
    "tests/unit/test_words.py",
)
"""The tests that the examples could break, and the examples' own."""


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
        path.write_text(patch(path.read_text(encoding="utf-8"), content), encoding="utf-8")
    return name


def patch(text: str, changes: str) -> str:
    """The text with the changes. Raises ValueError if a place is not there, or more than once."""
    for hunk in filter(None, changes.split("@@\n")):
        lines = [line if line.strip() else " \n" for line in hunk.splitlines(keepends=True)]
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        if f"\n{text}".count(f"\n{before}") != 1:
            raise ValueError(f"the guide changes a place that the file does not have once:\n{before}")
        text = f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:]
    return text


def contents(root: Path) -> dict[str, bytes]:
    """Each file of a copy with its bytes."""
    files = (path for path in root.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def run(root: Path, *arguments: str) -> str:
    """Run a module of Python in the copy. Return its output."""
    ran = subprocess.run(
        (sys.executable, "-m", *arguments), cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert ran.returncode == 0, ran.stdout[-8_000:]
    return ran.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, unchanged."""
    root = tmp_path_factory.mktemp("contribute") / "riffle"
    return Path(shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".*", "__pycache__"), symlinks=True))


def test_the_examples_are_all_that_there_is_to_do(copy: Path) -> None:
    before = contents(copy)
    written = {carry_out(kind, block, copy) for heading in EXAMPLES for kind, block in _BLOCK.findall(section(heading))}
    generated = set(re.findall(r"^wrote (.*)$", run(copy, "docs.generate"), re.M))
    assert "schemas/generated/pages.measured.schema.json" in generated
    changed = {name for name, content in contents(copy).items() if before.get(name) != content}
    assert changed == written | generated
    python = sorted(name for name in written if name.endswith(".py"))
    run(copy, "ruff", "check", "--no-cache", *python)
    run(copy, "ruff", "format", "--check", "--no-cache", *python)
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", *CHECKED_BY)


def test_a_place_that_has_changed_is_named() -> None:
    assert patch("a\nb\nc\n", "@@\n a\n+x\n-b\n@@\n c\n+d\n") == "a\nx\nc\nd\n"
    for gone in ("@@\n z\n+x\n", "@@\n a\n c\n"):
        with pytest.raises(ValueError, match="does not have once"):
            patch("a\nb\nc\n", gone)
