"""Sign-in at Kafka: passwords and tokens for the clients of aiokafka, and the reason why brokers refuse a client."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import quote_plus

from aiokafka import conn
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

from streams.client.plain_http import IDENTITY, coding_fault
from streams.credentials import FollowingSecret
from streams.runtime.aws_tokens import new_token, read_whole
from streams.settings import KafkaSettings

TOKEN_SECONDS = 10.0
MAX_TOKEN_BYTES = 256 * 1024
"""Maximum size of the answer with a token (bytes)."""
EARLY_SHARE = 0.8
"""Share of a token's lifetime after which the next one is fetched."""
DEFAULT_SECONDS = 300.0
"""Lifetime of a token whose server does not say it (seconds)."""
_MECHANISM = re.compile(r"supported mechanisms: ([A-Z0-9,-]{1,200})")
_REASON = re.compile(r"(?:authentication error|OAUTHBEARER token): ([^(]{1,300})")


class CurrentConnection(conn.AIOKafkaConnection):  # type: ignore[misc]  # aiokafka ships no types
    """A connection that signs in with the password that its file has at that moment."""

    async def _do_sasl_handshake(self) -> None:
        given: object = self._sasl_plain_password  # type: ignore[has-type]  # aiokafka ships no types
        if isinstance(given, FollowingSecret):
            self._sasl_plain_password = given.renewed()
        await super()._do_sasl_handshake()


def sign_in_with_current_passwords() -> None:
    """Let aiokafka's clients of this process read a password again for each connection. It has no option for it."""
    conn.AIOKafkaConnection = CurrentConnection


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka ships no types
    """The tokens of one client, for OAUTHBEARER: the client credentials grant of OAuth 2 (RFC 6749, section 4.4), or
    AWS's own (`aws_tokens`).

    aiokafka asks for a token at each connection, and one is kept until shortly before its end. librdkafka, which
    administers topics, gets its tokens by the same settings itself.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._token, self._until = "", 0.0
        self._fetching = asyncio.Lock()

    async def token(self) -> str:
        """Return a token that is valid now.

        Raises KafkaConnectionError, which aiokafka takes for a broker that can't be reached, and tries again.
        """
        async with self._fetching:
            if asyncio.get_running_loop().time() >= self._until:
                self._token, seconds = await self._fetch()
                self._until = asyncio.get_running_loop().time() + seconds * EARLY_SHARE
            return self._token

    async def _fetch(self) -> tuple[str, float]:
        if self._settings.sasl_mechanism == "AWS_MSK_IAM":
            try:
                return await new_token(self._settings)
            except (OSError, ValueError) as error:
                raise KafkaConnectionError(f"no token for Kafka ({error})") from error
        import aiohttp  # 0.12 s of CPU time, and few installations have tokens

        own = self._settings
        form = {"grant_type": "client_credentials", **({"scope": own.sasl_scope} if own.sasl_scope else {})}
        pair = ":".join(map(quote_plus, (own.sasl_username, own.current_password())))  # RFC 6749, section 2.3.1
        headers = {**IDENTITY, "Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        timeout = aiohttp.ClientTimeout(total=TOKEN_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
                session.post(own.sasl_token_url, data=form, headers=headers, allow_redirects=False) as answer,
            ):
                answer.raise_for_status()
                if fault := coding_fault(answer.headers):
                    raise ValueError(fault)
                content = json.loads(await read_whole(answer.content, MAX_TOKEN_BYTES))
                return str(content["access_token"]), float(content.get("expires_in", DEFAULT_SECONDS))
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
            reason = f"{error or type(error).__name__}"
            raise KafkaConnectionError(f"no token for Kafka from {own.sasl_token_url} ({reason})") from error


def explain_refusal(settings: KafkaSettings, errors: Sequence[str]) -> tuple[str, str]:
    """Return what the brokers refuse, and what to do, by librdkafka's messages. Pure."""
    text = next((each for each in errors if "SASL" in each), next((each for each in errors if "SSL" in each), ""))
    reason = found[1].strip() if (found := _REASON.search(text)) else text
    protocol = settings.security_protocol
    if "OAUTHBEARER token" in text and settings.sasl_mechanism == "AWS_MSK_IAM":
        return (
            f"There is no token of AWS ({reason})",
            "Check the role of the service account, or RIFFLE_KAFKA__SASL_USERNAME. RIFFLE_KAFKA__BOOTSTRAP has the "
            "names that AWS gave the brokers.",
        )
    if "OAUTHBEARER token" in text:
        return (
            f"There is no token from {settings.sasl_token_url} ({reason})",
            "Check RIFFLE_KAFKA__SASL_TOKEN_URL, and that its server knows the client of RIFFLE_KAFKA__SASL_USERNAME "
            "with this secret and scope.",
        )
    if offered := _MECHANISM.search(text):
        return (
            f"The brokers don't offer {settings.sasl_mechanism}. They offer {offered[1].replace(',', ', ')}",
            "Set RIFFLE_KAFKA__SASL_MECHANISM to one of these.",
        )
    if "not valid in current SASL state" in text:
        return (
            "This listener has no sign-in by user name",
            "Set RIFFLE_KAFKA__BOOTSTRAP to a listener with SASL, or RIFFLE_KAFKA__SECURITY_PROTOCOL to "
            f"{'SSL' if settings.is_encrypted else 'PLAINTEXT'}.",
        )
    if "authentication error" in text:
        return (
            f"The brokers refuse the user {settings.sasl_username} ({reason})",
            "Check RIFFLE_KAFKA__SASL_USERNAME, the password and RIFFLE_KAFKA__SASL_MECHANISM: a user of SCRAM has a "
            "password for each mechanism.",
        )
    return _explain_encryption(text, protocol)


def _explain_encryption(text: str, protocol: str) -> tuple[str, str]:
    if "certificate verify failed" in text:
        return (
            "An authority that is not trusted here signed the brokers' certificate",
            "Set RIFFLE_KAFKA__CA_FILE to the PEM file of their authority, and RIFFLE_KAFKA__BOOTSTRAP to the names in "
            "the certificate.",
        )
    if "PLAINTEXT broker listener" in text:
        return (
            "This listener is not encrypted",
            "Set RIFFLE_KAFKA__BOOTSTRAP to a listener with TLS, or RIFFLE_KAFKA__SECURITY_PROTOCOL to "
            f"{'SASL_PLAINTEXT (only the local profile)' if protocol == 'SASL_SSL' else 'PLAINTEXT'}.",
        )
    if text:
        return (
            f"The encrypted connection fails ({text})",
            "Check RIFFLE_KAFKA__CA_FILE, and whether the brokers want a certificate of the client "
            "(RIFFLE_KAFKA__CERT_FILE, RIFFLE_KAFKA__KEY_FILE).",
        )
    return (
        f"The brokers accept connections and close them: this listener does not speak {protocol}",
        "Set RIFFLE_KAFKA__SECURITY_PROTOCOL to the listener's protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
    )
