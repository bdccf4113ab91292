"""Own entities: the published schema accepts and refuses the same lines as the import."""

import json
from typing import Any

import jsonschema
import orjson
import pytest

from docs.generate import GENERATED
from streams.knowledge.dumps.progress import MAX_REASONS, Saved
from streams.knowledge.dumps.tasks import pack_items, read_answer, read_own_lines
from streams.knowledge.own import read_own

SCHEMA = json.loads((GENERATED / "own-entity.schema.json").read_text())
PUMP = {"id": "acme:pump-3", "label": "Pump 3"}


def is_valid(row: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(row))


def test_the_schema_has_a_name_and_is_valid_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "urn:riffle:schema:own-entity.v1"


@pytest.mark.parametrize(
    "row",
    [
        PUMP,
        PUMP | {"facts": [{"label": "Flow", "values": ["40 l/min"], "source": "https://acme.example/pump-3"}]},
        PUMP | {"aliases": ["P3"], "related": ["acme:pump-4"], "image": {"url": "https://acme.example/p.jpg"}},
        {"id": "acme:pump-3", "removed": True},
    ],
)
def test_lines_that_both_accept(row: dict[str, Any]) -> None:
    assert is_valid(row)
    identity, part = read_own(row)
    assert (identity, part is None) == ("acme:pump-3", row.get("removed", False))


@pytest.mark.parametrize(
    "row",
    [
        {"label": "Pump 3"},  # no id
        PUMP | {"id": " a"},
        PUMP | {"colour": "red"},
        PUMP | {"url": "javascript:alert(1)"},
        PUMP | {"summary": "x" * 701},
        PUMP | {"facts": [{"values": ["40"]}]},
        PUMP | {"facts": [{"label": "Flow", "values": ["1", "2", "3", "4", "5", "6"]}]},
        PUMP | {"image": {"url": "ftp://acme.example/p.jpg"}},
    ],
)
def test_lines_that_both_refuse(row: dict[str, Any]) -> None:
    assert not is_valid(row)
    with pytest.raises(ValueError, match=": "):
        read_own(row)


def test_a_damaged_file_has_few_reasons_however_many_lines_it_has() -> None:
    """Reasons are kept in memory and in notes. A place in a line, or the name of a field, would be one of many."""
    saved = Saved("dump", "salt")
    lines = [b"{" * (number + 1) for number in range(300)]
    lines += [orjson.dumps({"id": "a", "label": "A", f"field {number}": 1}) for number in range(300)]
    rows = read_answer(read_own_lines(pack_items("en", lines)))
    for reason, count in rows.skipped.items():
        saved.skip(reason, count)
    assert saved.skipped["not JSON"] == 300
    assert len(saved.skipped) <= MAX_REASONS + 1
    assert sum(saved.skipped.values()) == 600
