"""Versions outside of the Python locks: `requirements/versions.toml` is their owner, and this module reads it.

Files that name a version keep it as text, since Docker, Make, Go and CI read them by themselves. `USES` says how such a
text looks in each kind of file: a test finds all of them, and fails for one that no entry of the owner lists.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWNER = ROOT / "requirements" / "versions.toml"


@dataclass(frozen=True, slots=True)
class Version:
    """One entry of the owner. Its head describes the fields."""

    name: str
    version: str
    released: date
    until: date
    basis: str
    uses: tuple[tuple[str, str], ...]
    """File and text of each use, with the version in it."""
    digest: str = ""
    lock: str = ""
    ask: tuple[str, str] | None = None
    """Ecosystem and name in the source of advisories."""
    accepted: tuple[date, str] | None = None
    """The day up to which it stays beyond `until`, and why."""

    def fault_on(self, day: date) -> str:
        """Return what is wrong with the version on a day; an empty string while its project mends it."""
        if day <= self.until:
            return ""
        beyond = f"{self.name} {self.version} is beyond its support since {self.until} ({self.basis})"
        if self.accepted and day <= self.accepted[0]:
            return ""
        return f"{beyond}, and was accepted until {self.accepted[0]}" if self.accepted else beyond

    def note_on(self, day: date) -> str:
        """Return why the version is kept on a day though it is beyond its support; empty if that is not so."""
        if not self.accepted or not self.until < day <= self.accepted[0]:
            return ""
        return f"{self.name} {self.version}, beyond its support, until {self.accepted[0]}: {self.accepted[1]}"


def read_versions(owner: Path = OWNER) -> list[Version]:
    """Return all entries. Raises TypeError for a field that is missing or unknown."""
    return [_read_entry(name, dict(entry)) for name, entry in tomllib.loads(owner.read_text()).items()]


def _read_entry(name: str, entry: dict[str, object]) -> Version:
    version, digest = str(entry["version"]), str(entry.get("digest", ""))
    minor = ".".join(version.split(".")[:2])

    def fill(text: str) -> str:
        return text.replace("{version}", version).replace("{minor}", minor).replace("{digest}", digest)

    uses = entry.pop("uses")
    assert isinstance(uses, list)
    paired = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return Version(name, **{**entry, **paired}, uses=tuple((file, fill(text)) for file, text in uses))  # type: ignore[arg-type]  # the test reads all


USES: dict[str, str] = {
    "**/Dockerfile": r"^(?:FROM|ARG \w+=)\s*\S*[a-z]:\S+.*$",
    ".github/workflows/*.yml": r"uses: \S+@.*$|runs-on: \S+$|runner: .*$|[a-z]+-version: \".*$",
    ".gitlab-ci.yml": r"image: \S+$",
    "Makefile": r"\S+/\S+@v?\d\S*|gitVersion=\S+",
    "streams/local/servers/java.py": r"\"[\w.]+:[\w.-]+:\d[\w.]*\"",
    "requirements/strimzi.lock.toml": r"^roots = .*$",
    "requirements/chart.txt": r"^[a-z0-9-]+==\S+ ",
    "tests/chart/kubernetes_schemas.py": r"\"\S+@v\d\S*\"",
    "tests/chart/one_node/stand_ins.py": r"\"[a-z]+\.[a-z./]+:\S+\"",
    "tests/chart/*/go.mod": r"^require \S+ v\S+$",
    "tests/subscribers/go.mod": r"^require \S+ v\S+$",
    "tests/clients/go/go.mod": r"^require \S+ v\S+$",
    "tests/clients/java/pom.xml": r"<version>\d+\.\S+</version>",
    "schemas/npm/package.json": r"\"(?:openapi-[a-z]+|typescript)\": \"\d[\d.]*\"",
    "infra/k8s/base/**/*.yaml": r"(?:serverVersion|image): \S*[\d:]\S*$",
    "infra/one_machine/compose.yaml": r"image: docker\.io/\S+$",
    "infra/k8s/README.md": r"^\s*\| [A-Z][\w ]* \d+\.\d+.*$",
}
"""Pattern of the texts that name a version, by the files in which they stand."""


def find_uses(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Yield the file and the line of each text that names a version."""
    for pattern, expression in USES.items():
        for path in sorted(root.glob(pattern)):
            if not path.relative_to(root).parts[0].startswith((".venv", ".tools")):
                for found in re.finditer(expression, path.read_text(), re.MULTILINE):
                    yield path.relative_to(root).as_posix(), found[0]
