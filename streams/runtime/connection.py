"""Connection options of Kafka's clients, and the error when the cluster doesn't answer."""

import time
from collections.abc import Callable, Collection
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from streams.errors import StoreUnavailable
from streams.settings import KafkaSettings
from streams.tls import FollowingContext, TlsFiles, client_context

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0


def client_config(settings: KafkaSettings) -> dict[str, str | int | float | bool]:
    """librdkafka's connection options."""
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": settings.bootstrap,
        "security.protocol": settings.security_protocol.lower(),
        # Its own log repeats every refused connection. Failures are raised, so one message is enough.
        "log_level": 2,
    }
    files = (
        ("ssl.ca.location", settings.ca_file),
        ("ssl.certificate.location", settings.cert_file),
        ("ssl.key.location", settings.key_file),
    )
    config.update({name: str(path) for name, path in files if path})
    return config


def ssl_context(settings: KafkaSettings) -> FollowingContext | None:
    """The TLS context of aiokafka's clients, or None without encryption. Raises UsageError."""
    return client_context(TlsFiles.of(settings)) if settings.security_protocol == "SSL" else None


def unreachable(settings: KafkaSettings, error: KafkaException) -> StoreUnavailable:
    """The error to raise when the cluster doesn't answer, with advice."""
    reason = error.args[0]
    text = reason.str() if isinstance(reason, KafkaError) else reason
    return StoreUnavailable(
        f"Kafka at {settings.bootstrap} doesn't answer ({text}). "
        "Start the local stack with `riffle up`, or set RIFFLE_KAFKA__BOOTSTRAP"
    )


def patiently(
    ask: Callable[[], T], codes: Collection[int], *, seconds: float = TIMEOUT_SECONDS, pause_seconds: float
) -> T:
    """Ask Kafka again while its error is one of these `codes` of KafkaError, which pass by themselves, for `seconds`.

    Raises the last error, a KafkaException or the StoreUnavailable that it caused.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (KafkaException, StoreUnavailable) as error:
            cause = error if isinstance(error, KafkaException) else error.__cause__
            reason = cause.args[0] if isinstance(cause, KafkaException) else None
            if not isinstance(reason, KafkaError) or reason.code() not in codes or time.monotonic() > end:
                raise
            time.sleep(pause_seconds)
