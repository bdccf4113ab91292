"""The table of packages in docs/concepts/architecture.md against every import of `streams/` and `schemas/`."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "docs" / "concepts" / "architecture.md"
MAX_MODULES = 20
"""Maximum number of modules in one folder: more are not taken in at a glance."""


def layers() -> dict[str, int]:
    """Package -> its line in the table."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", ARCHITECTURE.read_text(encoding="utf-8"), re.M)
    table = rows[: next(index for index, (line, _) in enumerate(rows) if line == "1") + 1]
    return {package: int(line) for line, packages in table for package in re.findall(r"`(\w+)`", packages)}


def sources() -> list[Path]:
    return sorted([*(ROOT / "streams").rglob("*.py"), *(ROOT / "schemas").rglob("*.py")])


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """The package on the table: the second part of `streams.<package>`, or `schemas`."""
    first, _, rest = module.partition(".")
    return first if first == "schemas" else rest.partition(".")[0]


def imported(path: Path) -> Iterator[str]:
    """Absolute names of the modules of this project that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in names if name.partition(".")[0] in ("streams", "schemas"))


LAYERS = layers()
MODULES = {module_name(path): path for path in sources()}


def test_the_table_names_every_package() -> None:
    packages = {package_of(name) for name in MODULES} - {""}
    empty = {"knowledge", "queries"}  # packages that are reserved for later work
    assert set(LAYERS) == packages - empty, "mend the table in docs/concepts/architecture.md"


@pytest.mark.parametrize("path", sources(), ids=lambda path: module_name(path))
def test_imports_point_to_lower_lines(path: Path) -> None:
    package = package_of(module_name(path))
    others = {package_of(name) for name in imported(path)} - {package, ""}
    upwards = {other for other in others if LAYERS[other] >= LAYERS.get(package, 99)}
    assert not upwards, f"{package} is on line {LAYERS[package]} and imports {upwards} from the same line or above"


def test_no_circle_of_modules() -> None:
    graph = {}
    for name, path in MODULES.items():
        targets = (target if target in MODULES else target.rpartition(".")[0] for target in imported(path))
        graph[name] = {target for target in targets if target in MODULES and target != name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other in a circle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("folder", sorted({path.parent for path in sources()}), ids=lambda folder: folder.name)
def test_a_folder_is_taken_in_at_a_glance(folder: Path) -> None:
    modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MAX_MODULES, f"{len(modules)} modules; divide {folder.relative_to(ROOT)} by job"
