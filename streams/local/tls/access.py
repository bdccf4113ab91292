"""The rights of each identity in Kafka, made from the topology: all that is not granted is denied.

A stage may read its inputs and its retry topic with its consumer group, and write its outputs, its retry topic and its
dead letters. A stage that starts the journey of pages also sees how far behind the later stages are. The gateway sends
query events. The operator and the broker itself are super users.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from streams.local.tls.identities import GATEWAY, OPERATOR
from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable
from streams.runtime.lag import input_topics
from streams.settings import Settings
from streams.topology import OUTSIDE_PRODUCERS, STAGES, Stage

SUPER_USERS = ("kafka", OPERATOR)
ANY_HOST = "*"


@dataclass(frozen=True, order=True, slots=True)
class Grant:
    """A principal may do an operation on a topic or consumer group with this name."""

    principal: str
    operation: Literal["read", "write", "describe"]
    kind: Literal["topic", "group"]
    name: str


def grants(stages: Sequence[Stage] = STAGES) -> list[Grant]:
    """All grants, in order, each once."""
    return sorted({*_gateway_grants(), *(grant for stage in stages for grant in stage_grants(stage, stages))})


def stage_grants(stage: Stage, stages: Sequence[Stage] = STAGES) -> Iterator[Grant]:
    """The grants of one stage. Reading and writing a topic include describing it."""
    for topic in input_topics(stage):
        yield Grant(stage.name, "read", "topic", topic)
    for topic in (*(event.topic for event in stage.outputs), stage.retry_topic, stage.dead_topic):
        yield Grant(stage.name, "write", "topic", topic)
    yield Grant(stage.name, "read", "group", stage.group)
    if stage.source:
        for later in (other for other in stages if not other.source):
            yield Grant(stage.name, "describe", "group", later.group)
            for topic in input_topics(later):
                yield Grant(stage.name, "describe", "topic", topic)


def _gateway_grants() -> Iterator[Grant]:
    for event, producer in OUTSIDE_PRODUCERS.items():
        if producer == GATEWAY:
            yield Grant(GATEWAY, "write", "topic", event.topic)


def apply_grants(settings: Settings, wanted: Sequence[Grant]) -> None:
    """Make the broker's access rules exactly these. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    bindings = {_binding(grant) for grant in wanted}
    try:
        existing = set(admin.describe_acls(_EVERY, request_timeout=TIMEOUT_SECONDS).result(timeout=TIMEOUT_SECONDS))
        for created in admin.create_acls(list(bindings - existing), request_timeout=TIMEOUT_SECONDS).values():
            created.result(timeout=TIMEOUT_SECONDS)
        obsolete = [_exactly(binding) for binding in existing - bindings]
        for deleted in admin.delete_acls(obsolete, request_timeout=TIMEOUT_SECONDS).values() if obsolete else ():
            deleted.result(timeout=TIMEOUT_SECONDS)
    except KafkaException as error:
        raise unreachable(settings.kafka, error) from error


_ANY: Any = None  # the stubs know no filter without a name
_EVERY = AclBindingFilter(
    ResourceType.ANY,
    _ANY,
    ResourcePatternType.ANY,
    _ANY,
    _ANY,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def _binding(grant: Grant) -> AclBinding:
    return AclBinding(
        ResourceType[grant.kind.upper()],
        grant.name,
        ResourcePatternType.LITERAL,
        f"User:{grant.principal}",
        ANY_HOST,
        AclOperation[grant.operation.upper()],
        AclPermissionType.ALLOW,
    )


def _exactly(binding: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
