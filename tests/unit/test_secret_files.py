"""Passwords in files: each use reads the present one, also in the clients that sign in to servers."""

from pathlib import Path
from typing import Any

import pytest

from streams.credentials import current_secret
from streams.errors import UsageError
from streams.local.home import own_secret
from streams.runtime.connection import client_config
from streams.settings import CassandraSettings, KafkaSettings
from streams.stores.cassandra.driver import CurrentPassword


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("first\n")
    return path


def test_each_use_reads_the_file_again(file: Path) -> None:
    assert current_secret(None) == ""
    assert current_secret(file) == "first"
    file.write_text(" second \r\n")
    assert current_secret(file) == " second ", "only the line break is left out"


def test_a_file_that_is_being_replaced_keeps_its_last_secret(file: Path) -> None:
    assert current_secret(file) == "first"
    file.write_text("")
    assert current_secret(file) == "first"
    file.unlink()
    assert current_secret(file) == "first"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "no text"])
def test_a_secret_that_was_never_read_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "never"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="never can't be used"):
        current_secret(path)


def test_kafka_clients_of_any_age_sign_in_with_the_present_password(file: Path) -> None:
    settings = KafkaSettings(security_protocol="SASL_SSL", sasl_username="riffle", sasl_password_file=file)
    given = settings.current_password()
    file.write_text("second")
    assert (given, given.renewed(), settings.current_password()) == ("first", "second", "second")


def test_each_connection_to_cassandra_signs_in_with_the_present_password(file: Path) -> None:
    provider = CurrentPassword(CassandraSettings(username="riffle", password_file=file))
    assert provider.new_authenticator("node").initial_response() == b"\x00riffle\x00first"
    file.write_text("second")
    assert provider.new_authenticator("node").initial_response() == b"\x00riffle\x00second"


def test_a_key_of_our_own_is_random_stays_and_is_for_this_user_only(tmp_path: Path) -> None:
    file = tmp_path / "home" / "chat.key"
    key = own_secret(file)
    assert len(key) > 40
    assert own_secret(file) == key != own_secret(tmp_path / "other.key")
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file], "no draft is left"


def test_two_processes_that_make_a_key_at_once_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "chat.key"

    def link_second(draft: Path, name: Path) -> None:
        name.write_text("first")
        raise FileExistsError

    monkeypatch.setattr("streams.local.home.os.link", link_second)
    assert own_secret(file) == "first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_token_of_kafka_has_the_scope_of_the_settings(file: Path) -> None:
    own: dict[str, Any] = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_username": "riffle"}
    own |= {"sasl_password_file": file, "sasl_token_url": "https://tokens.example/token"}
    assert "sasl.oauthbearer.scope" not in client_config(KafkaSettings(**own))
    assert client_config(KafkaSettings(**own, sasl_scope="topics"))["sasl.oauthbearer.scope"] == "topics"
