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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from streams.plain_text import shorten

AI_INPUT_NO = "ai-input=no"
"""The directive for Content-Signal's `ai-input=no`."""
TDM_RESERVATION = "tdm-reservation"
"""The directive for a reservation of text and data mining."""
UNREAD_RECORD = "record-unread"
"""In place of the directives of a page whose record could not be read."""

_NO_MODELS = frozenset({"noai", "nosnippet", AI_INPUT_NO, TDM_RESERVATION})
_MAX_SNIPPET = "max-snippet:"
MIN_PART_CHARS = 12
"""Minimum characters of the beginning of a text: less says nothing."""


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

    @property
    def kept_from_models(self) -> tuple[str, ...]:
        """The directives for which no model gets the text; empty if it may. UNREAD_RECORD: they are unknown."""
        return () if self.for_models else self.reasons

    def allows_quoting(self, characters: int) -> bool:
        """Return True if a text of this length may be quoted."""
        return self.max_snippet is None or characters <= self.max_snippet

    def quote(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return what may be quoted of these texts together: each whole, its beginning, or an empty text."""
        if self.max_snippet is None:
            return tuple(texts)
        quoted, left = [], self.max_snippet
        for text in texts:
            part = shorten(text, left) if len(text) <= left or left >= MIN_PART_CHARS else ""
            quoted.append(part)
            left -= len(part)
        return tuple(quoted)


UNKNOWN = Consent(for_models=False, reasons=(UNREAD_RECORD,))
"""The consent of a page whose record could not be read: no model gets text of the page, and quotations are as long as
usual."""


class _HasDirectives(Protocol):
    @property
    def directives(self) -> Sequence[str]: ...


def consent_of(record: _HasDirectives | None) -> Consent:
    """Return the consent by a page's record; UNKNOWN without one."""
    return UNKNOWN if record is None else Consent.of_directives(record.directives)


def _limit(directive: str) -> int | None:
    """Return N of `max-snippet:N`; None for another directive, for -1, and for what is no number."""
    value = directive.removeprefix(_MAX_SNIPPET).strip() if directive.startswith(_MAX_SNIPPET) else ""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 9 else None
