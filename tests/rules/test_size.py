"""The size of the command line: each command and each option is one more thing to find, to learn and to keep."""

from collections.abc import Iterator
from typing import Any

from streams.cli import COMMANDS, load_command

MAX_COMMANDS = 53
MAX_OPTIONS = 190
"""Without --help."""
RULE = "Who adds one takes one away, or makes it a value or an option of one that is there"


def leaves(path: str, command: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield each command that has none below it, with its options."""
    below = getattr(command, "commands", {})
    for name, child in below.items():
        yield from leaves(f"{path} {name}", child)
    if not below:
        yield path, [param.opts[-1] for param in command.params if param.param_type_name == "option"]


def test_the_command_line_stays_small() -> None:
    found = dict(leaf for name in COMMANDS for leaf in leaves(name, load_command(name)))
    listed = "\n".join(f"  riffle {path} {' '.join(options)}" for path, options in found.items())
    options = sum(map(len, found.values()))
    assert len(found) <= MAX_COMMANDS, f"{len(found)} commands, {MAX_COMMANDS} are allowed. {RULE}:\n{listed}"
    assert options <= MAX_OPTIONS, f"{options} options, {MAX_OPTIONS} are allowed. {RULE}:\n{listed}"
