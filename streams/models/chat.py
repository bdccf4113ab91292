"""The language model as the rest of Riffle sees it: messages in, pieces of a text out.

The client of a language model behind any server with the API of OpenAI (`POST URL/chat/completions`), streamed.

The server is the operator's, but what it answers is a stranger's: an answer has a deadline, a limit of bytes and of
characters, no redirects are followed, and whatever is not the protocol ends the answer with ModelUnavailable. The model
gets no tools, and calls in its answer are not read.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2
import orjson

from streams.client.plain_http import plain_async_client
from streams.errors import DeadlineExceeded, StoreUnavailable, UsageError

MAX_BYTES = 512 * 1024
"""Maximum bytes of an answer, with its envelope."""
MAX_CHARS = 16_000
"""Maximum characters of an answer's text."""
CONNECT_SECONDS = 3.0
CUT_ENDS = ("length", "max_tokens", "content_filter", "error", "abort")
"""A server's reasons for the end of a text that is not whole."""


class ModelUnavailable(StoreUnavailable):
    """The language model's server did not answer, or its answer is not one."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to the model."""

    role: str
    """`system` or `user`."""
    content: str


@dataclass(slots=True)
class Ending:
    """The end of an answer: its own, or a limit."""

    is_cut: bool = False
    """True: the text ends at a limit of tokens or characters, or the stream had no end."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The limits of one answer."""

    max_tokens: int
    deadline_seconds: float


class ChatModel(Protocol):
    """A language model that answers messages with a text, in pieces."""

    def stream(self, messages: Sequence[Message], options: ChatOptions, ending: Ending) -> AsyncIterator[str]:
        """Yield the pieces of the answer's text, and fill `ending` by its end.

        Raises ModelUnavailable, and DeadlineExceeded at the deadline. Pieces before a failure have been yielded.
        """

    async def close(self) -> None:
        """Close the connections."""


@dataclass(slots=True)
class _Reading:
    """The state of one answer that is read."""

    bytes: int = 0
    chars: int = 0
    line: bytearray = field(default_factory=bytearray)
    is_done: bool = False
    finish: str = ""
    """The server's reason for the end, if it gives one."""


class OpenAIChat:
    """The client of one server. `key` returns the API key for the next request, or an empty text.

    A key with other characters than visible ASCII raises ModelUnavailable: no HTTP header has them.
    """

    def __init__(self, url: str, model: str, key: Callable[[], str] = str, *, verify: Any = True) -> None:
        self._url, self._model, self._key = url.rstrip("/") + "/chat/completions", model, key
        # Without TLS nothing is verified, and reading the certificates of all authorities takes 35 ms of CPU time.
        verify = False if url.lower().startswith("http:") else verify
        self._client = plain_async_client(follow_redirects=False, trust_env=False, verify=verify)

    async def stream(self, messages: Sequence[Message], options: ChatOptions, ending: Ending) -> AsyncIterator[str]:
        """See `ChatModel.stream`."""
        reading = _Reading()
        try:
            async with asyncio.timeout(options.deadline_seconds), self._asked(messages, options) as response:
                async for piece in _pieces(response, reading):
                    yield piece
                ending.is_cut = _is_cut(reading)
        except UsageError as error:  # its key can't be read
            raise ModelUnavailable(str(error)) from error
        except TimeoutError as error:
            raise DeadlineExceeded(f"the language model took longer than {options.deadline_seconds:.3g} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelUnavailable(f"{self._url}: {type(error).__name__}: {error}") from error

    @asynccontextmanager
    async def _asked(self, messages: Sequence[Message], options: ChatOptions) -> AsyncIterator[httpx2.Response]:
        body = {
            "model": self._model,
            "messages": [{"role": each.role, "content": each.content} for each in messages],
            "max_tokens": options.max_tokens,
            "temperature": 0,
            "stream": True,
        }
        limits = httpx2.Timeout(options.deadline_seconds, connect=CONNECT_SECONDS)
        key = self._key()
        if not all("!" <= char <= "~" for char in key):  # the HTTP client's error would show it, or be another
            raise ModelUnavailable("the API key of the language model has characters that are not visible ASCII")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with self._client.stream("POST", self._url, json=body, headers=headers, timeout=limits) as response:
            if response.status_code != 200:
                raise ModelUnavailable(f"{self._url} answered with status {response.status_code}")
            yield response

    async def close(self) -> None:
        await self._client.aclose()


async def _pieces(response: httpx2.Response, reading: _Reading) -> AsyncIterator[str]:
    """Yield the pieces of an answer. Some servers answer with one JSON object, although a stream was asked for."""
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    async for content in response.aiter_bytes():
        reading.bytes += len(content)
        if reading.bytes > MAX_BYTES:
            raise ModelUnavailable(f"the language model's answer has more than {MAX_BYTES:,} bytes")
        reading.line += content
        if not is_stream:
            continue
        *lines, rest = bytes(reading.line).split(b"\n")
        reading.line = bytearray(rest)
        for line in lines:
            if piece := _of_line(line, reading):
                yield piece
            if reading.is_done:
                return
    if not is_stream:
        reading.is_done = True
        if piece := _of_object(bytes(reading.line), reading):
            yield piece
        return
    if piece := _of_line(bytes(reading.line), reading):
        yield piece
    if not reading.is_done and not reading.chars:
        raise ModelUnavailable("the language model's answer ended without a text")


def _is_cut(reading: _Reading) -> bool:
    """Return whether the text has another end than its own. Some servers send no reason, and some no `[DONE]`."""
    if reading.chars >= MAX_CHARS:
        return True
    return reading.finish in CUT_ENDS if reading.finish else not reading.is_done


def _of_line(line: bytes, reading: _Reading) -> str:
    """Return the text of a line of the event stream; empty for comments and other fields."""
    name, _, value = line.strip().partition(b":")
    if name != b"data" or not value.strip():
        return ""
    if value.strip() == b"[DONE]":
        reading.is_done = True
        return ""
    return _of_object(value, reading)


def _of_object(content: bytes, reading: _Reading) -> str:
    """Return the text of a (part of an) answer, cut at the maximum. Raises ModelUnavailable for anything else."""
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ModelUnavailable("the language model's answer is not JSON") from error
    if not isinstance(answer, Mapping) or "error" in answer:
        raise ModelUnavailable("the language model's server reported an error")
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    if isinstance(first, Mapping) and isinstance(reason := first.get("finish_reason"), str):
        reading.finish = reason
    part = first.get("delta") or first.get("message") or {} if isinstance(first, Mapping) else {}
    text = part.get("content") if isinstance(part, Mapping) else ""
    text = text if isinstance(text, str) else ""
    text = text[: MAX_CHARS - reading.chars]
    reading.chars += len(text)
    reading.is_done = reading.is_done or reading.chars >= MAX_CHARS
    return text
