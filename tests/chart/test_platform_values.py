"""Values that a platform asks of every chart: labels, annotations, volumes, accounts, ways in, objects of its own."""

from typing import Any

import pytest

from tests.chart.rendering import WORKLOADS, Object, component, containers, named, of_kind, pod_spec, render

VOLUME = {"name": "ca", "configMap": {"name": "corporate-ca"}}
MOUNT = {"name": "ca", "mountPath": "/etc/corporate"}
PLATFORM: dict[str, Any] = {
    "podAnnotations": {"sidecar.istio.io/inject": "false"},
    "nodeSelector": {"pool": "search"},
    "tolerations": [{"key": "pool", "operator": "Exists"}],
    "hostAliases": [{"ip": "10.0.0.5", "hostnames": ["registry.corp.example"]}],
    "runtimeClassName": "gvisor",
    "revisionHistoryLimit": 3,
}


def pod_template(workload: Object) -> Object:
    found: Object = workload["spec"]["template"]
    return found


def test_every_pod_has_the_values_of_the_platform() -> None:
    objects = render("mtls", PLATFORM)
    for workload in of_kind(objects, *WORKLOADS):
        pod = pod_spec(workload)
        assert pod["nodeSelector"]["pool"] == "search", component(workload)
        assert PLATFORM["tolerations"][0] in pod["tolerations"]
        assert pod["hostAliases"] == PLATFORM["hostAliases"]
        assert pod["runtimeClassName"] == "gvisor"
    for workload in of_kind(objects, "Deployment", "StatefulSet"):
        assert workload["spec"]["revisionHistoryLimit"] == 3
        assert pod_template(workload)["metadata"]["annotations"].items() >= PLATFORM["podAnnotations"].items()


def test_every_object_has_the_common_annotations_and_its_own_come_first() -> None:
    changes = {"commonAnnotations": {"team": "search", "riffle/purpose": "ours"}}
    plain = {(each["kind"], each["metadata"]["name"]): each for each in render("autoscaling")}
    for each in render("autoscaling", changes):
        found = each["metadata"]["annotations"]
        own = plain[each["kind"], each["metadata"]["name"]]["metadata"].get("annotations", {})
        assert found["team"] == "search", each["metadata"]["name"]
        assert own.items() <= found.items()


def test_the_place_of_a_component_is_added_to_that_of_all() -> None:
    changes = {**PLATFORM, "stages": {"fetch": {"nodeSelector": {"egress": "yes"}, "tolerations": [{"key": "egress"}]}}}
    pod = pod_spec(named(render("minimal", changes), "Deployment", "fetch"))
    assert pod["nodeSelector"] == {"pool": "search", "egress": "yes"}
    assert [each["key"] for each in pod["tolerations"]] == ["egress", "pool"]


@pytest.mark.parametrize(("values", "name"), [({"gateway": {}}, "gateway"), ({"stages": {"fetch": {}}}, "fetch")])
def test_a_component_has_volumes_and_labels_of_its_own(values: dict[str, Any], name: str) -> None:
    own = {"extraVolumes": [VOLUME], "extraVolumeMounts": [MOUNT], "podLabels": {"team": "search"}}
    changes = {"gateway": own} if "gateway" in values else {"stages": {"fetch": own}}
    objects = render("minimal", changes)
    workload = named(objects, "Deployment", name)
    assert VOLUME in pod_spec(workload)["volumes"]
    assert MOUNT in containers(workload)[0]["volumeMounts"]
    assert pod_template(workload)["metadata"]["labels"]["team"] == "search"
    others = [each for each in of_kind(objects, "Deployment") if component(each) != name]
    assert not any(VOLUME in pod_spec(each)["volumes"] for each in others)


def accounts(objects: list[Object]) -> dict[str, Object]:
    return {component(each): each for each in of_kind(objects, "ServiceAccount")}


def test_an_account_has_annotations_of_its_own() -> None:
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/models"}
    values = {"serviceAccount": {"annotations": {"all": "yes"}, "components": {"triton": {"annotations": role}}}}
    found = accounts(render("minimal", values))
    assert found["triton"]["metadata"]["annotations"] == {"all": "yes", **role}
    assert found["gateway"]["metadata"]["annotations"] == {"all": "yes"}


def test_an_account_that_exists_is_used_and_not_made() -> None:
    objects = render("minimal", {"serviceAccount": {"components": {"triton": {"existing": "models-reader"}}}})
    assert pod_spec(named(objects, "Deployment", "triton"))["serviceAccountName"] == "models-reader"
    assert "triton" not in accounts(objects)
    assert "gateway" in accounts(objects)


def test_one_account_that_exists_serves_all_pods() -> None:
    objects = render("mtls", {"serviceAccount": {"existing": "search"}})
    assert {pod_spec(each)["serviceAccountName"] for each in of_kind(objects, *WORKLOADS)} == {"search"}
    assert accounts(objects) == {}


def test_the_public_service_takes_what_a_load_balancer_asks_for() -> None:
    service = {
        "type": "LoadBalancer",
        "loadBalancerClass": "service.k8s.aws/nlb",
        "loadBalancerSourceRanges": ["203.0.113.0/24"],
        "externalTrafficPolicy": "Local",
        "nodePort": 30080,
    }
    spec = named(render("minimal", {"gateway": {"service": service}}), "Service", "gateway")["spec"]
    assert spec["ports"][0]["nodePort"] == 30080
    assert {key: value for key, value in service.items() if key != "nodePort"}.items() <= spec.items()


def test_a_route_has_filters_timeouts_and_a_path() -> None:
    filters = [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x-debug"]}}]
    route = {"httpRoute": {"path": "/search", "filters": filters, "timeouts": {"request": "30s"}}}
    (rule,) = named(render("external-services", {"gateway": route}), "HTTPRoute", "gateway")["spec"]["rules"]
    assert rule["filters"] == filters
    assert rule["timeouts"] == {"request": "30s"}
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/search"}}]


def test_an_ingress_has_a_path() -> None:
    changes = {"gateway": {"ingress": {"path": "/search", "pathType": "ImplementationSpecific"}}}
    (rule,) = named(render("autoscaling", changes), "Ingress", "gateway")["spec"]["rules"]
    assert rule["http"]["paths"][0]["path"] == "/search"
    assert rule["http"]["paths"][0]["pathType"] == "ImplementationSpecific"


def test_objects_of_the_platform_belong_to_the_release() -> None:
    own = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "{{ .Release.Name }}-own", "namespace": "{{ .Release.Namespace }}"},
        "data": {"a": "b"},
    }
    found = named(render("minimal", {"extraObjects": [own]}), "ConfigMap", "own")
    assert found["metadata"] == {"name": "riffle-own", "namespace": "search"}
