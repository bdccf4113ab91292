"""The Dockerfiles: rules that a linter would ask for, and that each image holds the code that runs in it."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streams.render.chromium import PROGRAMS
from tests.chart.rendering import CHART, ROOT

DOCKERFILES = [ROOT / "Dockerfile", ROOT / "triton_models" / "Dockerfile"]


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile with their arguments, continued lines joined, comments left out."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    parts = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(part[0].upper(), part[1]) for part in parts]


def stages(path: Path) -> list[list[tuple[str, str]]]:
    """The instructions of each stage of the build."""
    found: list[list[tuple[str, str]]] = []
    for name, arguments in instructions(path):
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, arguments))
    return found


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCKERFILES, ids=name)
def test_a_base_image_has_a_version(path: Path) -> None:
    arguments = dict(value.split("=", 1) for kind, value in instructions(path) if kind == "ARG" and "=" in value)
    own = {match[1] for _, value in instructions(path) if (match := re.search(r" AS (\w+)$", value))}
    for stage in stages(path):
        image = re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], stage[0][1].split()[0])
        assert image in own or (":" in image and not image.endswith(":latest")), image


@pytest.mark.parametrize("path", DOCKERFILES, ids=name)
def test_compiled_files_are_the_same_in_each_build(path: Path) -> None:
    """By default a compiled file names the time of its source, which is the time of the build."""
    runs = [command for kind, value in instructions(path) if kind == "RUN" for command in value.split("&&")]
    compiling = [command for command in runs if "compileall" in command]
    assert compiling
    for command in compiling:
        assert "--invalidation-mode unchecked-hash" in command
        assert "PYTHONHASHSEED=0" in command
    for command in runs:
        assert not re.search(r"\bpip install .*--target", command) or "--no-compile" in command


@pytest.mark.parametrize("path", DOCKERFILES, ids=name)
def test_the_image_runs_without_root_and_has_labels_and_a_health_check(path: Path) -> None:
    text = instructions(path)
    assert ("USER", "10001") in text
    assert [kind for kind, _ in text].index("USER") > [kind for kind, _ in text].index("LABEL")
    assert "HEALTHCHECK" in dict(text)
    labels = " ".join(value for kind, value in text if kind == "LABEL")
    for label in ("title", "source", "licenses"):
        assert f"org.opencontainers.image.{label}=" in labels
    for kind, value in text:
        if kind in {"CMD", "ENTRYPOINT"}:
            assert json.loads(value), "the exec form: signals reach the program"


@pytest.mark.parametrize("path", DOCKERFILES, ids=name)
def test_packages_are_installed_by_checksum_and_nothing_is_fetched(path: Path) -> None:
    for kind, value in instructions(path):
        assert kind != "ADD"
        assert not re.search(r"\b(sudo|curl|wget|apt-get|git clone)\b", value), value
        for command in value.split("&&") if kind == "RUN" else ():
            if re.search(r"pip install", command) and not command.strip().endswith(" ."):
                assert "--require-hashes" in command, command


def test_the_image_with_a_browser_is_riffles_image_with_chromium() -> None:
    (stage,) = stages(ROOT / "infra" / "rendering" / "Dockerfile")
    assert stage[0] == ("FROM", "${RIFFLE}"), "the program, its user, its health check and its entry point"
    assert [value for kind, value in stage if kind == "USER"] == ["0", "10001"]
    (install,) = [value for kind, value in stage if kind == "RUN"]
    (package,) = re.findall(r"apt-get install -y --no-install-recommends (\w+) ", install)
    assert package in PROGRAMS
    assert "rm -rf /var/lib/apt/lists" in install
    assert {kind for kind, _ in stage} == {"FROM", "LABEL", "USER", "RUN"}


def test_the_image_of_the_map_is_riffles_image_with_what_umap_needs_beyond_it() -> None:
    build, last = stages(ROOT / "infra" / "map" / "Dockerfile")
    assert last[0] == ("FROM", "${RIFFLE}"), "the program, its user, its health check and its entry point"
    assert {kind for kind, _ in last} == {"FROM", "LABEL", "COPY", "ENV"}
    (install,) = [value for kind, value in build if kind == "RUN"]
    assert "--require-hashes -r requirements/map.txt" in " ".join(install.split())
    assert "--no-compile" in install
    assert "PYTHONHASHSEED=0" in install
    own, application = packages("map.txt"), packages("production.txt")
    assert own.keys() == needed("umap-learn") - application.keys()
    lock = packages("lock.txt")
    assert {name: lock[name] for name in own} == own
    version = re.findall(r"python(3\.\d+)/site-packages", str(last))
    assert version == re.findall(r"^FROM python:(3\.\d+)-", (ROOT / "Dockerfile").read_text(), re.M)[-1:]


def test_the_image_for_one_machine_is_riffles_image_with_what_the_local_stack_needs_beyond_it() -> None:
    build, last = stages(ROOT / "infra" / "one_machine" / "Dockerfile")
    assert last[0] == ("FROM", "${RIFFLE}")
    assert [value for kind, value in last if kind == "USER"] == ["0", "10001"]
    (install,) = [value for kind, value in build if kind == "RUN"]
    assert "--require-hashes -r requirements/local.txt -r requirements/models.txt" in " ".join(install.split())
    assert "--no-compile" in install
    assert "PYTHONHASHSEED=0" in install
    own, application = packages("local.txt"), packages("production.txt")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = set().union(*(needed(Requirement(line).name) for line in extras["local"]))
    assert own.keys() == wanted - application.keys()
    lock = packages("lock.txt")
    assert {name: lock[name] for name in own} == own
    version = re.findall(r"python(3\.\d+)/site-packages", str(last))
    assert version == re.findall(r"^FROM python:(3\.\d+)-", (ROOT / "Dockerfile").read_text(), re.M)[-1:]


def packages(lock: str) -> dict[str, str]:
    """The versions of the packages of a lock, by name."""
    text = (ROOT / "requirements" / lock).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.M))


def needed(package: str) -> set[str]:
    """A package and all that it needs, as the installed packages declare it."""
    found, rest = set[str](), [package]
    while rest:
        name = canonicalize_name(rest.pop())
        if name not in found:
            found.add(name)
            declared = map(Requirement, distribution(name).requires or ())
            rest += [each.name for each in declared if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def test_no_build_tool_is_left_in_the_application_image() -> None:
    first, *_, last = stages(ROOT / "Dockerfile")
    *_, (_, removing) = first
    (removed,) = re.findall(r"uninstall -q --python /opt/riffle ([^&]*)", removing)
    assert {"hatchling", "editables", "pip", "uv"} <= set(removed.split()), "the last command of the first stage"
    assert [value for kind, value in last if kind == "RUN" and "pip install" in value] == []
    assert [value for kind, value in last if kind == "COPY"] == ["--from=build /opt/riffle /opt/riffle"]


def test_the_targets_of_tritons_image_are_the_flavours_of_the_chart() -> None:
    targets = re.findall(r"^FROM \S+ AS (\w+)$", (ROOT / "triton_models" / "Dockerfile").read_text(), re.M)
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(schema["properties"]["triton"]["properties"]["flavour"]["enum"]) <= set(targets)


def test_tritons_interpreter_finds_its_packages_without_the_environment() -> None:
    """The stub of some builds of the python backend ignores PYTHONPATH: its models could not import anything."""
    run = [value for kind, value in instructions(ROOT / "triton_models" / "Dockerfile") if kind == "RUN"]
    folders = {"/opt/riffle/code", "/opt/riffle/packages", "/opt/riffle/weights"}
    assert any(".pth" in value and all(folder in value for folder in folders) for value in run), run


def test_what_is_copied_into_tritons_image_is_all_that_its_models_import(tmp_path: Path) -> None:
    for kind, value in instructions(ROOT / "triton_models" / "Dockerfile"):
        *sources, target = value.split()
        if kind == "COPY" and target.startswith("/opt/riffle/code/"):
            folder = tmp_path / target.removeprefix("/opt/riffle/code/")
            folder.mkdir(parents=True, exist_ok=True)
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, folder, dirs_exist_ok=True)
                else:
                    shutil.copy(ROOT / source, folder)
    models = (ROOT / "triton_models").glob("*/*/1/model.py")
    imported = {m for path in models for m in re.findall(r"^from (streams\S*) import", path.read_text(), re.M)}
    assert imported
    program = "import sys, types; sys.modules['triton_python_backend_utils'] = types.ModuleType('stub')\n"
    program += "\n".join(f"import {module}" for module in sorted(imported))
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
