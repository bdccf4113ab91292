"""The tokens with which aiokafka's clients sign in by OAUTHBEARER."""

import asyncio
from base64 import b64encode
from urllib.parse import quote_plus

import aiohttp
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

from streams.settings import KafkaSettings

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
        """Return a token that is valid now.

        Raises KafkaConnectionError, which aiokafka takes for a broker that can't be reached, and tries again.
        """
        async with self._fetching:
            if asyncio.get_running_loop().time() >= self._until:
                self._token, seconds = await self._fetch()
                self._until = asyncio.get_running_loop().time() + seconds * EARLY_SHARE
            return self._token

    async def _fetch(self) -> tuple[str, float]:
        own = self._settings
        form = {"grant_type": "client_credentials", **({"scope": own.sasl_scope} if own.sasl_scope else {})}
        pair = ":".join(map(quote_plus, (own.sasl_username, own.current_password())))  # RFC 6749, section 2.3.1
        headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        timeout = aiohttp.ClientTimeout(total=TOKEN_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(own.sasl_token_url, data=form, headers=headers, allow_redirects=False) as answer,
            ):
                answer.raise_for_status()
                content = await answer.json(content_type=None)
                return str(content["access_token"]), float(content.get("expires_in", DEFAULT_SECONDS))
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
            reason = f"{error or type(error).__name__}"
            raise KafkaConnectionError(f"no token for Kafka from {own.sasl_token_url} ({reason})") from error
