"""The processes of the cluster, each in the network namespace. Its users have tokens, and no certificate is checked."""

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.chart.api_server import write_key
from tests.chart.rendering import TOOLS

PROGRAMS = TOOLS / "cluster"
NAMESPACE = "riffle-cluster-check"
NODE = "192.168.77.1"
"""The address of the node, and of the servers that run beside the cluster."""
SITE = "93.184.215.14"
"""The address of the web site. The fetcher refuses private ones, and nothing leads out of the namespace."""
SITE_HOST = "www.example.net"
SERVICES, PODS = "10.96.0.0/16", "10.244.0.0/24"
READY_SECONDS = 120
STOP_SECONDS = 60

CONTAINERD = """\
version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example.org/pause:1"
  # Without the capability to lower it, no container would start.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/network"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
COREDNS = """\
.:53 {{
  bind {node}
  errors
  hosts {{
    {site} {host}
    fallthrough
  }}
  kubernetes cluster.local {{
    kubeconfig {folder}/admin.json here
  }}
}}
"""


class Node:
    """A running cluster of one node."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kubeconfig = folder, folder / "admin.json"
        self._processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    def command(self, *arguments: str | Path) -> list[str]:
        """The command, in the network namespace of the cluster. /sys, with its control groups, is the machine's."""
        return ["nsenter", f"--net=/var/run/netns/{NAMESPACE}", *map(str, arguments)]

    def start(self, name: str, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> None:
        """Start a process whose output is in NAME.log."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(*arguments),
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._processes.append((name, process))

    def stop(self, name: str = "") -> None:
        """Stop the process with this name, or all, the last one first."""
        for process in [process for each, process in reversed(self._processes) if name in (each, "")]:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def run(self, *arguments: str | Path, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run helm, kubectl or another program against the cluster."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=seconds, env=environment, check=False
        )

    def kubectl(self, *arguments: str | Path, seconds: float = 300) -> str:
        """The output of kubectl. Raises RuntimeError with its message."""
        return self.output(PROGRAMS / "kubectl", *arguments, seconds=seconds)

    def output(self, *arguments: str | Path, seconds: float = 300) -> str:
        """The output of a program. Raises RuntimeError with its message."""
        done = self.run(*arguments, seconds=seconds)
        if done.returncode:
            raise RuntimeError(
                f"{Path(arguments[0]).name} ended with status {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def wait(self, *arguments: str | Path, title: str, seconds: float = READY_SECONDS) -> None:
        """Wait until a program succeeds. Raises RuntimeError."""
        deadline = time.monotonic() + seconds
        while (done := self.run(*arguments)).returncode:
            if ended := [name for name, process in self._processes if process.poll() is not None]:
                raise RuntimeError(f"{', '.join(ended)} ended: see the logs in {self.folder}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{title} was not ready in {seconds:.0f} s: {done.stderr}")
            time.sleep(1)


@contextmanager
def running(folder: Path) -> Iterator[Node]:
    """Start the cluster with its data in a folder, and stop it at the end. Raises RuntimeError."""
    node = Node(folder)
    before = network_namespaces()
    make_network()
    try:
        _start_control_plane(node)
        _start_node(node)
        yield node
    finally:
        node.stop("kubelet")  # first of all: it would start the containers again
        remove_pods(node)
        node.stop()
        for name in network_namespaces() - before:
            subprocess.run(["ip", "netns", "delete", name], check=False)
        for place in reversed(mounts_below(folder)):
            subprocess.run(["umount", "--lazy", place], check=False)


def mounts_below(folder: Path) -> list[str]:
    """The mounts in a folder, in the order in which they were made. The kubelet and containerd leave theirs behind."""
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [place for place in places if place.startswith(f"{folder}/")]


def network_namespaces() -> set[str]:
    """The names of the machine's network namespaces: the cluster's, and one for each pod."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line}


def make_network() -> None:
    """Make the network namespace, with a bridge that has the addresses of the node and of the web site."""
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    inside = ["ip", "netns", "exec", NAMESPACE]
    for command in (
        "ip link set lo up",
        "ip link add node0 type bridge",
        f"ip address add {NODE}/24 dev node0",
        f"ip address add {SITE}/32 dev node0",
        # A bridge without a port has no carrier: one end of a pair is its port.
        "ip link add port0 type veth peer name port1",
        "ip link set port0 master node0",
        "ip link set port0 up",
        "ip link set port1 up",
        "ip link set node0 up",
        # kube-proxy and the kubelet want a default route. Nothing answers there.
        "ip route add default via 192.168.77.254",
        "sysctl -qw net.ipv4.ip_forward=1",
    ):
        subprocess.run([*inside, *command.split()], check=True)


def _start_control_plane(node: Node) -> None:
    folder, accounts = node.folder, node.folder / "accounts.key"
    write_key(accounts)
    users = {"admin": ("admin", "system:masters"), "kubelet": ("system:node:node-1", "system:nodes")}
    lines = []
    for name, (user, group) in users.items():
        token = secrets.token_hex(16)
        lines.append(f"{token},{user},{name},{group}")
        (folder / f"{name}.json").write_text(json.dumps(_kubeconfig(token)))
    (folder / "tokens.csv").write_text("\n".join(lines) + "\n")
    node.start(
        "etcd",
        PROGRAMS / "etcd",
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )
    node.start(
        "kube-apiserver",
        PROGRAMS / "kube-apiserver",
        "--etcd-servers=http://127.0.0.1:2379",
        f"--advertise-address={NODE}",
        f"--service-cluster-ip-range={SERVICES}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        f"--service-account-key-file={accounts}",
        f"--service-account-signing-key-file={accounts}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC",
        "--kubelet-preferred-address-types=InternalIP",
    )
    node.wait(PROGRAMS / "kubectl", "get", "namespace", "default", title="the API server")
    admin = f"--kubeconfig={node.kubeconfig}"
    node.start("kube-scheduler", PROGRAMS / "kube-scheduler", admin, "--leader-elect=false")
    node.start(
        "kube-controller-manager",
        PROGRAMS / "kube-controller-manager",
        admin,
        "--leader-elect=false",
        f"--service-account-private-key-file={accounts}",
    )


def _start_node(node: Node) -> None:
    folder = node.folder
    (folder / "network").mkdir()
    bridge = {
        "type": "bridge",
        "bridge": "pods0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}
    (folder / "network" / "10-pods.conflist").write_text(json.dumps(network))
    (folder / "containerd.toml").write_text(CONTAINERD.format(folder=folder))
    (folder / "resolv.conf").write_text(f"nameserver {NODE}\n")
    (folder / "Corefile").write_text(COREDNS.format(folder=folder, node=NODE, site=SITE, host=SITE_HOST))
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # Nobody else is in the network namespace.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "failSwapOn": False,
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "clusterDNS": [NODE],
        "clusterDomain": "cluster.local",
        "resolvConf": str(folder / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{folder / 'containerd.sock'}",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
    }
    (folder / "kubelet-configuration.json").write_text(json.dumps(kubelet))
    containerd = shutil.which("containerd")
    assert containerd, "no containerd on the PATH"
    node.start("containerd", containerd, "--config", folder / "containerd.toml")
    node.wait(*ctr(node, "version"), title="containerd")
    node.start(
        "kubelet",
        PROGRAMS / "kubelet",
        f"--config={folder / 'kubelet-configuration.json'}",
        f"--kubeconfig={folder / 'kubelet.json'}",
        "--hostname-override=node-1",
        f"--node-ip={NODE}",
        f"--root-dir={folder / 'kubelet'}",
    )
    proxy: Sequence[str] = (f"--cluster-cidr={PODS}", "--hostname-override=node-1", "--conntrack-max-per-core=0")
    node.start("kube-proxy", PROGRAMS / "kube-proxy", f"--kubeconfig={node.kubeconfig}", *proxy)
    node.start("coredns", PROGRAMS / "coredns", "-conf", folder / "Corefile")
    node.wait(PROGRAMS / "kubectl", "wait", "--for=condition=Ready", "node/node-1", "--timeout=5s", title="the node")


def remove_pods(node: Node) -> None:
    """Remove the pods' containers: they outlive containerd and the kubelet."""
    if not (node.folder / "containerd.sock").exists():
        return
    for task in node.run(*ctr(node, "tasks", "ls", "-q")).stdout.split():
        node.run(*ctr(node, "tasks", "kill", "--signal", "SIGKILL", task))
        node.run(*ctr(node, "tasks", "delete", "--force", task))


def ctr(node: Node, *arguments: str | Path) -> list[str | Path]:
    """A command of containerd's own client, in the images and containers of Kubernetes."""
    return ["ctr", "-a", node.folder / "containerd.sock", "-n", "k8s.io", *arguments]


def _kubeconfig(token: str) -> dict[str, object]:
    cluster = {"server": f"https://{NODE}:6443", "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "user"}}],
    }
