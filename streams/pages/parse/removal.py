"""The reason why a text of a page is not in its document."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["quirk", "hidden", "element", "role", "name", "model", "unread"]
"""The rule that removed a text: see `KINDS` of `streams.pages.sandbox.explanation`."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The rule that removed a text, with its detail."""

    kind: Kind
    detail: str = ""
    """The element, role, class or id, selector, or way of hiding."""
    site: str = ""
    """The host of the quirk. Empty if the rule is no quirk of one host."""
    probability: float | None = None
    """Probability of being main content, if the content model judged the text."""


RemovedTexts = list[tuple[str, Removal]]
"""Texts in the order of the page, each with its reason."""
