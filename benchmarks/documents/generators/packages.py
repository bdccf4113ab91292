"""Gets packages by their ordinary clients, and unpacks them into a folder.

A package that is there is not asked for again. Nothing is installed: Debian's packages are unpacked, Python's go into a
folder of their own.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

from streams.errors import UsageError

SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
"""The machine's list of Debian's repositories. Source packages are switched on in a copy of it."""


class Packages:
    """The packages of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._options: list[str] = []

    def binary(self, name: str) -> Path:
        """Return the folder of an unpacked Debian package."""
        target = self.folder / "binary" / name
        if not target.exists():
            waiting = self._waiting(name)
            self._apt("download", name, where=waiting)
            target.parent.mkdir(parents=True, exist_ok=True)
            run_tool(["dpkg", "-x", str(next(waiting.glob("*.deb"))), str(target)])
        return target

    def source(self, name: str) -> Path:
        """Return the folder of an unpacked Debian source, without Debian's own changes."""
        target = self.folder / "source" / name
        if not target.exists():
            waiting = self._waiting(name)
            self._apt("source", "--download-only", "--tar-only", name, where=waiting)
            _unpack([path for path in waiting.iterdir() if ".tar." in path.name and path.suffix != ".asc"], target)
        return target

    def python_source(self, requirement: str) -> Path:
        """Return the folder of an unpacked source package of Python."""
        target = self.folder / "python-source" / requirement
        if not target.exists():
            waiting = self._waiting(requirement)
            words = ["pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(waiting), requirement]
            run_tool([sys.executable, "-m", *words])
            _unpack(list(waiting.glob("*.tar.gz")), target)
        return target

    def python(self, *requirements: str) -> Path:
        """Return a folder with packages of Python, for PYTHONPATH."""
        target = self.folder / "python" / "+".join(requirements)
        if not target.exists():
            run_tool([sys.executable, "-m", "pip", "install", "-q", "--target", str(target), *requirements])
        return target

    def _waiting(self, name: str) -> Path:
        waiting = self.folder / "downloads" / name
        waiting.mkdir(parents=True, exist_ok=True)
        return waiting

    def _apt(self, *words: str, where: Path) -> None:
        if not self._options:
            self._options = self._prepare()
        run_tool(["apt-get", *self._options, "-qq", *words], where)

    def _prepare(self) -> list[str]:
        """Make a list of repositories of this folder's own, with sources. The machine's lists stay as they are."""
        apt = (self.folder / "apt").absolute()
        (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (apt / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        own = apt / "own.sources"
        own.write_text(SOURCES.read_text(encoding="utf-8").replace("Types: deb\n", "Types: deb deb-src\n"))
        places = {
            "Dir::Etc::sourcelist": own,
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": apt / "lists",
            "Dir::Cache": apt / "cache",
            "APT::Sandbox::User": "root",
        }
        options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
        if not any((apt / "lists").glob("*Packages*")):
            run_tool(["apt-get", *options, "-qq", "update"])
        return options


def _unpack(archives: list[Path], target: Path) -> None:
    for archive in archives:
        with tarfile.open(archive) as opened:
            opened.extractall(target, filter="data")


def run_tool(words: list[str], where: Path | None = None, **environment: str) -> None:
    """Run a program. Raises UsageError with the end of what it printed if it fails."""
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise UsageError(f"`{' '.join(words[:1] + words[-3:])}` ended with {done.returncode}: {done.stderr[-300:]}")
