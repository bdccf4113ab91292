"""Traces of the calls of a journey: between which modules they go, and which values the modules get and return."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import streams

ROOT = Path(streams.__file__).parent


@dataclass(frozen=True, slots=True)
class Place:
    """A function of `streams`."""

    module: str
    """The module's file, such as "crawl/urls"."""
    name: str

    @property
    def room(self) -> str:
        return self.module.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(slots=True)
class CallTrace:
    """The calls between modules of `streams`, while a journey runs."""

    calls: set[tuple[str, str]] = field(default_factory=set)
    """Each call as (function that calls, function that is called)."""
    back: set[tuple[str, str]] = field(default_factory=set)
    """The calls that go back into a module of the same room that waits for the caller."""

    @property
    def rooms(self) -> set[str]:
        """The rooms that are called from another module."""
        return {called.partition(":")[0].rpartition("/")[0] for _, called in self.calls}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or (called := _place(frame.f_code)) is None:
            return
        callers = _callers(frame)
        caller = next(callers, None)
        if caller is None or caller.module == called.module:
            return
        call = (str(caller), str(called))
        self.calls.add(call)
        if caller.room == called.room and any(waiting.module == called.module for waiting in callers):
            self.back.add(call)


@dataclass(slots=True)
class ValueTrace:
    """The files of `streams` that a journey enters, in the order of their first entry, with the types of values."""

    given: dict[str, set[str]] = field(default_factory=dict)
    """The names of the types of the arguments of the functions called in each file."""
    returned: dict[str, set[str]] = field(default_factory=dict)
    """The names of the types of what these functions returned."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in {"call", "return"} or _place(frame.f_code) is None:
            return
        file = _file(frame.f_code)
        given = self.given.setdefault(file, set())
        returned = self.returned.setdefault(file, set())
        if event == "return":
            returned |= _type_names(argument)
            return
        code = frame.f_code
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            given |= _type_names(frame.f_locals.get(name))


def _type_names(value: Any) -> set[str]:
    """Return the name of a value's type, and of the types of the values in a collection."""
    inner = list(value.values()) if isinstance(value, dict) else value
    names = {type(each).__name__ for each in inner} if isinstance(inner, list | tuple | set | frozenset) else set()
    return names | {type(value).__name__}


Trace = TypeVar("Trace", CallTrace, ValueTrace)


@contextmanager
def traced(trace: Trace) -> Iterator[Trace]:
    """Trace this thread and those that it starts. Work that the event loop gives away has new threads."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def call_trace() -> AbstractContextManager[CallTrace]:
    """Trace the calls between modules."""
    return traced(CallTrace())


def _callers(frame: FrameType) -> Iterator[Place]:
    """The functions of `streams` that wait for this one, the nearest first."""
    caller = frame.f_back
    while caller is not None:
        if place := _place(caller.f_code):
            yield place
        caller = caller.f_back


@cache
def _file(code: CodeType) -> str:
    """The file of a function of `streams`: a module or a template."""
    return str(Path(code.co_filename).relative_to(ROOT))


@cache
def _place(code: CodeType) -> Place | None:
    """The module and name of a function of `streams`; None for comprehensions, lambdas, and all that is elsewhere."""
    path = Path(code.co_filename)
    if code.co_name.startswith("<") or not path.is_relative_to(ROOT):
        return None
    return Place(str(path.relative_to(ROOT).with_suffix("")), code.co_qualname)
