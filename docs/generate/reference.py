"""The reference pages of settings and commands, generated from the settings' fields and the commands' help."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from typer import Context

from streams.commands.console import EXIT_STATUSES
from streams.robot_name import ProductToken
from streams.settings import Settings

HELP_WIDTH = 100
LINE_WIDTH = 120
GENERATED_FROM = "This page is generated from {} by `make schemas`."


def settings_page() -> str:
    """docs/reference/settings.md: each setting with its variable, type, default and meaning."""
    single = [(name, field) for name, field in Settings.model_fields.items() if not _is_group(field)]
    groups = [(name, field) for name, field in Settings.model_fields.items() if _is_group(field)]
    parts = [SETTINGS_INTRODUCTION, _settings_list("RIFFLE_", single)]
    for name, field in groups:
        model: type[BaseModel] = field.annotation  # type: ignore[assignment]  # checked by _is_group
        about = inspect.cleandoc(model.__doc__ or "")
        parts += [f"## {name.capitalize()}", about] if about else [f"## {name.capitalize()}"]
        parts.append(_settings_list(f"RIFFLE_{name.upper()}__", list(model.model_fields.items())))
    return "\n\n".join(parts) + "\n"


SETTINGS_INTRODUCTION = f"""# Settings

{GENERATED_FROM.format("`streams/settings`")}

Settings are environment variables. They have precedence over the addresses of the running local stack (`stack.json` in
`RIFFLE_HOME`, written by `riffle up`), and those over the defaults. Lists and mappings are written as JSON:
`RIFFLE_CASSANDRA__HOSTS='["10.0.0.1", "10.0.0.2"]'`. Another page says when to set
each: search these pages for its name.

## General"""


def _is_group(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _settings_list(prefix: str, fields: list[tuple[str, FieldInfo]]) -> str:
    return "\n".join(_setting(f"{prefix}{name.upper()}", field) for name, field in fields)


def _setting(variable: str, field: FieldInfo) -> str:
    default, limits = _default_words(field), _limits(field)
    kind = _type_name(field.annotation)
    is_plain = default and kind in PLAIN
    about = [*([] if is_plain else [kind]), *limits]
    behind = f"default {default}" if default else ""
    in_brackets = "; ".join(filter(None, (", ".join(about), behind)))
    return wrapped_item(f"`{variable}` ({in_brackets}): {field.description or ''}")


def wrapped_item(text: str) -> str:
    """A list item in Markdown with wrapped lines. Inline code is never divided."""
    words = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), " ".join(text.split()))
    wrapper = textwrap.TextWrapper(
        LINE_WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return wrapper.fill(words).replace("\0", " ")


def _limits(field: FieldInfo) -> list[str]:
    found = [(sign, getattr(m, name)) for m in field.metadata for name, sign in LIMITS.items() if hasattr(m, name)]
    return [f"{sign} {value}" for sign, value in found if (sign, value) != ("at least", 0)]


LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
TYPE_NAMES: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    SecretStr: "secret",
    ProductToken: "text",
}
PLAIN = ("text", "whole number", "number", "true or false", "path")
"""The types that a default shows."""


def _type_name(kind: Any) -> str:
    """A type in words."""
    arguments = get_args(kind)
    match get_origin(kind):
        case None:
            return TYPE_NAMES[kind]
        case origin if origin is Literal:
            return " or ".join(f"`{choice}`" for choice in arguments)
        case origin if origin is Annotated:
            return _type_name(arguments[0])
        case origin if origin in (UnionType, Union):
            return " or ".join(_type_name(each) for each in arguments if each is not NoneType)
        case origin if origin is dict:
            return f"mapping of {_type_name(arguments[0])} to {_type_name(arguments[1])}"
        case _:
            return f"list of {_type_name(arguments[0])}"


def _default_words(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True, validated_data={})
    match default:
        case None | "" | () | {}:
            return ""
        case SecretStr():
            return "" if not default.get_secret_value() else "set"
        case bool():
            return f"`{str(default).lower()}`"
        case tuple():
            return ", ".join(f"`{each}`" for each in default)
    return f"`{default}`"


def commands_page() -> str:
    """docs/reference/commands.md: the help of each command, as `--help` prints it."""
    from streams.cli import SECTIONS, load_command

    parts = [COMMANDS_INTRODUCTION]
    for section, names in SECTIONS.items():
        parts.append(f"## {section}")
        for name in names:
            parts += [f"### riffle {path}\n\n```text\n{text}\n```" for path, text in _helps(name, load_command(name))]
    return "\n\n".join(parts) + "\n"


EXIT_ROWS = "\n".join(f"| {status} | {meaning} |" for status, meaning in EXIT_STATUSES.items())
COMMANDS_INTRODUCTION = f"""# Commands

{GENERATED_FROM.format("the help of the commands (`riffle COMMAND --help`)")}

Answers are written to stdout, and everything else to stderr. With `--json`, which all commands have that answer, stdout
is one JSON document. `-h` and `--help` print this help.

| exit status | meaning |
|---|---|
{EXIT_ROWS}"""


EVERYWHERE = re.compile(r"^  (--json|-h, --help) .*\n?", re.MULTILINE)
"""The options that commands have in common, in a help."""


def _helps(path: str, command: Any) -> Iterator[tuple[str, str]]:
    """Yield the help of a command, or of each of its subcommands, without what the page says once for all."""
    context = Context(
        command, info_name=f"riffle {path}", terminal_width=HELP_WIDTH, help_option_names=["-h", "--help"]
    )
    below: dict[str, Any] = getattr(command, "commands", {})
    for name, child in below.items():
        yield from _helps(f"{path} {name}", child)
    if not below:
        yield path, EVERYWHERE.sub("", command.get_help(context)).strip().removesuffix("Options:").rstrip()
