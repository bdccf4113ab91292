"""`riffle completion`: the script with which a shell completes commands and options."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script  # what typer's own --show-completion prints

from streams.commands.console import command, print_script
from streams.errors import UsageError

VARIABLE = "_RIFFLE_COMPLETE"
"""The environment variable by which the shell's script asks the program for completions."""


class Shell(StrEnum):
    """A shell that has completions."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@command
def completion(shell: Annotated[Shell | None, typer.Argument(help="Default: the shell of $SHELL.")] = None) -> None:
    """Print the script with which a shell completes commands and options.

    Examples:

        eval "$(riffle completion bash)"
        riffle completion zsh > ~/.zfunc/_riffle
        riffle completion fish > ~/.config/fish/completions/riffle.fish
    """
    chosen = shell or _own_shell()
    print_script(get_completion_script(prog_name="riffle", complete_var=VARIABLE, shell=chosen))


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in list(Shell):
        raise UsageError(f"$SHELL is {name or 'not set'}. Name the shell: riffle completion bash")
    return name
