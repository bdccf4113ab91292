"""Versions outside of the Python locks: each text that names one is listed by its owner, which knows when each ends."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from docs.versions import OWNER, ROOT, Version, find_uses, read_versions

VERSIONS = read_versions()
USES = [(one.name, *use) for one in VERSIONS for use in one.uses]


@pytest.mark.parametrize(("name", "file", "text"), USES, ids=[f"{name}-{file}" for name, file, _ in USES])
def test_a_file_names_the_version_of_its_owner(name: str, file: str, text: str) -> None:
    assert text in (ROOT / file).read_text(), f"{file} has another version than [{name}] of {OWNER.name}: {text!r}"


def test_no_text_names_a_version_that_has_no_owner() -> None:
    """A base image, a jar, a module, an action or an operator that is added needs an entry: it is denied by default."""
    listed = [(file, text.strip()) for _, file, text in USES]
    without = [
        (file, line)
        for file, line in find_uses()
        if not any(file == of and (text in line or line in text) for of, text in listed) and "${RIFFLE}" not in line
    ]
    own = [(file, line) for file, line in without if not re.search(r"riffle:\d", line)]
    assert own == [], f"name them in {OWNER.name}"


def test_each_kind_of_use_is_found() -> None:
    """Without a hit, a pattern would find nothing when it should."""
    files = {file for file, _ in find_uses()}
    assert {file for _, file, _ in USES if not file.endswith((".md", "pyproject.toml"))} <= files


@pytest.mark.parametrize("one", VERSIONS, ids=lambda one: one.name)
def test_an_entry_is_whole(one: Version) -> None:
    assert one.basis
    assert one.uses
    assert one.released < one.until
    # An action's commit, or an image's content, which stands behind the version in each of its uses.
    assert re.fullmatch(r"|[0-9a-f]{40}|sha256:[0-9a-f]{64}", one.digest)
    assert not one.digest.startswith("sha256:") or all(f"@{one.digest}" in text for _, text in one.uses)
    assert not one.lock or (ROOT / one.lock).is_file()
    assert not one.accepted or (one.accepted[1] and one.accepted[0] > one.until)


def version(**changes: object) -> Version:
    given: dict[str, object] = {"released": date(2025, 1, 1), "until": date(2026, 1, 31), "basis": "a year"}
    return Version("kafka", "4.3.1", uses=(), **{**given, **changes})  # type: ignore[arg-type]  # fields by name


ACCEPTED = (date(2026, 6, 30), "tests alone run it")
AGES = [
    # the entry, the day, a part of the fault, a part of the note
    (version(), date(2026, 1, 31), "", ""),
    (version(), date(2026, 2, 1), "kafka 4.3.1 is beyond its support since 2026-01-31 (a year)", ""),
    (version(accepted=ACCEPTED), date(2026, 1, 1), "", ""),
    (version(accepted=ACCEPTED), date(2026, 6, 30), "", "until 2026-06-30: tests alone run it"),
    (version(accepted=ACCEPTED), date(2026, 7, 1), "and was accepted until 2026-06-30", ""),
]


@pytest.mark.parametrize(("one", "day", "fault", "note"), AGES)
def test_support_ends_on_a_day(one: Version, day: date, fault: str, note: str) -> None:
    assert fault in one.fault_on(day)
    assert bool(fault) == bool(one.fault_on(day))
    assert note in one.note_on(day)
    assert bool(note) == bool(one.note_on(day))


def test_the_local_servers_are_mended_by_their_projects() -> None:
    """Servers that Riffle itself starts for its users are never accepted beyond their support."""
    own = {one.name: one for one in VERSIONS}
    assert not any(own[name].accepted for name in ("kafka", "cassandra", "python-image", "triton-image", "java"))


def test_an_entry_with_a_misspelt_field_is_refused(tmp_path: Path) -> None:
    owner = tmp_path / "versions.toml"
    owner.write_text('[kafka]\nversion = "1"\nreleased = 2026-01-01\nuntill = 2027-01-01\nbasis = "x"\nuses = []\n')
    with pytest.raises(TypeError, match="untill"):
        read_versions(owner)


RENOVATE = json.loads((ROOT / "renovate.json").read_text())["customManagers"]


@pytest.mark.parametrize("manager", RENOVATE, ids=lambda one: one.get("description", one["datasourceTemplate"]))
def test_each_pattern_of_renovate_finds_versions_of_the_owner(manager: dict[str, list[str]]) -> None:
    """A pattern without a hit would never propose anything."""
    known = {one.version for one in VERSIONS}
    for file in manager["managerFilePatterns"]:
        path = re.sub(r"^/\^|\\|\$/$", "", file)
        expression = re.sub(r"\(\?<(\w)", r"(?P<\1", manager["matchStrings"][0])
        found = [one["currentValue"].removeprefix("v") for one in re.finditer(expression, (ROOT / path).read_text())]
        assert found, f"{expression} finds nothing in {path}"
        assert set(found) <= known
