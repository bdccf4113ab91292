"""Consent: what the publisher of a page allows to be done with its text. Pure.

A page's record keeps the publisher's wishes as directives (`Normalized.directives`), whatever way they came: robots
meta elements, the `X-Robots-Tag` header, the reservation of text and data mining (TDM), and Content-Signal in a header
or in robots.txt. This is the only reader of these directives for snippets and models.

    directive            its source                                       what it forbids
    nosnippet            robots meta, X-Robots-Tag                        any quotation, and input of a model
    max-snippet:N        robots meta, X-Robots-Tag (-1: no limit)         more than N characters of the page
    noai                 robots meta, X-Robots-Tag                        input of a model
    tdm-reservation      TDM-Reservation header or meta with the value 1  input of a model
    ai-input=no          Content-Signal                                   input of a model
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

AI_INPUT_NO = "ai-input=no"
"""The directive for Content-Signal's `ai-input=no`."""
TDM_RESERVATION = "tdm-reservation"
"""The directive for a reservation of text and data mining."""

_NO_MODELS = frozenset({"noai", "nosnippet", AI_INPUT_NO, TDM_RESERVATION})
_MAX_SNIPPET = "max-snippet:"


@dataclass(frozen=True, slots=True)
class Consent:
    """The permission to quote the text of one page, and to give it to models."""

    max_snippet: int | None = None
    """Maximum characters that may be quoted, or given to a model. None: no limit. 0: nothing."""
    for_models: bool = True
    """The text may be the input of a language model that answers people."""
    reasons: tuple[str, ...] = ()
    """The directives that limit something, sorted."""

    @classmethod
    def of_directives(cls, directives: Iterable[str]) -> Self:
        """Return the consent by these directives, in lower case. The strictest one holds; others change nothing."""
        given = frozenset(directives)
        limits = {each: limit for each in given if (limit := _limit(each)) is not None}
        if "nosnippet" in given:
            limits["nosnippet"] = 0
        smallest = min(limits.values(), default=None)
        refusing = given & _NO_MODELS
        return cls(
            max_snippet=smallest,
            for_models=not refusing and smallest != 0,
            reasons=tuple(sorted(refusing | limits.keys())),
        )

    def allows_quoting(self, characters: int) -> bool:
        """Return True if a text of this length may be quoted."""
        return self.max_snippet is None or characters <= self.max_snippet


UNKNOWN = Consent(for_models=False)
"""The consent of a page whose record could not be read: nothing of the page becomes the input of a model."""


def _limit(directive: str) -> int | None:
    """Return N of `max-snippet:N`; None for another directive, for -1, and for what is no number."""
    value = directive.removeprefix(_MAX_SNIPPET).strip() if directive.startswith(_MAX_SNIPPET) else ""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 9 else None
