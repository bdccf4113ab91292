"""A key that no request can carry makes the language model unavailable."""

import pytest

from streams.models.chat import OpenAIChat
from streams.models.chat_protocol import ChatOptions, Message, ModelUnavailable, Usage


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-one\nsk-two", "sk-blank "], ids=["umlaut", "two lines", "blank"])
async def test_a_key_that_no_header_has_makes_the_model_unavailable_and_is_not_shown(key: str) -> None:
    chat = OpenAIChat("http://127.0.0.1:1/v1", "any", lambda: key)
    with pytest.raises(ModelUnavailable, match="API key of the language model has characters") as caught:
        async for _ in chat.stream([Message("user", "x")], ChatOptions(8, 60.0), Usage()):
            pass
    await chat.close()
    assert "sk-" not in str(caught.value)
