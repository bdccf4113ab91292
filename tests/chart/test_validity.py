"""Helm and Kubernetes accept the chart with every value file, and refuse unknown values."""

import pytest

from tests.chart.kubernetes_schemas import KUBERNETES as SUPPORTED
from tests.chart.rendering import (
    CHART,
    KUBERNETES,
    VALUES,
    of_kind,
    render,
    rendered_text,
    run,
    schema_locations,
    template,
)

MINIMAL = CHART / "ci" / "minimal-values.yaml"
DEPRECATED = {
    "policy/v1beta1",
    "autoscaling/v2beta2",
    "batch/v1beta1",
    "networking.k8s.io/v1beta1",
    "extensions/v1beta1",
}


def test_the_value_files_cover_the_kinds_of_installations() -> None:
    assert set(VALUES) == {"minimal", "gpu-fleet", "external-services", "autoscaling", "mtls", "air-gapped", "region"}


@pytest.mark.parametrize("values", VALUES)
def test_helm_lint_has_no_complaint(values: str) -> None:
    file = CHART / "ci" / f"{values}-values.yaml"
    done = run("helm", "lint", "--strict", "--quiet", f"--kube-version={KUBERNETES}", CHART, "--values", file)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "", "")


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize("values", VALUES)
def test_every_object_is_valid_by_the_schemas_of_kubernetes_and_of_the_custom_resources(
    values: str, version: str
) -> None:
    text = rendered_text(values)
    done = run("kubeconform", "-strict", "-summary", *schema_locations(version), stdin=text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipped: 0" in done.stdout


def test_kubeconform_sees_a_mistake() -> None:
    wrong = rendered_text("minimal").replace("terminationGracePeriodSeconds", "terminationGracePeriod", 1)
    assert run("kubeconform", "-strict", *schema_locations(KUBERNETES), stdin=wrong).returncode == 1


@pytest.mark.parametrize("values", VALUES)
def test_no_deprecated_interface_is_used(values: str) -> None:
    assert {each["apiVersion"] for each in render(values)} & DEPRECATED == set()
    assert not of_kind(render(values), "PodSecurityPolicy")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--set=gatway.replicas=3"], "gatway"),
        (["--set=stages.fetsch.replicas=3"], "fetsch"),
        (["--set=stages.fetch.replica=3"], "replica"),
        (["--set=stages.fetch.concurrency=many"], "concurrency"),
        (["--set=kafka.partitions=0"], "partitions"),
        (["--set=kafka.tls.enabeld=true"], "enabeld"),
        (["--set=settings.LOG_LEVEL=INFO"], "LOG_LEVEL"),
        (["--set=triton.flavour=tpu"], "flavour"),
        (["--set=crawl.regions.eu.sufixes={de}"], "sufixes"),
        (["--set=crawl.regions.EU.suffixes={de}"], "EU"),
        (["--set=crawl.regions.eu.fetch.replica=3"], "replica"),
        (["--set=networkPolicy.fetch.denied={not-a-network}"], "denied"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_or_wrong_value_is_an_error_that_names_it(arguments: list[str], named: str) -> None:
    done = template("--values", MINIMAL, *arguments)
    assert done.returncode == 1
    assert named in done.stderr


@pytest.mark.parametrize(
    "setting",
    ["RIFFLE_CASSANDRA__PASSWORD_FILE", "RIFFLE_QDRANT__API_KEY_FILE", "RIFFLE_KAFKA__BOOTSTRAP", "RIFFLE_PROFILE"],
)
def test_settings_take_no_secret_and_nothing_that_has_a_value_of_its_own(setting: str) -> None:
    done = template("--values", MINIMAL, f"--set=settings.{setting}=x")
    assert done.returncode == 1
    assert setting in done.stderr


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("kafka.bootstrap", "kafka.bootstrap is empty"),
        ("qdrant.url", "qdrant.url is empty"),
        ("crawl.contactUrl", "a crawler must name its operator"),
    ],
)
def test_a_missing_address_is_an_error_that_says_what_to_set(missing: str, message: str) -> None:
    done = template("--values", MINIMAL, f"--set={missing}=")
    assert done.returncode == 1
    assert message in done.stderr


def test_every_value_has_a_place_in_the_schema_and_a_description() -> None:
    lines = (CHART / "values.yaml").read_text().splitlines()
    undescribed = []
    for number, line in enumerate(lines):
        if line and not line.startswith(("#", " ")) and not line.rstrip().endswith(":"):
            described = lines[number - 1].startswith("#")
            undescribed += [] if described else [line]
    assert undescribed == []
    done = template("--values", MINIMAL, "--set=triton.enabled=true")
    assert done.returncode == 0, done.stderr


def test_the_readme_of_the_chart_is_made_from_the_values() -> None:
    done = run("helm-docs", "--dry-run", "--chart-search-root", CHART, "--log-level=error")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (CHART / "README.md").read_text().strip(), "run `make chart` and commit the README"


POLICY_EXCEPTIONS = {
    "container-image-pull-policy": "images have a version or digest, so the copy on the node is the same",
    "deployment-has-host-podantiaffinity": "topologySpreadConstraints spread the pods",
    "statefulset-has-host-podantiaffinity": "topologySpreadConstraints spread the pods",
    "deployment-replicas": "the minimal installation has one of each",
    "horizontalpodautoscaler-replicas": "a stage without work needs one worker alone",
}
"""Tests of kube-score that are not asked for, each with its reason."""


@pytest.mark.parametrize("values", VALUES)
def test_kube_score_finds_nothing(values: str) -> None:
    ignored = [f"--ignore-test={name}" for name in POLICY_EXCEPTIONS]
    options = ["--ignore-container-cpu-limit", f"--kubernetes-version=v{KUBERNETES}", "--output-format=ci", *ignored]
    done = run("kube-score", "score", *options, "-", stdin=rendered_text(values))
    found = [line for line in done.stdout.splitlines() if not line.startswith(("[OK]", "[SKIPPED]"))]
    assert found == [], done.stderr
