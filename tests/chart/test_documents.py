"""Documents say of a release what the rendered chart has: its sums of cores and memory, and all of its components."""

import json
import re
from typing import Any

import pytest
import yaml

from docs.generate.infrastructure import SCHEDULED
from streams.topology import STAGES
from tests.chart.rendering import ROOT, of_kind, render, template
from tests.rules.test_docs import PAGES

UNITS = {"m": 1 / 1000, "Mi": 1 / 1024, "Gi": 1.0}
LABEL = "riffle.example.org/worker"


def amount(text: str) -> float:
    """Cores, or GiB."""
    found = re.fullmatch(r"([\d.]+)([A-Za-z]*)", str(text))
    assert found
    return float(found[1]) * UNITS.get(found[2], 1.0)


def requests(objects: list[dict[str, Any]]) -> tuple[float, float]:
    """Cores and GiB that all pods of a release request together."""
    cores = memory = 0.0
    for each in of_kind(objects, "Deployment", "StatefulSet"):
        count = each["spec"].get("replicas", 1)
        for container in each["spec"]["template"]["spec"]["containers"]:
            asked = container["resources"]["requests"]
            cores, memory = cores + count * amount(asked["cpu"]), memory + count * amount(asked["memory"])
    return cores, memory


def values_of_the_page() -> str:
    """The values of step 3."""
    page = (ROOT / "docs" / "operate" / "install.md").read_text()
    found = re.search(r"## 3\. Values.*?```yaml\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1]


def test_the_page_of_the_installation_has_the_sums_of_the_rendered_chart(tmp_path: Any) -> None:
    (tmp_path / "values.yaml").write_text(values_of_the_page())
    done = template("--values", tmp_path / "values.yaml")
    assert done.returncode == 0, done.stderr
    whole = requests([each for each in yaml.safe_load_all(done.stdout) if each])
    small = requests(render("minimal"))
    page = " ".join((ROOT / "docs" / "operate" / "install.md").read_text().split())
    assert f"request {whole[0]:.1f} cores and {whole[1]:.1f} GiB of memory with the values of step 3" in page
    assert f"or {small[0]:.1f} cores and {small[1]:.1f} GiB with the values of" in page


LISTS = [
    (page.name, set(re.split(r",\s*", found[1])))
    for page in PAGES
    for found in re.finditer(r"component in \(([^)]*)\)", page.read_text())
]


@pytest.mark.parametrize(("page", "names"), LISTS)
def test_a_list_of_components_in_a_page_is_whole(page: str, names: set[str]) -> None:
    """All stages, or all commands of a schedule: a command for people must not forget one."""
    stages = {stage.name for stage in STAGES}
    assert names in (stages, set(SCHEDULED)), f"{page}: use the label {LABEL}, or name all"


def test_the_selector_of_the_backup_finds_every_worker_and_nothing_else() -> None:
    """The command stops workers by their label, which no gateway and no Triton has."""
    everything = {"stages": {stage.name: {"enabled": True} for stage in STAGES}}
    workloads = of_kind(render("minimal", everything), "Deployment", "StatefulSet")
    labelled = [each for each in workloads if LABEL in each["metadata"]["labels"]]
    names = {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in labelled}
    assert names == {stage.name for stage in STAGES}
    with_pods = [each for each in workloads if LABEL in each["spec"]["template"]["metadata"]["labels"]]
    assert json.dumps(with_pods) == json.dumps(labelled)
    page = (ROOT / "docs" / "operate" / "backup.md").read_text()
    assert f"instance=search,{LABEL}=true" in page


@pytest.mark.parametrize(
    ("gateway", "runs"),
    [
        ({}, False),
        ({"collectQueries": True, "keysSecret": "k"}, True),
        ({"publishClicks": True, "keysSecret": "k"}, True),
    ],
)
def test_a_stage_whose_events_nobody_sends_does_not_run(gateway: dict[str, Any], runs: bool) -> None:
    names = {each["metadata"]["name"] for each in of_kind(render("minimal", {"gateway": gateway}), "Deployment")}
    assert ("riffle-queries" in names) is runs
    assert "riffle-knowledge" not in names


def test_the_stage_of_counts_can_be_chosen_by_hand() -> None:
    objects = render("minimal", {"stages": {"queries": {"enabled": True}}})
    assert "riffle-queries" in {each["metadata"]["name"] for each in of_kind(objects, "Deployment")}
