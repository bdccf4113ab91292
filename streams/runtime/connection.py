"""Connection options of Kafka's clients, and the error when the cluster doesn't answer."""

import asyncio
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
from aiokafka.abc import AbstractTokenProvider
from confluent_kafka import KafkaError, KafkaException

from streams.errors import StoreUnavailable
from streams.settings import KafkaSettings
from streams.tls import FollowingContext, TlsFiles, client_context

T = TypeVar("T")

TIMEOUT_SECONDS = 20.0
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
TOKEN_SECONDS = 10.0
EARLY_SHARE = 0.8
"""Share of a token's lifetime after which the next one is fetched."""
DEFAULT_SECONDS = 300.0
"""Lifetime of a token whose server does not say it (seconds)."""


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka ships no types
    """The tokens of one client, for OAUTHBEARER: the client credentials grant of OAuth 2 (RFC 6749, section 4.4).

    aiokafka asks for a token at each connection, and one is kept until shortly before its end. librdkafka, which
    administers topics, gets its tokens by the same settings itself.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._token, self._until = "", 0.0
        self._fetching = asyncio.Lock()

    async def token(self) -> str:
        """Return a token that is valid now. Raises StoreUnavailable."""
        async with self._fetching:
            if asyncio.get_running_loop().time() >= self._until:
                self._token, seconds = await self._fetch()
                self._until = asyncio.get_running_loop().time() + seconds * EARLY_SHARE
            return self._token

    async def _fetch(self) -> tuple[str, float]:
        own = self._settings
        form = {"grant_type": "client_credentials", **({"scope": own.sasl_scope} if own.sasl_scope else {})}
        pair = (own.sasl_username, own.sasl_password.get_secret_value())
        known = b64encode(":".join(quote(each, safe="") for each in pair).encode()).decode()  # RFC 6749, section 2.3.1
        timeout = aiohttp.ClientTimeout(total=TOKEN_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(
                    own.sasl_token_url, data=form, headers={"Authorization": f"Basic {known}"}, allow_redirects=False
                ) as answer,
            ):
                answer.raise_for_status()
                content = await answer.json(content_type=None)
                return str(content["access_token"]), float(content.get("expires_in", DEFAULT_SECONDS))
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
            raise StoreUnavailable(
                f"no token for Kafka from {own.sasl_token_url} ({error or type(error).__name__}). "
                "Check RIFFLE_KAFKA__SASL_TOKEN_URL, the user name and the password"
            ) from error


def client_config(settings: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Return librdkafka's connection options."""
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
    return {**config, **_sasl_config(settings)} if settings.has_sasl else config


def _sasl_config(settings: KafkaSettings) -> dict[str, str]:
    password = settings.sasl_password.get_secret_value()
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
        options["sasl_mechanism"] = settings.sasl_mechanism
        if settings.sasl_mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = TokenProvider(settings)
        else:
            options["sasl_plain_username"] = settings.sasl_username
            options["sasl_plain_password"] = settings.sasl_password.get_secret_value()
    return options


def ssl_context(settings: KafkaSettings) -> FollowingContext | None:
    """Return the TLS context of aiokafka's clients, or None without encryption. Raises UsageError."""
    return client_context(TlsFiles.of(settings)) if settings.is_encrypted else None


def unreachable_error(settings: KafkaSettings, error: KafkaException) -> StoreUnavailable:
    """Return the error to raise when the cluster doesn't answer, with advice."""
    reason = error.args[0]
    text = reason.str() if isinstance(reason, KafkaError) else reason
    return StoreUnavailable(
        f"Kafka at {settings.bootstrap} doesn't answer ({text}). "
        "Start the local stack with `riffle up`, or set RIFFLE_KAFKA__BOOTSTRAP"
    )


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
