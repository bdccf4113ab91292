"""An environment with the wheel and the packages that it declares, without the checkout and its tools.

The wheel is built and installed without a network. Its dependencies are links into the environment of the tests.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.weights import build, read_weights
from tests.integration.collector import Collector

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
PROJECT = "riffle-search"
DATA = "riffle-model-minilm"


@dataclass(frozen=True)
class Installed:
    """The environment, and an empty folder in which its programs run."""

    prefix: Path
    folder: Path

    def environ(self, **variables: str) -> dict[str, str]:
        """The variables of a shell that knows nothing of the checkout."""
        kept = {name: value for name in ("LANG", "TMPDIR") if (value := os.environ.get(name))}
        path = f"{self.prefix / 'bin'}:/usr/local/bin:/usr/bin:/bin"
        home = {"HOME": str(self.folder), "RIFFLE_HOME": str(self.folder / "home")}
        return {**kept, **home, "PATH": path, "COLUMNS": "200", **variables}

    def run(self, program: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, such as `riffle` or `python`, in the empty folder."""
        command = [str(self.prefix / "bin" / program), *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.folder, env=self.environ(**variables), capture_output=True, text=True, timeout=1_200
        )


JARS = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
"""The downloaded servers belong to this machine's user: other tests have fetched them."""


@dataclass
class Product:
    """An installation with a running stack."""

    installed: Installed
    variables: dict[str, str]
    """Environment variables of the stack and of all its commands."""
    traces: Collector
    """The collector that gets the traces of the stack."""
    shown: str = ""
    """Output of the demo that started the stack."""

    @property
    def folder(self) -> Path:
        return self.installed.folder

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def output_of(self, *arguments: object, status: int = 0) -> str:
        """Run a command, and return what it writes to stdout."""
        shown = self.installed.run("riffle", *arguments, **self.variables)
        assert shown.returncode == status, shown.stdout + shown.stderr
        return shown.stdout

    def answer(self, *arguments: object, status: int = 0) -> Any:
        return json.loads(self.output_of(*arguments, "--json", status=status))


def build_wheel(folder: Path) -> Path:
    """Build the distribution as it is published: the sources, and of these the wheel. Returns its path."""
    _uv("build", "--no-build-isolation", "--offline", "--out-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def build_client(folder: Path) -> Path:
    """Build the client's distribution as it is published: the sources, and of these the wheel. Returns its path."""
    _uv("build", "--no-build-isolation", "--offline", "--out-dir", folder, ROOT / "streams" / "client")
    return next(folder.glob("*.whl"))


def unpack_client(folder: Path) -> Path:
    """Build the client, and install it into a folder without what it needs. Returns the folder: a place of packages."""
    _uv("pip", "install", "--quiet", "--offline", "--no-deps", "--target", folder / "packages", build_client(folder))
    return folder / "packages"


def install(
    wheel: Path, folder: Path, extras: Iterable[str] = (), *, weights: bool = False, project: str = PROJECT
) -> Installed:
    """Make an environment with this wheel, and with links to the packages that it and these extras declare.

    With `weights`, the data package of the default model is built and installed: no lock has it.
    """
    made = Installed(folder / "environment", folder / "empty")
    made.folder.mkdir(parents=True)
    _uv("venv", "--quiet", "--python", sys.executable, made.prefix)
    _uv("pip", "install", "--quiet", "--offline", "--no-deps", "--python", made.prefix / "bin" / "python", wheel)
    packages = next((made.prefix / "lib").glob("python3*")) / "site-packages"
    own = next(found for found in distributions(path=[str(packages)]) if found.name == project)
    given: set[str] = set()
    if weights:
        data = next(each for each in read_weights() if each.name == DATA)
        built = build(data, folder)
        _uv("pip", "install", "--quiet", "--offline", "--no-deps", "--python", made.prefix / "bin" / "python", built)
        given = {data.name}
    link(required(own, extras, given), packages)
    return made


def required(own: Distribution, extras: Iterable[str], given: Collection[str] = ()) -> list[Distribution]:
    """The installed distributions that a distribution declares, and those that these declare, and so on.

    Those that are `given` are in the environment already.
    """
    found: dict[str, Distribution] = {}
    waiting = [(own, frozenset(extras))]
    asked: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        of, wanted = waiting.pop()
        for requirement in _requirements(of, wanted):
            name, more = canonicalize_name(requirement.name), frozenset(requirement.extras)
            if (name, more) in asked:
                continue
            asked.add((name, more))
            if name == own.name:  # an extra that has another one
                waiting.append((own, more))
                continue
            if name in given:
                continue
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                raise AssertionError(f"{of.name} needs {requirement}, which the lock does not have") from None
            waiting.append((found[name], more))
    return list(found.values())


def _requirements(of: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for line in of.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            yield requirement


def link(packages: Iterable[Distribution], folder: Path) -> None:
    """Link distributions into a folder of packages."""
    roots = [(Path(str(package.locate_file(""))), package.files or ()) for package in packages]
    # Programs are outside of the folder of the packages, in `../../../bin`.
    owned = [
        (owner, root / file, file)
        for owner, (root, files) in enumerate(roots)
        for file in files
        if ".." not in file.parts
    ]
    _link(owned, folder, 1)


def _link(files: Sequence[tuple[int, Path, PurePosixPath]], folder: Path, depth: int) -> None:
    """Link the first `depth` parts of each path where one distribution owns all below them, and go deeper elsewhere."""
    groups = defaultdict(list)
    for file in files:
        groups[file[2].parts[:depth]].append(file)
    for parts, below in groups.items():
        place, (_, source, path) = folder.joinpath(*parts), below[0]
        if len({owner for owner, _, _ in below}) == 1:
            place.symlink_to(Path(*source.parts[: len(source.parts) - len(path.parts) + depth]))
        else:
            place.mkdir(exist_ok=True)
            _link(below, folder, depth + 1)


def _uv(*arguments: object) -> None:
    made = subprocess.run([str(UV), *map(str, arguments)], capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
