"""Kafka's topics, users and client certificates for Kubernetes, generated from the topology into `infra/k8s/base`."""

from collections.abc import Iterable, Iterator

from streams.runtime.topics import HOUR_MS, RECORD_TIMES
from streams.topology import GATEWAY, READER_GROUP, STAGES, TOPICS, Grant, Topic, grants

CLUSTER = "riffle"
HEADER = "# Generated from streams/topology.py by `make schemas`.\n"
REPLICAS = 3
IN_SYNC_REPLICAS = 2
PARTITIONS = 64
"""Partitions of a topic in the base. Overlays set their own."""
LINKS_RANK, BLOBS_SWEEP, SUGGEST_BUILD, DRAW_MAP = "links-rank", "blobs-sweep", "suggestions", "map"
"""The commands that the chart runs on a schedule."""
SCHEDULED = (LINKS_RANK, BLOBS_SWEEP, SUGGEST_BUILD, DRAW_MAP)
COMPONENTS = (*(stage.name for stage in STAGES), GATEWAY, "setup", *SCHEDULED, "keda", "operator")
"""Components with a client certificate. `setup` is the chart's job, `operator` is for people."""
_PATTERNS = {False: "literal", True: "prefix"}
_OPERATIONS = {"read": ("Read", "Describe"), "write": ("Write", "Describe"), "describe": ("Describe",)}


def topics_manifest() -> str:
    """A KafkaTopic for each topic of the topology."""
    return HEADER + "---\n".join(map(_topic, TOPICS))


def users_manifest() -> str:
    """A KafkaUser for each component that uses Kafka, with what it may do. All that is not granted is denied."""
    users = (name for name in COMPONENTS if name not in ("operator", LINKS_RANK, SUGGEST_BUILD, DRAW_MAP))
    return HEADER + "---\n".join(_user(name, grants_of(name)) for name in users)


def clients_manifest() -> str:
    """A client certificate for each component, in the secret that the chart mounts."""
    return HEADER + "---\n".join(map(_certificate, COMPONENTS))


def _topic(topic: Topic) -> str:
    if topic.compacted:
        cleanup = "    cleanup.policy: compact\n"
    else:
        cleanup = f"    cleanup.policy: delete\n    retention.ms: {topic.retention_hours * HOUR_MS}\n"
        if topic.segment_hours:
            cleanup += f"    segment.ms: {topic.segment_hours * HOUR_MS}\n"
    times = "".join(f"    {name}: {value}\n" for name, value in RECORD_TIMES.items())
    return f"""\
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata:
  name: {topic.name}
  labels: {{strimzi.io/cluster: {CLUSTER}}}
spec:
  partitions: {topic.partitions or PARTITIONS}
  replicas: {REPLICAS}
  config:
    min.insync.replicas: {IN_SYNC_REPLICAS}
{times}{cleanup}"""


def grants_of(component: str) -> list[Grant]:
    """The rights of a component in Kafka."""
    if component == "setup":
        return [Grant(component, "describe", "topic", topic.name) for topic in TOPICS]
    if component == "keda":
        return sorted(set(_autoscaler_grants()))
    if component == BLOBS_SWEEP:
        # Dead letters may be replayed, so a sweep keeps the blobs that they refer to.
        dead = [Grant(component, "read", "topic", one.dead_topic) for one in STAGES]
        return [Grant(component, "read", "group", READER_GROUP, is_prefix=True), *sorted(dead)]
    return [grant for grant in grants() if grant.principal == component]


def _autoscaler_grants() -> Iterator[Grant]:
    """The grants with which the autoscaler sees the lag of each stage."""
    for one in STAGES:
        yield Grant("keda", "describe", "group", one.group, one.regional)
        for topic in (*(event.topic for event in one.inputs), one.retry_topic):
            yield Grant("keda", "describe", "topic", topic)


def _user(name: str, allowed: Iterable[Grant]) -> str:
    rules = "".join(
        f"      - resource: {{type: {grant.kind}, name: {grant.name}, patternType: {_PATTERNS[grant.is_prefix]}}}\n"
        f"        operations: [{', '.join(_OPERATIONS[grant.operation])}]\n"
        for grant in allowed
    )
    return f"""\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata:
  name: {name}
  labels: {{strimzi.io/cluster: {CLUSTER}}}
spec:
  authentication: {{type: tls-external}}
  authorization:
    type: simple
    acls:
{rules}"""


def _certificate(name: str) -> str:
    return f"""\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {CLUSTER}-{name}
spec:
  secretName: {CLUSTER}-{name}
  # Kafka's user of this name.
  commonName: {name}
  duration: 2160h
  renewBefore: 720h
  privateKey: {{algorithm: ECDSA, size: 256, encoding: PKCS8, rotationPolicy: Always}}
  usages: [client auth, digital signature]
  issuerRef: {{name: riffle-ca, kind: Issuer, group: cert-manager.io}}
"""
