"""One POST to the receiver of a webhook, whose address anybody with a key may have chosen.

Each try is a connection of its own, so the guard of the fetcher checks the address each time. Redirects are not
followed, nothing of the answer is read but its status, and a try has a deadline. Only a receiver at an origin that the
operator allowed (RIFFLE_CRAWL__ALLOWED_ORIGINS, or this machine in the local profile) may have a private address.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

import aiohttp
from yarl import URL

from streams.allowed_origins import origin_of
from streams.crawl.fetch.http import close_session, open_allowed_session, open_session
from streams.settings import CrawlSettings

TRY_SECONDS = 10.0
MAX_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one try."""

    status: int = 0
    """0: there was no answer."""
    error: str = ""
    """Why the event was not taken. Empty: it was."""


class Post(Protocol):
    """The sender of one try. No failure of the receiver is an exception."""

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply: ...


class HookPost:
    """Sends tries. `close` ends its sessions."""

    def __init__(self, settings: CrawlSettings, seconds: float = TRY_SECONDS) -> None:
        self._settings, self._seconds = settings, seconds
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(url, headers, body)
        except TimeoutError:
            return Reply(error=f"no answer within {self._seconds:.0f} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reply(error=(str(error) or type(error).__name__)[:MAX_ERROR_CHARS])

    async def _send(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        sent = {**headers, "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}
        session = self._session(self._settings.origins.allows(origin_of(url)))
        async with session.post(URL(url, encoded=True), data=body, headers=sent, allow_redirects=False) as answer:
            status = answer.status
            answer.close()  # its body is nobody's, and the next try is a connection of its own
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return Reply(status)
        redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        return Reply(status, f"status {status}" + (": redirects are not followed" if redirect else ""))

    def _session(self, allowed: bool) -> aiohttp.ClientSession:
        if allowed not in self._sessions:
            make = open_allowed_session if allowed else open_session
            self._sessions[allowed] = make(self._settings)
        return self._sessions[allowed]

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await close_session(session)
