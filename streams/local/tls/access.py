"""The access rules of the local broker: the topology's grants. The operator and the broker itself are super users."""

from collections.abc import Sequence
from typing import Any

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

from streams.local.tls.identities import OPERATOR
from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable
from streams.settings import Settings
from streams.topology import Grant

SUPER_USERS = ("kafka", OPERATOR)
ANY_HOST = "*"


def apply_grants(settings: Settings, wanted: Sequence[Grant]) -> None:
    """Make the broker's access rules exactly these. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    bindings = {_binding(grant) for grant in wanted}
    try:
        existing = set(admin.describe_acls(_EVERY, request_timeout=TIMEOUT_SECONDS).result(timeout=TIMEOUT_SECONDS))
        # The client refuses empty lists.
        if missing := list(bindings - existing):
            for created in admin.create_acls(missing, request_timeout=TIMEOUT_SECONDS).values():
                created.result(timeout=TIMEOUT_SECONDS)
        if obsolete := [_exactly(binding) for binding in existing - bindings]:
            for deleted in admin.delete_acls(obsolete, request_timeout=TIMEOUT_SECONDS).values():
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
