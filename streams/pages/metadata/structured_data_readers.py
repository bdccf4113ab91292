"""Who reads a page's JSON-LD, Microdata and RDFa: Riffle itself, or the library extruct where an operator chose it.

Both leave the same normal form (`structured`), so nothing behind them knows which of them it was. Why ours is the
default is said in decision 0012.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal

from streams.errors import UsageError
from streams.pages.metadata.structured_data import Structured
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed

ReaderName = Literal["own", "extruct"]
Reader = Callable[[Parsed, Resolver], Structured]


def read_own(parsed: Parsed, resolver: Resolver) -> Structured:
    """From the one parse of the page, menus left out."""
    data = Structured(resolver.absolute)
    data.read(parsed.tree, parsed.head)
    return data


def reader_of(name: ReaderName) -> Reader:
    """The reader of that name. A library is loaded here, and not before. Raises UsageError when it is not there."""
    if name == "own":
        return read_own
    require(name)
    from streams.pages.metadata.structured_data_extruct import read_with_extruct

    return read_with_extruct


def require(name: ReaderName) -> None:
    """Raise UsageError when the reader's library is not installed; it is not loaded for that."""
    if name == "extruct" and find_spec("extruct") is None:
        raise UsageError(
            "RIFFLE_PAGES__STRUCTURED_DATA is extruct, and extruct is not installed. "
            "Install it (`pip install 'riffle-search[extruct]'`), or leave the setting at own"
        )
