"""The table of keys."""

from io import StringIO

from rich.console import Console

from streams.commands.operate.access import _table
from streams.gateway.access.clients import SCOPES
from streams.stores.protocols import ApiKey

LIMITED = ApiKey("d967c3dbd2cb", "reports", b"", ("search", "pages"), 1, 0, 0, 60, 0, "")
ALL = ApiKey("a967c3dbd2cb", "my program", b"", SCOPES, 1, 0, 0, 0, 0, "")


def shown(*keys: ApiKey) -> str:
    text = StringIO()
    Console(file=text, width=80).print(_table(keys, [3 for _ in keys]))
    return text.getvalue()


def test_keys_fit_a_terminal_of_80_columns() -> None:
    lines = shown(LIMITED, ALL).splitlines()
    assert len(lines) == 6, "no cell and no heading is folded"
    assert "a minute" in lines[1]


def test_columns_that_are_empty_for_each_key_are_left_out() -> None:
    assert [name for name in ("scopes", "site", "expires", "a minute", "a day") if name in shown(ALL)] == ["scopes"]
