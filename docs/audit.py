"""`make audit`: ask an advisory source about locked packages and jars, and look for versions beyond their support.

`pip-audit` asks about Python's packages. Where its source does not know a package, as behind a mirror without
advisories, it reports success. So this script counts the packages that the source answered about, and fails if one was
not asked. Jars, Go modules and actions are asked about at OSV (`docs.advisories`), and each version outside of
Python's locks has a day until which it is mended (`docs.versions`). What an image holds, its Debian packages above all,
is asked about when the image is named: `--image NAME`, with the scanner that `make scanner` builds.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from docs.advisories import OSV, ask_osv, packages_of
from docs.versions import Version, read_versions

ROOT = Path(__file__).parents[1]
LOCKS = ("production", "local", "triton", "models", "map", "chat")
"""The locks of what a user runs."""
SOURCES = ("pypi", "osv")
CLEAN, VULNERABLE, NOT_ASKED = 0, 1, 3
IMAGE = "image "
SCANNER = ROOT / ".tools" / "osv-scanner"
OLD = VULNERABLE
"""A version beyond its support gets no advisories any more, so it counts as vulnerable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the source about the packages of one lock."""

    lock: str
    asked: int
    """Number of packages that it answered about."""
    unknown: tuple[str, ...] = ()
    """Packages that it did not answer about."""
    found: tuple[str, ...] = ()
    """A line for each vulnerability."""
    error: str = ""
    """Why there is no answer at all."""

    @property
    def place(self) -> str:
        """The file, or the image, that was asked about."""
        if self.lock.startswith(IMAGE):
            return self.lock
        return f"requirements/{self.lock if '.' in self.lock else f'{self.lock}.txt'}"


def main() -> int:
    """Ask about each lock, and print what was found. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__.splitlines()[0])
    parser.add_argument("program", help="PIP_AUDIT: the program")
    parser.add_argument("--source", default=SOURCES[0], choices=SOURCES, help="SOURCE of advisories")
    parser.add_argument("--osv", default=OSV, help="ADDRESS that is asked about jars, Go modules and actions")
    parser.add_argument(
        "--date",
        default=datetime.now(UTC).date(),
        type=date.fromisoformat,
        help="DAY (YYYY-MM-DD) on which all versions must be mended. Default: today",
    )
    parser.add_argument(
        "--image", metavar="NAME", action="append", default=[], help="an image whose packages are asked about"
    )
    parser.add_argument("--versions-only", action="store_true", help="look at the days alone, and ask nobody")
    chosen = parser.parse_args()
    versions = read_versions()
    lines, status = report_ages(versions, chosen.date)
    if not chosen.versions_only:
        answers = [*(ask(chosen.program, lock, chosen.source) for lock in LOCKS), ask_others(versions, chosen.osv)]
        answers += [ask_image(str(SCANNER), image) for image in chosen.image]
        found, of_answers = report(answers)
        lines, status = [*lines, *found], VULNERABLE if VULNERABLE in (status, of_answers) else max(status, of_answers)
    sys.stdout.write("\n".join(lines) + "\n")
    return status


def report_ages(versions: Sequence[Version], day: date) -> tuple[list[str], int]:
    """Return the lines to print about support on a day, and the exit status."""
    faults = [fault for one in versions if (fault := one.fault_on(day))]
    notes = [f"ACCEPTED {note}" for one in versions if (note := one.note_on(day))]
    summary = f"{len(versions)} versions of requirements/versions.toml, {len(faults)} beyond their support on {day}"
    return [*(f"OLD {fault}" for fault in faults), *notes, summary], OLD if faults else CLEAN


def ask_others(versions: Sequence[Version], address: str) -> Answer:
    """Return what OSV says about jars, Go modules and actions."""
    packages = packages_of(versions)
    try:
        return Answer("versions.toml", len(packages), found=tuple(ask_osv(packages, address)))
    except (OSError, ValueError) as error:
        return Answer("versions.toml", 0, error=f"{address} gave no whole answer: {error}")


def ask_image(program: str, image: str) -> Answer:
    """Return what OSV says about the packages in an image of this machine, or in a file of one (`NAME.tar`)."""
    kind = ["--archive"] if image.endswith(".tar") else []
    command = [program, "scan", "image", *kind, "--all-packages", "--format", "json", image]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        found = json.loads(done.stdout)["results"]
    except OSError as error:
        return Answer(f"{IMAGE}{image}", 0, error=f"no scanner ({error}): make scanner")
    except (json.JSONDecodeError, KeyError):
        return Answer(f"{IMAGE}{image}", 0, error=(done.stderr.strip().splitlines() or ["no answer"])[-1])
    packages = [package for result in found or () for package in result.get("packages", ())]
    lines = [
        f"{one['package']['name']} {one['package']['version']}: {vulnerability['id']}"
        for one in packages
        for vulnerability in one.get("vulnerabilities", ())
    ]
    error = "" if packages else "the scanner found no package in it"
    return Answer(f"{IMAGE}{image}", len(packages), found=tuple(lines), error=error)


def ask(program: str, lock: str, source: str) -> Answer:
    """Return what a source of advisories says about a lock."""
    command = [
        program,
        "--disable-pip",
        "--no-deps",
        "-r",
        f"requirements/{lock}.txt",
        "--vulnerability-service",
        source,
    ]
    done = subprocess.run(
        [*command, "--format", "json", "--progress-spinner", "off"], cwd=ROOT, capture_output=True, text=True
    )
    try:
        return read_answer(lock, json.loads(done.stdout))
    except json.JSONDecodeError:
        return Answer(lock, 0, error=(done.stderr.strip().splitlines() or ["no answer"])[-1])


def read_answer(lock: str, answer: Mapping[str, Any]) -> Answer:
    """Return what `pip-audit` answered, as it writes it in JSON."""
    packages = answer["dependencies"]
    found = [
        f"{package['name']} {package['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'none'}"
        for package in packages
        for one in package.get("vulns", ())
    ]
    unknown = tuple(package["name"] for package in packages if "skip_reason" in package)
    return Answer(lock, len(packages) - len(unknown), unknown, tuple(found))


def report(answers: Sequence[Answer]) -> tuple[list[str], int]:
    """Return the lines to print and the exit status. A vulnerability is worse than a package without an answer."""
    lines: list[str] = []
    for answer in answers:
        lines += [f"VULNERABLE {answer.place}: {line}" for line in answer.found]
        if answer.error:
            lines.append(f"NOT CHECKED {answer.place}: {answer.error}")
        elif answer.unknown:
            all_of_it = answer.asked + len(answer.unknown)
            names = ", ".join(answer.unknown[:5]) + (", ..." if len(answer.unknown) > 5 else "")
            lines.append(
                f"NOT CHECKED {answer.place}: the source of advisories does not know "
                f"{len(answer.unknown)} of {all_of_it} packages ({names})"
            )
    asked = sum(answer.asked for answer in answers)
    lines.append(
        f"{asked} packages were checked, {sum(len(answer.found) for answer in answers)} vulnerabilities are known"
    )
    if any(answer.found for answer in answers):
        return lines, VULNERABLE
    if any(answer.error or answer.unknown for answer in answers):
        return [*lines, "This is no result: ask from a machine that reaches a source of advisories."], NOT_ASKED
    return lines, CLEAN


if __name__ == "__main__":
    sys.exit(main())
