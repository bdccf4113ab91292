"""Regular expressions over strangers' text take linear time: each is run on long runs of the characters that it names.

An expression whose time grows with the square of a text stops a stage at 20 KB, and the interpreter's lock with it. The
texts here are runs of one or two of the expression's own characters, with an end that matches nothing.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from itertools import islice, product, takewhile
from re import _constants as codes  # type: ignore[attr-defined]  # the parser that `re` itself uses
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import streams
from tests.cpu_guard import cpu_guard

TEXT_CHARS = 24_000
GUARD_SECONDS = 0.25
"""Linear expressions take one or two milliseconds for such a text, quadratic ones half a second or more."""
UNBOUNDED = 1_000
"""Minimum number of repetitions that counts as unbounded."""
PACKAGES = ("crawl", "dedup", "gateway", "ledger", "pages", "statements", "stores", "vectors")

# Quadratic when they are searched for, which the code doesn't do. Each with the reason why it is harmless.
HARMLESS: dict[str, str] = {
    "streams.crawl.robots._AGENT_LINE": "matched at the start of a line only",
    "streams.pages.assemble.footnotes._BACK": "texts with single spaces, in a process with a limit of CPU time",
    "streams.pages.metadata.authors._AFTER": "texts of at most 500 characters with single spaces",
    "streams.pages.metadata.authors._NOT_NAME": "names of at most 80 characters",
    "streams.pages.metadata.titles._ENDING": "titles, in a process with a limit of CPU time",
    "streams.pages.metadata.titles._SEPARATOR": "titles, in a process with a limit of CPU time",
    "streams.pages.parse.link_resolver._SCHEME": "matched at the start of a URL only",
    "streams.pages.parse.math_tex._NO_BAR": "one attribute, in a process with a limit of CPU time",
    "streams.pages.text.dates._CLOCK": "matched behind a date only",
    "streams.pages.text.dates._OFFSET": "matched behind a time only",
    "streams.pages.text.dates._ZONE": "matched behind a time only",
}


def expressions() -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """Name and expression of all that modules of these packages compile for texts (bytes apart)."""
    for module in pkgutil.walk_packages(streams.__path__, "streams."):
        if module.name.split(".")[1] in PACKAGES and not module.name.endswith("__main__"):
            for name, value in sorted(vars(importlib.import_module(module.name)).items()):
                for number, found in enumerate(_inside(value)):
                    if isinstance(found.pattern, str) and _repeats(parser.parse(found.pattern, found.flags)):
                        yield f"{module.name}.{name}" + (f"[{number}]" if number else ""), found


def _inside(value: Any) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _inside(one)
    elif isinstance(value, dict):
        yield from _inside(list(value.values()))


def _parts(argument: Any) -> Iterator[Any]:
    """The expressions inside an operation's argument."""
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for one in argument:
            yield from _parts(one)


def _repeats(tree: Any) -> bool:
    """True if something in the expression may be repeated without end."""
    return any(
        (operation in _REPEATS and argument[1] > UNBOUNDED) or any(map(_repeats, _parts(argument)))
        for operation, argument in tree
    )


_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "w",
    codes.CATEGORY_NOT_SPACE: "x",
    codes.CATEGORY_NOT_WORD: "-",
}


def _characters(tree: Any) -> Iterator[str]:
    """Characters that the expression names, one for each class of them."""
    for operation, argument in tree:
        if operation is codes.LITERAL:
            yield chr(argument)
        elif operation is codes.RANGE:
            yield chr(argument[0])
        elif operation is codes.CATEGORY:
            yield _OF_CATEGORY.get(argument, "a")
        elif operation in (codes.ANY, codes.NOT_LITERAL, codes.NEGATE):
            yield from "a 1"
        elif operation is codes.IN:
            yield from _characters(argument)
        for part in _parts(argument):
            yield from _characters(part)


def _texts(expression: "re.Pattern[str]") -> Iterator[str]:
    tree = parser.parse(expression.pattern, expression.flags)
    chars = list(dict.fromkeys(_characters(tree)))[:16]
    start = "".join(chr(argument) for _, argument in takewhile(lambda part: part[0] is codes.LITERAL, tree))
    runs = [*chars, *("".join(pair) for pair in islice(product(chars[:8], repeat=2), 64))]
    for run in runs:
        for prefix in {"", chars[0], start}:
            yield prefix + run * (TEXT_CHARS // len(run)) + "\0"


ALL = dict(expressions())


def search_all(expression: "re.Pattern[str]") -> None:
    """Search in texts made for this expression. Raises TimeoutError."""
    for text in _texts(expression):
        with cpu_guard(GUARD_SECONDS):
            for _ in expression.finditer(text):
                pass


@pytest.mark.parametrize("name", sorted(ALL.keys() - HARMLESS.keys()))
def test_c2_an_expression_takes_linear_time(name: str) -> None:
    search_all(ALL[name])


def test_each_exception_is_still_there() -> None:
    assert HARMLESS.keys() <= ALL.keys(), "remove it from HARMLESS"


def test_the_check_finds_the_expressions_that_it_is_for() -> None:
    for quadratic in (r"_*[a-z]", r"[.!?]+\s", r"text\.(?:[¹²]{1,3})*\s"):
        with pytest.raises(TimeoutError):
            search_all(re.compile(quadratic))
