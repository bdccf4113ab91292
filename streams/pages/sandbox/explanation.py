"""The texts that were removed from a page, grouped by reason, in plain values that cross a process boundary."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.pages.parse.segments import Kind

KINDS: Mapping[Kind, str] = {
    "quirk": "A rule for this site names it as no part of the text.",
    "hidden": "No reader sees it: the attribute hidden, its style, or a rule of the page's own style sheets hides it. "
    "The property that hides it is before each. Tabs and other parts that a reader opens are not hidden.",
    "element": "Its element marks it as no part of the text: menus and footers that hold little besides links; on "
    "pages with little text also forms, sidebars and dialogs. Or it is outside of the page's only article or main "
    "element.",
    "role": "Its ARIA role marks it as no part of the text: menus and footers that hold little besides links; on "
    "pages with little text also banners, sidebars and dialogs.",
    "name": "Its class or id marks it as no part of the text. Names count where there is too little text for the "
    "content model, or where the model finds nothing.",
    "model": "Judged text by text. Before each is its probability of being main content. Kept texts are above a cutoff "
    "that is chosen for each page, between 20 and 50 %, or above 70 % before the first and after the last certain "
    "text. Texts near the cutoff are marked.",
    "unread": "In elements whose text is not read: choices, drawings, fallbacks. (Scripts, styles and comments are not "
    "listed.)",
}
"""The kinds of reasons in the order of their rules, each with its meaning."""
_TITLES: Mapping[Kind, str] = {
    "quirk": "A peculiarity of {}",
    "hidden": "Hidden",
    "element": "Element {}",
    "role": "Role {}",
    "name": "Class or id",
    "model": "The content model",
    "unread": "Never read",
}


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A removed text. `detail` adds to the reason of its group: a selector, an element, a name."""

    text: str
    chars: int
    """Length of the whole text. `text` may be its beginning."""
    detail: str = ""
    probability: float | None = None
    """Probability of being main content, if the model judged it."""


@dataclass(frozen=True, slots=True)
class RemovedGroup:
    """The texts that were removed for one reason."""

    kind: Kind
    """The rule: one of KINDS."""
    detail: str
    """The element, role or site."""
    count: int
    """Number of texts. `texts` may have fewer."""
    chars: int
    texts: tuple[RemovedText, ...]

    @property
    def title(self) -> str:
        return _TITLES[self.kind].format(self.detail)

    @property
    def meaning(self) -> str:
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All texts that were removed from a page."""

    groups: tuple[RemovedGroup, ...] = ()

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def chars(self) -> int:
        return sum(group.chars for group in self.groups)

    def to_fields(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls(
            tuple(
                RemovedGroup(**{**group, "texts": tuple(RemovedText(**text) for text in group["texts"])})
                for group in fields["groups"]
            )
        )
