"""Tokens for Kafka by OAuth 2 (SASL OAUTHBEARER): the client credentials grant (RFC 6749, section 4.4).

aiokafka asks for a token at each connection, and this provider keeps one until shortly before its end. librdkafka,
which administers topics, gets its tokens by the same settings itself.
"""

import asyncio

import aiohttp
from aiokafka.abc import AbstractTokenProvider

from streams.errors import StoreUnavailable
from streams.settings import KafkaSettings

REQUEST_SECONDS = 10.0
EARLY_SHARE = 0.8
"""Share of a token's lifetime after which the next one is fetched."""
DEFAULT_SECONDS = 300.0
"""Lifetime of a token whose server does not say it (seconds)."""


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka ships no types
    """The tokens of one client."""

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
        auth = aiohttp.BasicAuth(own.sasl_username, own.sasl_password.get_secret_value())
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(own.sasl_token_url, data=form, auth=auth, allow_redirects=False) as answer,
            ):
                answer.raise_for_status()
                content = await answer.json(content_type=None)
                return str(content["access_token"]), float(content.get("expires_in", DEFAULT_SECONDS))
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
            raise StoreUnavailable(
                f"no token for Kafka from {own.sasl_token_url} ({error or type(error).__name__}). "
                "Check RIFFLE_KAFKA__SASL_TOKEN_URL, the user name and the password"
            ) from error
