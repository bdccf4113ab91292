"""The chart and the overlays, applied to a real API server: `make apply-check`.

Helm's hooks don't run here, since no node runs their jobs: `--no-hooks` leaves them out, and they are applied as plain
objects without an effect (`--dry-run=server`).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.api_server import ApiServer, definitions_of, is_built, running
from tests.chart.rendering import CHART, VALUES, Object, of_kind, render
from tests.chart.test_kafka_sasl import PLAIN
from tests.chart.test_overlays import OVERLAYS, objects, rendered, values

pytestmark = [
    pytest.mark.skipif(not is_built(), reason="no API server: `make apply-check` builds it (it needs Go)"),
    pytest.mark.timeout(600),
]
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
TEMPLATES = ("Deployment", "StatefulSet", "Job", "CronJob")
WAYS = [(VALUES[number - 1], VALUES[number]) for number in range(len(VALUES))]
"""Each set of values, upgraded to the next one."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    every = [
        *(each for name in OVERLAYS for each in objects(name)),
        *(each for name in VALUES for each in render(name)),
    ]
    with running(tmp_path_factory.mktemp("api")) as server:
        definitions = definitions_of({each["kind"] for each in every})
        server.apply(as_text(definitions))
        server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
        yield server


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A server without any custom resource: no operator was ever installed there."""
    with running(tmp_path_factory.mktemp("bare")) as server:
        yield server


def as_text(things: list[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": things})


def namespace(server: ApiServer, name: str, labels: dict[str, str]) -> str:
    server.apply(as_text([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}]))
    return name


def value_file(values: str) -> Path:
    return CHART / "ci" / f"{values}-values.yaml"


def without_changes(output: str) -> list[str]:
    """The lines of kubectl about objects that it changed."""
    return [line for line in output.splitlines() if line and not line.endswith("serverside-applied")]


@pytest.mark.parametrize("changes", PLAIN.values(), ids=PLAIN)
def test_a_server_without_operators_takes_the_chart(bare_server: ApiServer, changes: dict[str, Any]) -> None:
    namespace(bare_server, "search", RESTRICTED)
    bare_server.apply(as_text(render("minimal", changes)), "--dry-run=server")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_accepted_and_applied_again_it_changes_nothing(server: ApiServer, overlay: str) -> None:
    """One after the other in the same namespace, so `staging` and `production` are upgrades of the one before."""
    text = rendered(overlay)
    assert without_changes(server.apply(text)) == []
    # The second time writes, once, the defaults that a definition has for a status.
    server.apply(text)
    kinds = ",".join(sorted({each["kind"].lower() for each in objects(overlay)} - {"namespace", "priorityclass"}))
    before = versions(server, kinds)
    server.apply(text)
    assert versions(server, kinds) == before


def versions(server: ApiServer, kinds: str) -> dict[tuple[str, str], str]:
    found = server.objects(kinds, "--namespace=riffle")
    return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"] for each in found}


@pytest.mark.parametrize(("before", "after"), WAYS, ids=lambda name: name)
def test_a_release_is_installed_upgraded_rolled_back_and_removed(server: ApiServer, before: str, after: str) -> None:
    """By Helm, from one set of values to another. The namespace refuses pods that are not `restricted`."""
    name = namespace(server, f"release-{before}", RESTRICTED)
    options = (f"--namespace={name}", "--no-hooks")
    server.helm("install", "riffle", CHART, "--values", value_file(before), *options)
    first = deployed(server, name)
    server.helm("upgrade", "riffle", CHART, "--values", value_file(after), *options)
    assert deployed(server, name) == names_of(after)
    server.helm("rollback", "riffle", "1", *options)
    assert deployed(server, name) == first == names_of(before)
    server.helm("uninstall", "riffle", *options)
    assert deployed(server, name) == set()


def names_of(values: str) -> set[tuple[str, str]]:
    """The workloads that a set of values has."""
    hooks = "helm.sh/hook"
    return {
        (each["kind"], each["metadata"]["name"])
        for each in render(values)
        if each["kind"] in ("Deployment", "StatefulSet") and hooks not in each["metadata"].get("annotations", {})
    }


def deployed(server: ApiServer, namespace: str) -> set[tuple[str, str]]:
    found = server.objects("deployment,statefulset", f"--namespace={namespace}")
    return {(each["kind"], each["metadata"]["name"]) for each in found}


@pytest.mark.parametrize("values", VALUES)
def test_every_object_and_hook_passes_server_side_apply(server: ApiServer, values: str) -> None:
    name = namespace(server, f"applied-{values}", RESTRICTED)
    moved = [each | {"metadata": each["metadata"] | {"namespace": name}} for each in render(values)]
    assert without_changes(server.apply(as_text(moved))) == []


@pytest.mark.parametrize("values", VALUES)
def test_pods_are_admitted_where_only_restricted_ones_are(server: ApiServer, values: str) -> None:
    """The template of each workload, sent as a pod: its priority class, its account and Pod Security are checked."""
    name = namespace(server, f"pods-{values}", RESTRICTED)
    server.apply(as_text(of_kind(objects("production"), "PriorityClass")))
    accounts = [each | {"metadata": each["metadata"] | {"namespace": name}} for each in render(values)]
    server.apply(as_text([each for each in accounts if each["kind"] == "ServiceAccount"]))
    pods = [pod_of(each, name) for each in render(values) if each["kind"] in TEMPLATES]
    assert pods
    server.apply(as_text(pods), "--dry-run=server")


def pod_of(workload: Object, namespace: str) -> Object:
    spec = workload["spec"]["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else workload["spec"]
    template = spec["template"]
    metadata = {"name": workload["metadata"]["name"], "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | metadata, "spec": template["spec"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_chart_fits_the_namespace_of_its_overlay(server: ApiServer, overlay: str) -> None:
    server.apply(rendered(overlay))
    file = Path(server.folder) / f"{overlay}.yaml"
    file.write_text(yaml.safe_dump(values(overlay)))
    server.helm("upgrade", "--install", "riffle", CHART, "--namespace=riffle", "--values", file, "--no-hooks")
    pods = [pod_of(each, "riffle") for each in server.objects("deployment,statefulset", "--namespace=riffle")]
    for pod in pods:
        # Riffle's own pods are `restricted` also where the namespace asks for less.
        pod["metadata"]["namespace"] = namespace(server, "restricted", RESTRICTED)
        pod["spec"].pop("serviceAccountName", None)
        pod["spec"]["automountServiceAccountToken"] = False
    accounts = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "restricted"},
    }
    server.apply(as_text([accounts]))
    server.apply(as_text([without_defaults(pod) for pod in pods]), "--dry-run=server")


def without_defaults(pod: Object) -> Object:
    """The pod without the second name of its account, which the server has added."""
    pod["spec"].pop("serviceAccount", None)
    return pod


MISTAKES = [
    ("an unknown field", lambda pod: pod["spec"].update(terminationGracePeriod=3), "unknown field"),
    ("a pod with rights", lambda pod: pod["spec"].update(hostNetwork=True), "violates PodSecurity"),
    ("a missing account", lambda pod: pod["spec"].update(serviceAccountName="nobody"), "service account"),
]


@pytest.mark.parametrize(("name", "change", "message"), MISTAKES, ids=[name for name, _, _ in MISTAKES])
def test_the_server_refuses_a_mistake(server: ApiServer, name: str, change: object, message: str) -> None:
    space = namespace(server, "mistakes", RESTRICTED)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": space}}
    server.apply(as_text([account]))
    workload = next(each for each in render("minimal") if each["kind"] == "Deployment")
    pod = json.loads(json.dumps(pod_of(workload, space)))
    pod["spec"]["serviceAccountName"] = "default"
    server.apply(as_text([pod]), "--dry-run=server")
    assert callable(change)
    change(pod)
    with pytest.raises(AssertionError, match=message):
        server.apply(as_text([pod]), "--dry-run=server")
