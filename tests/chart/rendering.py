"""The chart as Helm renders it, for tests: objects by kind and name."""

import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "riffle"
TOOLS = ROOT / ".tools"
KUBERNETES = "1.34"
"""The version that the chart is rendered for, unless a test says another."""
VALUES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))
Object = dict[str, Any]


def tool(name: str) -> str:
    """The path of a tool that `make chart` sets up. Skips the test without it."""
    for candidate in (TOOLS / name, shutil.which(name)):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    pytest.skip(f"{name} is not there: `make chart` sets it up in .tools/ (it needs Go)")


def run(name: str, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([tool(name), *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=120)


def template(*arguments: str | Path, chart: Path = CHART, release: str = "riffle") -> subprocess.CompletedProcess[str]:
    """Run `helm template` with these arguments."""
    return run("helm", "template", release, chart, "--namespace=search", f"--kube-version={KUBERNETES}", *arguments)


def schema_locations(version: str) -> list[str]:
    """Options of kubeconform that name the schemas of a Kubernetes and of the custom resources."""
    if not (TOOLS / "schemas" / f"v{version}").is_dir():
        pytest.skip("the schemas are not there: `make chart` sets them up in .tools/schemas (it needs Go)")
    file = "{{ .ResourceKind }}{{ .KindSuffix }}.json"
    places = (TOOLS / "schemas" / f"v{version}", TOOLS / "schemas")
    return [option for place in places for option in ("-schema-location", f"{place}/{file}")]


@functools.cache
def rendered_text(values: str, changes: str = "{}", chart: Path = CHART) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(changes)
        file.flush()
        done = template("--values", CHART / "ci" / f"{values}-values.yaml", "--values", file.name, chart=chart)
    assert done.returncode == 0, done.stderr
    return done.stdout


def render(values: str = "minimal", changes: Mapping[str, Any] | None = None, chart: Path = CHART) -> list[Object]:
    """The objects of the chart with one of the value files, and changes to it. They are shared: don't change them."""
    return _objects(rendered_text(values, json.dumps(changes or {}), chart))


@functools.cache
def _objects(text: str) -> list[Object]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    return [each for each in objects if each["kind"] in kinds]


def named(objects: list[Object], kind: str, name: str) -> Object:
    """The one object of a kind with this name, without the release's name before it."""
    names = {name, f"riffle-{name}", f"search-{name}"}
    found = [each for each in of_kind(objects, kind) if each["metadata"]["name"] in names]
    assert len(found) == 1, f"{len(found)} objects of kind {kind} are called {name}"
    return found[0]


def component(thing: Object) -> str:
    labels: dict[str, str] = thing["metadata"]["labels"]
    return labels["app.kubernetes.io/component"]


WORKLOADS = ("Deployment", "StatefulSet", "Job", "CronJob", "Pod")


def pod_spec(workload: Object) -> Object:
    """The pod of a workload."""
    owner = workload["spec"]["jobTemplate"] if workload["kind"] == "CronJob" else workload
    spec: Object = owner["spec"] if owner.get("kind") == "Pod" else owner["spec"]["template"]["spec"]
    return spec


def containers(workload: Object) -> list[Object]:
    pod = pod_spec(workload)
    return [*pod.get("initContainers", []), *pod["containers"]]


def environment(container: Object) -> dict[str, Any]:
    """The variables of a container: texts, or the source of a value."""
    names = [each["name"] for each in container.get("env", [])]
    assert len(names) == len(set(names)), f"a variable is set twice: {names}"
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}
