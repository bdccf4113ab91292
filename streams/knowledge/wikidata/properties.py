"""The groups of types, and the facts that a panel of each group shows, in their order (`properties.toml`). Pure."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources

WEBSITE = "P856"
IMAGE_PROPERTIES = ("P18", "P154", "P41")
"""Image, logo, flag: the first that an item has."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of types. `facts`: ids of properties with their labels, in the order of a panel."""

    name: str
    classes: frozenset[str]
    known_by: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


@cache
def groups() -> tuple[Group, ...]:
    content = resources.files(__package__).joinpath("properties.toml").read_text("utf-8")
    return tuple(
        Group(
            name, frozenset(row["classes"]), tuple(row["known_by"]), tuple((one, label) for one, label in row["facts"])
        )
        for name, row in tomllib.loads(content).items()
    )


@cache
def labelled() -> frozenset[str]:
    """Return the properties that panels show."""
    return frozenset(one for group in groups() for one, _ in group.facts)


def group_of(classes: Collection[str], properties: Collection[str]) -> Group:
    """Return the group of an item by its classes, or else by its properties. The last group has everything else."""
    for group in groups():
        if not group.classes.isdisjoint(classes):
            return group
    for group in groups():
        if any(one in properties for one in group.known_by):
            return group
    return groups()[-1]
