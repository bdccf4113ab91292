"""Alerts and dashboards: valid expressions, over metrics that Riffle or Triton exports, each alert with its runbook."""

import ast
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry

from streams.gateway.http.metrics import Metrics as GatewayMetrics
from streams.runtime.observer import Metrics
from tests.chart.rendering import CHART, ROOT, of_kind, render

RULES = sorted((CHART / "rules").glob("*.yaml"))
DASHBOARDS = sorted((CHART / "dashboards").glob("*.json"))
RUNBOOK = ROOT / "docs" / "operate" / "runbook.md"
OF_TRITON = {
    "nv_gpu_utilization",
    "nv_gpu_memory_used_bytes",
    "nv_inference_count",
    "nv_inference_exec_count",
    "nv_inference_request_success",
    "nv_inference_request_failure",
    "nv_inference_queue_duration_us",
    "nv_inference_compute_infer_duration_us",
}
"""Metrics of Triton's own documentation."""
OF_KUBERNETES = {
    "kube_cronjob_status_last_schedule_time": {"namespace", "cronjob"},
    "kube_cronjob_status_last_successful_time": {"namespace", "cronjob"},
    "kubelet_volume_stats_available_bytes": {"namespace", "persistentvolumeclaim"},
    "kubelet_volume_stats_capacity_bytes": {"namespace", "persistentvolumeclaim"},
    "container_memory_working_set_bytes": {"namespace", "pod", "container"},
    "container_cpu_usage_seconds_total": {"namespace", "pod", "container"},
    "kube_pod_container_resource_limits": {"namespace", "pod", "container", "resource"},
    "kube_pod_container_resource_requests": {"namespace", "pod", "container", "resource"},
}
"""Metrics of the kubelet, cAdvisor and kube-state-metrics by their own documentation, with their labels."""


def rules() -> list[dict[str, Any]]:
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = [rule for rule in rules() if "alert" in rule]


def expressions() -> Iterator[tuple[str, str]]:
    """A name and the expression, of each rule and each curve of a dashboard."""
    for rule in rules():
        yield rule["alert"] if "alert" in rule else rule["record"], rule["expr"]
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']}", target["expr"]


EXPRESSIONS = list(expressions())


def series(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Name and labels of each series that a registry exports, as Prometheus stores them."""
    found: dict[str, set[str]] = {}
    for metric in registry.collect():
        collector = registry._names_to_collectors.get(metric.name)
        labels = set(getattr(collector, "_labelnames", ()))  # metrics of the process have none
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(metric.type, [""])
        found |= {metric.name + suffix: labels | ({"le"} if suffix == "_bucket" else set()) for suffix in suffixes}
    return found


def of_agents() -> set[str]:
    """The names that the agents' `measurements` return, as the runtime exports them."""
    names = set()
    for path in (ROOT / "streams").rglob("*agent.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "measurements":
                keys = [key for each in ast.walk(node) if isinstance(each, ast.Dict) for key in each.keys]
                names |= {
                    f"riffle_{key.value}"
                    for key in keys
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                }
    return names


def exported() -> dict[str, set[str]]:
    own = series(Metrics().registry) | series(GatewayMetrics().registry) | {name: {"stage"} for name in of_agents()}
    recorded: dict[str, set[str]] = {rule["record"]: set() for rule in rules() if "record" in rule}
    return own | recorded | OF_KUBERNETES


def selectors(expression: str) -> list[promql_parser.VectorSelector]:
    """The series that an expression selects. Raises ValueError if it is no PromQL."""
    found: list[promql_parser.VectorSelector] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
            below = getattr(node, name, None)
            if below is not None and not isinstance(below, str):
                visit(below)
        for argument in getattr(node, "args", None) or ():
            visit(argument)

    visit(promql_parser.parse(expression))
    return found


def test_every_metric_and_label_is_one_that_is_exported() -> None:
    known = exported()
    assert EXPRESSIONS
    assert [f"{name}: {fault}" for name, expression in EXPRESSIONS for fault in unknown_parts(expression, known)] == []


def unknown_parts(expression: str, known: dict[str, set[str]]) -> Iterator[str]:
    chosen = selectors(expression)
    if not chosen:
        yield "an expression without a series never changes"
    for selector in chosen:
        labels = {matcher.name for matcher in selector.matchers.matchers}
        if selector.name not in known and selector.name not in OF_TRITON:
            yield f"nothing exports {selector.name}"
        elif selector.name in known and not labels <= known[selector.name]:
            yield f"{selector.name} has no label {labels - known[selector.name]}"


def test_a_wrong_expression_and_an_unknown_metric_are_seen() -> None:
    with pytest.raises(ValueError, match="parenthesis"):
        selectors("sum by (stage (riffle_lag_seconds)")
    assert [each.name for each in selectors("max(rate(riffle_lags[5m])) / riffle_lag_seconds")] == [
        "riffle_lags",
        "riffle_lag_seconds",
    ]
    assert "riffle_lags" not in exported()
    assert {"riffle_lag_seconds", "riffle_events_dead_total", "riffle_event_seconds_bucket"} <= exported().keys()
    assert {"riffle_frontier_leases_expired", "riffle_fetch_politeness_violations"} <= of_agents()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_what_happens_and_leads_to_its_runbook(alert: dict[str, Any]) -> None:
    name = alert["alert"]
    assert alert["labels"]["severity"] in {"warning", "critical"}
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["annotations"]["runbook_url"].endswith(f"docs/operate/runbook.md#{name.lower()}")
    section = RUNBOOK.read_text().split(f"## {name}\n", 1)[1].split("\n## ", 1)[0]
    for part in ("**Cause**", "**Check**", "**Mend**"):
        assert part in section, f"{name}: the runbook has no {part}"
    used = set(re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"]))
    assert used <= set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", alert["expr"])))), "a label is lost"


def test_the_runbook_has_no_section_without_an_alert() -> None:
    sections = set(re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.M))
    assert sections == {alert["alert"] for alert in ALERTS}
    assert len(ALERTS) == len(sections), "two alerts have one name"


def test_the_symptoms_that_operators_must_see_have_alerts() -> None:
    names = {alert["alert"] for alert in ALERTS}
    assert names >= {
        "RiffleLagIsOld", "RiffleDeadLetters", "RifflePolitenessViolated", "RiffleGpusAreIdle",
        "RifflePagesAreNotFresh", "RiffleSearchBudgetBurnsFast", "RiffleSearchBudgetBurnsSlowly",
    }  # fmt: skip


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_whole(path: Path) -> None:
    board = json.loads(path.read_text())
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels), "two panels are in one place"
    assert board["uid"] == f"riffle-{path.stem}"


def test_dashboards_of_two_releases_are_two_and_show_their_own() -> None:
    """Grafana's sidecar refuses a second dashboard with one uid; each curve asks for one namespace and release."""
    changes = {"monitoring": {"dashboards": True}}
    maps = [
        each for each in of_kind(render("minimal", changes), "ConfigMap") if "dashboard" in each["metadata"]["name"]
    ]
    boards = [json.loads(text) for each in maps for text in each["data"].values()]
    files = [json.loads(path.read_text()) for path in DASHBOARDS]
    assert len(boards) == len(files)
    assert not {board["uid"] for board in boards} & {board["uid"] for board in files}
    for board in boards:
        assert {"datasource", "namespace", "release"} == {each["name"] for each in board["templating"]["list"]}
        assert len(board["uid"]) <= 40
        for target in (target for panel in board["panels"] for target in panel["targets"]):
            for selector in selectors(target["expr"].replace("$namespace", "n").replace("$release", "r")):
                matched = {matcher.name for matcher in selector.matchers.matchers}
                assert "namespace" in matched
                assert matched & {"app_kubernetes_io_instance", "release"} or selector.name in OF_KUBERNETES


def test_the_version_and_the_process_are_exported() -> None:
    for registry in (Metrics().registry, GatewayMetrics().registry):
        assert registry.get_sample_value("riffle_build_info", {"version": version("riffle-search")}) == 1
        assert (registry.get_sample_value("process_resident_memory_bytes") or 0) > 1_000_000
        assert (registry.get_sample_value("process_open_fds") or 0) > 0


SCOPE = re.compile(r'(\{)namespace=~?"[^"]*"(?:,(?:app_kubernetes_io_instance|release)="[^"]*")?,?')
"""Matchers that the template adds to a selector: the release's namespace and name, or the stores' namespaces."""


def unscoped(rule: dict[str, Any]) -> dict[str, Any]:
    """A rendered rule as it stands in its file."""
    labels = {name: value for name, value in rule["labels"].items() if name not in ("namespace", "release")}
    expression = SCOPE.sub(lambda found: found[1], rule["expr"]).replace("{}", "").replace('"riffle-(', '".+-(')
    return {**{key: value for key, value in rule.items() if key != "labels"}, "expr": expression} | (
        {"labels": labels} if labels else {}
    )


def test_the_chart_carries_all_rules_and_dashboards() -> None:
    objects = render("gpu-fleet")
    (rule,) = of_kind(objects, "PrometheusRule")
    carried = [each for group in rule["spec"]["groups"] for each in group["rules"]]
    assert sorted(map(as_text, map(unscoped, carried))) == sorted(map(as_text, rules()))
    boards = [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["labels"].get("grafana_dashboard")]
    contents = {name: json.loads(text)["panels"] for each in boards for name, text in each["data"].items()}
    for panel in (panel for panels in contents.values() for panel in panels):
        for target in panel["targets"]:
            target["expr"] = SCOPE.sub(lambda found: found[1], target["expr"]).replace("{}", "")
    assert contents == {path.name: json.loads(path.read_text())["panels"] for path in DASHBOARDS}


def test_every_component_is_scraped_at_a_port_that_it_has() -> None:
    objects = render("gpu-fleet")
    ports = {
        port["name"]
        for each in of_kind(objects, "Deployment", "StatefulSet")
        for container in each["spec"]["template"]["spec"]["containers"]
        for port in container.get("ports", ())  # the operator pod serves nothing
    }
    scraped = {
        endpoint["port"] for each in of_kind(objects, "PodMonitor") for endpoint in each["spec"]["podMetricsEndpoints"]
    }
    assert scraped == {"health", "admin", "metrics"} <= ports


def as_text(rule: dict[str, Any]) -> str:
    return json.dumps(rule, sort_keys=True)
