"""The secret of the local gateway: made once, kept, and readable only by its user."""

import json
import stat
from pathlib import Path

import pytest

from streams.local.riffle_processes import gateway, local_key


def test_the_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    key = local_key(tmp_path)
    assert len(key) >= 32
    assert local_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "gateway-key").stat().st_mode) == 0o600


def test_the_gateway_gets_it_unless_the_operator_has_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIFFLE_GATEWAY__KEYS", raising=False)
    assert json.loads(gateway(tmp_path, 0).environment["RIFFLE_GATEWAY__KEYS"]) == [local_key(tmp_path)]
    monkeypatch.setenv("RIFFLE_GATEWAY__KEYS", "[]")
    assert "RIFFLE_GATEWAY__KEYS" not in gateway(tmp_path, 0).environment
