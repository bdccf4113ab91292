"""The access rules of the local broker: the topology's grants. The operator and the broker itself are super users."""

import time
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

from streams.errors import StoreUnavailable
from streams.local.tls.identities import OPERATOR
from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable_error
from streams.settings import Settings
from streams.topology import Grant

NODE_ID = 1
"""The id of the local Kafka's only broker."""
SUPER_USERS = ("kafka", OPERATOR)
ANY_HOST = "*"
LOOK_SECONDS = 0.1
KNOWN_SECONDS = 120.0
"""Maximum time until the broker knows its rules: a moment, and more than 20 s on a machine with a load of 40."""


def apply_grants(settings: Settings, wanted: Sequence[Grant]) -> None:
    """Make these grants the broker's only access rules. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    bindings = {_make_binding(grant) for grant in wanted}
    try:
        existing = set(admin.describe_acls(_EVERY, request_timeout=TIMEOUT_SECONDS).result(timeout=TIMEOUT_SECONDS))
        # The client refuses empty lists.
        if missing := list(bindings - existing):
            for created in admin.create_acls(missing, request_timeout=TIMEOUT_SECONDS).values():
                created.result(timeout=TIMEOUT_SECONDS)
        if obsolete := [AclBindingFilter(*_fields_of(binding)) for binding in existing - bindings]:
            for deleted in admin.delete_acls(obsolete, request_timeout=TIMEOUT_SECONDS).values():
                deleted.result(timeout=TIMEOUT_SECONDS)
        _wait_until_known(admin, bindings)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def _wait_until_known(admin: AdminClient, bindings: set[AclBinding]) -> None:
    """Wait until the broker knows the rules: the controller answers before, and a client would be refused."""
    end = time.monotonic() + KNOWN_SECONDS
    while bindings != set(admin.describe_acls(_EVERY, request_timeout=TIMEOUT_SECONDS).result(timeout=TIMEOUT_SECONDS)):
        if time.monotonic() > end:
            raise StoreUnavailable(f"Kafka does not know its access rules {KNOWN_SECONDS:.0f} s after they were set")
        time.sleep(LOOK_SECONDS)


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


def _make_binding(grant: Grant) -> AclBinding:
    return AclBinding(
        ResourceType[grant.kind.upper()],
        grant.name,
        ResourcePatternType.PREFIXED if grant.is_prefix else ResourcePatternType.LITERAL,
        f"User:{grant.principal}",
        ANY_HOST,
        AclOperation[grant.operation.upper()],
        AclPermissionType.ALLOW,
    )


def _fields_of(binding: AclBinding) -> tuple[Any, ...]:
    names = ("restype", "name", "resource_pattern_type", "principal", "host", "operation", "permission_type")
    return tuple(getattr(binding, name) for name in names)
