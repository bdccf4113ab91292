"""The table of packages in docs/concepts/architecture.md, generated from the rules of imports in pyproject.toml."""

import tomllib
from pathlib import Path


def layers_table(pyproject: Path) -> str:
    """The packages of `streams`, from the highest layer to the lowest. `schemas` is below all of them."""
    contracts = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["streams"])
    rows = [" ".join(f"`{name.strip()}`" for name in layer.split("|")) for layer in [*layers, "schemas"]]
    lines = [f"| {number} | {row} |" for number, row in zip(range(len(rows), 0, -1), rows, strict=True)]
    return "\n".join(["| line | packages |", "|---:|---|", *lines])
