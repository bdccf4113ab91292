"""The client of a language model: keys that no request can carry, and texts without an end."""

import pytest

from streams.models.chat import ChatOptions, Ending, Message, ModelUnavailable, OpenAIChat
from tests.model_server import Way, model_server

QUESTION = 'Statements:\n[1] "The tower is 300 m high."\n\nQuestion: "How high is the tower?"\nChoose.'


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-one\nsk-two", "sk-blank "], ids=["umlaut", "two lines", "blank"])
async def test_a_key_that_no_header_has_makes_the_model_unavailable_and_is_not_shown(key: str) -> None:
    chat = OpenAIChat("http://127.0.0.1:1/v1", "any", lambda: key)
    with pytest.raises(ModelUnavailable, match="API key of the language model has characters") as caught:
        async for _ in chat.stream([Message("user", "x")], ChatOptions(8, 60.0), Ending()):
            pass
    await chat.close()
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("way", "finish", "is_cut"),
    [
        ("quote", "stop", False),
        ("quote", "", False),  # it ends with [DONE]
        ("quote", "length", True),
        ("quote", "content_filter", True),
        ("cut", "", True),
        ("cut", "stop", False),  # some servers send no [DONE]
        ("whole", "", False),
        ("whole", "length", True),
        ("huge", "", True),
    ],
)
async def test_a_text_that_ends_at_a_limit_or_without_an_end_is_cut(way: Way, finish: str, is_cut: bool) -> None:
    async with model_server(way, piece_chars=4_000, finish=finish) as server:
        chat, ending = OpenAIChat(server.url, "any"), Ending()
        pieces = [piece async for piece in chat.stream([Message("user", QUESTION)], ChatOptions(8, 60.0), ending)]
        await chat.close()
    assert "".join(pieces).startswith("The tower is 300 m high. [1]")
    assert ending.is_cut == is_cut
