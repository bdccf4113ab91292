"""`make audit`: ask an advisory source whether the locked packages have known vulnerabilities.

`pip-audit` asks. Where its source does not know a package, as behind a mirror without advisories, it reports success.
So this script counts the packages that the source answered about, and fails if one was not asked.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKS = ("production", "triton", "models", "map", "chat")
"""The locks of what a user runs."""
SOURCES = ("pypi", "osv")
CLEAN, VULNERABLE, NOT_ASKED = 0, 1, 3


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


def main() -> int:
    """Ask about each lock, and print what was found. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__.splitlines()[0])
    parser.add_argument("program", help="PIP_AUDIT: the program")
    parser.add_argument("--source", default=SOURCES[0], choices=SOURCES, help="SOURCE of advisories")
    chosen = parser.parse_args()
    answers = [ask(chosen.program, lock, chosen.source) for lock in LOCKS]
    lines, status = report(answers)
    sys.stdout.write("\n".join(lines) + "\n")
    return status


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
        lines += [f"VULNERABLE requirements/{answer.lock}.txt: {line}" for line in answer.found]
        if answer.error:
            lines.append(f"NOT CHECKED requirements/{answer.lock}.txt: {answer.error}")
        elif answer.unknown:
            all_of_it = answer.asked + len(answer.unknown)
            names = ", ".join(answer.unknown[:5]) + (", ..." if len(answer.unknown) > 5 else "")
            lines.append(
                f"NOT CHECKED requirements/{answer.lock}.txt: the source of advisories does not know "
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
