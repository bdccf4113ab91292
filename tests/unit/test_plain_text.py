"""Strangers' text made plain, and logs of it."""

import json
import logging
import sys

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from streams.logs import configure_logging
from streams.plain_text import clean_line, clean_text, escape_unsafe, is_unsafe
from streams.settings import Settings

LINES = [
    # text, as one line, as text with lines
    ("plain  text", "plain text", "plain  text"),
    ("two\nlines\tand a tab", "two lines and a tab", "two\nlines\tand a tab"),
    ("\x1b[31mred\x1b[0m", "[31mred[0m", "\ufffd[31mred\ufffd[0m"),
    ("\u202egnp.exe", "gnp.exe", "\ufffdgnp.exe"),
    ("a\r\nb\rc", "a b c", "a\nb\ufffdc"),
    ("\x9b2J\x7f", "2J", "\ufffd2J\ufffd"),
    ("\ud800", "", "\ufffd"),
    ("e\u0301 👩\u200d🚀 می\u200cخواهم", "e\u0301 👩\u200d🚀 می\u200cخواهم", "e\u0301 👩\u200d🚀 می\u200cخواهم"),
]


@pytest.mark.parametrize(("text", "line", "lines"), LINES)
def test_text_is_cleaned(text: str, line: str, lines: str) -> None:
    assert clean_line(text) == line
    assert clean_text(text) == lines


def test_a_printable_character_is_safe_and_no_space_but_the_space() -> None:
    # `clean_line` takes printable text as it is.
    printable = filter(str.isprintable, map(chr, range(sys.maxunicode + 1)))
    assert not [char for char in printable if is_unsafe(char) or (char.isspace() and char != " ")]


@given(st.text())
def test_cleaning_leaves_nothing_unsafe_and_is_stable(text: str) -> None:
    for clean in (clean_line, clean_text):
        cleaned = clean(text)
        assert clean(cleaned) == cleaned
        assert not [char for char in cleaned if ord(char) < 32 and char not in "\n\t"]
    assert not [char for char in clean_line(text) if is_unsafe(char)]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaped_json_is_the_same_json(text: str) -> None:
    document = json.dumps(text, ensure_ascii=False)
    assert json.loads(escape_unsafe(document)) == text


def _raise() -> None:
    raise ValueError("\x1b]0;error\x07")


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize("log_json", [False, True], ids=["console", "json"])
def test_a_log_line_carries_no_control_sequence(log_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Settings(log_json=log_json))
    structlog.get_logger("riffle").warning("fetched\x1b[2J", url="https://a.example/\x1b]0;owned\x07", size=3)
    logging.getLogger("library").warning("type %s", "\x1b[31m")
    try:
        _raise()
    except ValueError:
        structlog.get_logger("riffle").exception("failed")
        logging.getLogger("library").exception("failed")
    written = capsys.readouterr().err
    assert written.count("failed") == 2
    assert "\x1b" not in written
    assert "\x07" not in written


@pytest.mark.usefixtures("logging_as_before")
def test_a_logger_that_was_used_follows_the_next_configuration() -> None:
    """A command that runs in this process configures logging: afterwards tests of log lines saw none."""
    used = structlog.get_logger("riffle")
    used.info("its first line")
    configure_logging(Settings(log_json=True))
    with capture_logs() as lines:
        used.warning("the next line")
    assert [line["event"] for line in lines] == ["the next line"]


@pytest.mark.usefixtures("logging_as_before")
def test_lines_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Settings(log_level="WARNING"))
    for logger in (structlog.get_logger("riffle"), logging.getLogger("library")):
        logger.info("a detail")
        logger.warning("a fault")
    written = capsys.readouterr().err
    assert (written.count("a detail"), written.count("a fault")) == (0, 2)
