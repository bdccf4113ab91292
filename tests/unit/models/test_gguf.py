"""The licence that a file of weights names."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.commands.operate import models
from streams.models.gguf import MAX_BYTES, MAX_TEXT_BYTES, licence_of


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def fact(name: str, kind: int, value: bytes) -> bytes:
    return text(name.encode()) + struct.pack("<I", kind) + value


def head(*facts: bytes, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(facts) if count is None else count) + b"".join(facts)


LICENCE = fact("general.license", 8, text(b"Gemma"))
TAGS = fact("general.tags", 9, struct.pack("<IQ", 8, 2) + text(b"gemma3") + text(b"google"))
NUMBERS = fact("tokenizer.scores", 9, struct.pack("<IQ", 6, 3) + bytes(12))
CASES = [
    (head(LICENCE), "gemma", "its name is in lower case"),
    (head(fact("general.size", 4, bytes(4)), TAGS, NUMBERS, LICENCE), "gemma", "behind a number and lists"),
    (head(fact("general.name", 8, text(b"x")), LICENCE), "gemma", "behind another text"),
    (head(), "", "the file has no facts"),
    (head(count=2**60), "", "fewer facts than it says"),
    (head(fact("words", 9, struct.pack("<IQ", 8, 2**60)), LICENCE), "", "a list without an end"),
    (head(fact("a", 9, struct.pack("<IQ", 9, 1)), LICENCE), "", "a list of lists"),
    (head(fact("a", 77, b""), LICENCE), "", "a type of another version"),
    (head(fact("a", 8, struct.pack("<Q", 2**63)), LICENCE), "", "a text that is longer than the file"),
    (head(LICENCE)[:-1], "", "the file is cut"),
    (head(fact("general.license", 8, text(b"x" * 5_000))), "x" * MAX_TEXT_BYTES, "a long name is cut"),
    (head(fact("a", 8, text(bytes(MAX_BYTES))), LICENCE), "", "beyond what is read"),
    (b"PK\x03\x04", "", "another format"),
]


@pytest.mark.parametrize(("content", "licence", "why"), CASES, ids=[why for *_, why in CASES])
def test_the_licence_of_a_file(tmp_path: Path, content: bytes, licence: str, why: str) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    assert licence_of(file) == licence


@given(st.binary(max_size=400))
def test_any_file_is_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "model.gguf"
    file.write_bytes(head(content, count=9))
    assert len(licence_of(file)) <= MAX_TEXT_BYTES


SHOWN = [
    ("apache-2.0", "Licence of the weights, as the file says: apache-2.0."),
    ("gemma", "'gemma', which Riffle does not know as an open licence. Read the terms"),
    ("", "Licence of the weights, as the file says: none. Read the terms"),
]


@pytest.mark.parametrize(("licence", "shown"), SHOWN)
def test_the_licence_is_shown_before_the_weights_are_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], licence: str, shown: str
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(head(fact("general.license", 8, text(licence.encode()))))
    models._print_licence(file)
    captured = capsys.readouterr()
    assert shown in " ".join((captured.out + captured.err).split())
