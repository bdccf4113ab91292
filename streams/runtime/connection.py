"""How librdkafka's clients reach the cluster, and what is said when they don't."""

from confluent_kafka import KafkaError, KafkaException

from streams.errors import StoreUnavailable
from streams.settings import KafkaSettings

TIMEOUT_SECONDS = 20.0


def client_config(settings: KafkaSettings) -> dict[str, str | int | float | bool]:
    """librdkafka's connection options."""
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": settings.bootstrap,
        "security.protocol": settings.security_protocol.lower(),
        # Its own log repeats every refused connection; what fails is raised, and told once.
        "log_level": 2,
    }
    files = (
        ("ssl.ca.location", settings.ca_file),
        ("ssl.certificate.location", settings.cert_file),
        ("ssl.key.location", settings.key_file),
    )
    config.update({name: str(path) for name, path in files if path})
    return config


def unreachable(settings: KafkaSettings, error: KafkaException) -> StoreUnavailable:
    """What to raise, and tell a person, when the cluster doesn't answer."""
    reason = error.args[0]
    said = reason.str() if isinstance(reason, KafkaError) else reason
    return StoreUnavailable(
        f"Kafka at {settings.bootstrap} doesn't answer ({said}). "
        "Start the local stack with `riffle up`, or set RIFFLE_KAFKA__BOOTSTRAP"
    )
