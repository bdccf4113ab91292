"""Connection options of Kafka's clients, and the error when the cluster doesn't answer."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from confluent_kafka import KafkaError, KafkaException

from streams.credentials import FollowingContext, TlsFiles, client_context
from streams.errors import KafkaAway
from streams.runtime.aws_tokens import token_callback
from streams.runtime.sign_in import sign_in_with_current_passwords
from streams.settings import KafkaSettings

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0
MAX_RECORD_BYTES = 1_048_576
"""Maximum size of a record: what brokers take by default (`message.max.bytes`). A larger value becomes a blob."""
COMPRESSION = "lz4"
"""Compression of sent records: the quickest that all clients have."""
MOVING_SECONDS = 5.0
"""Time until leaders and coordinators are known again after a broker came back or topics were made (seconds)."""
AGAIN_SECONDS = 0.25
_MOVING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def client_config(settings: KafkaSettings) -> dict[str, Any]:
    """Return librdkafka's connection options. Raises KafkaAway if AWS gives no token."""
    config: dict[str, Any] = {
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
    return {**config, **_sasl_config(settings)} if settings.has_sasl else config


def reader_config(settings: KafkaSettings, group: str, start: Literal["earliest", "latest"]) -> dict[str, Any]:
    """Return the options of a reader that commits nothing. `start`: where a partition without an offset begins."""
    return {
        **client_config(settings),
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": start,
    }


def _sasl_config(settings: KafkaSettings) -> dict[str, Any]:
    if settings.sasl_mechanism == "AWS_MSK_IAM":
        try:
            return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": token_callback(settings)}
        except (OSError, ValueError) as error:
            raise no_answer(settings, f"no token of AWS: {error}") from error
    password = str(settings.current_password())
    if settings.sasl_mechanism != "OAUTHBEARER":
        names = {"sasl.username": settings.sasl_username, "sasl.password": password}
        return {"sasl.mechanism": settings.sasl_mechanism, **names}
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": settings.sasl_token_url,
        "sasl.oauthbearer.client.id": settings.sasl_username,
        "sasl.oauthbearer.client.secret": password,
        **({"sasl.oauthbearer.scope": settings.sasl_scope} if settings.sasl_scope else {}),
    }


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return aiokafka's options of security. Raises UsageError. Call it in the event loop of the client."""
    options: dict[str, Any] = {"security_protocol": settings.security_protocol}
    if context := ssl_context(settings):
        options["ssl_context"] = context
    if settings.has_sasl:
        options["sasl_mechanism"] = "OAUTHBEARER" if settings.has_tokens else settings.sasl_mechanism
        if settings.has_tokens:
            # Its HTTP client takes a fifth of the start of a command.
            from streams.runtime.sign_in import TokenProvider

            options["sasl_oauth_token_provider"] = TokenProvider(settings)
        else:
            options["sasl_plain_username"] = settings.sasl_username
            options["sasl_plain_password"] = settings.current_password()
            sign_in_with_current_passwords()
    return options


def ssl_context(settings: KafkaSettings) -> FollowingContext | None:
    """Return the TLS context of aiokafka's clients, or None without encryption. Raises UsageError."""
    return client_context(TlsFiles.of(settings)) if settings.is_encrypted else None


def unreachable_error(settings: KafkaSettings, error: KafkaException) -> KafkaAway:
    """Return the error to raise when the cluster doesn't answer, with advice."""
    reason = error.args[0]
    return no_answer(settings, reason.str() if isinstance(reason, KafkaError) else reason)


def no_answer(settings: KafkaSettings, reason: object) -> KafkaAway:
    """Return the error to raise when the cluster doesn't answer for this reason, with advice."""
    advice = "Start the local stack with `riffle up`, or set RIFFLE_KAFKA__BOOTSTRAP"
    if settings.security_protocol != "PLAINTEXT":
        advice = "Which setting is wrong: `riffle doctor --only kafka`"
    return KafkaAway(f"Kafka at {settings.bootstrap} doesn't answer ({reason}). {advice}")


def answer_of(future: Future[T]) -> T:
    """Wait for an answer to an admin client. Raises KafkaException, also for an answer that is late."""
    try:
        return future.result(timeout=TIMEOUT_SECONDS)
    except TimeoutError:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no answer in {TIMEOUT_SECONDS:.0f} s")) from None


def retry_while_moving(ask: Callable[[], T]) -> T:
    """Ask Kafka again while partitions and groups move between brokers, or topics are new. Raises KafkaException."""
    end = time.monotonic() + MOVING_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            reason = error.args[0]
            if not isinstance(reason, KafkaError) or reason.code() not in _MOVING or time.monotonic() > end:
                raise
            time.sleep(AGAIN_SECONDS)
