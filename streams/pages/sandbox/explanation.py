"""What was removed from a page, grouped by why, in plain values that cross a process boundary.

However large and hostile the page, an explanation stays small: it holds the first texts of each group, cut to a length
that people read, and counts the rest.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.pages.normalize import explain

MAX_TEXTS = 1_000
"""Over all groups."""
MAX_TEXT_CHARS = 2_000
MAX_DETAIL_CHARS = 200
MAX_GROUPS = 100

KINDS = {
    "quirk": "What is known of this site names it: it is no part of the text.",
    "element": "What its element says is no part of the text: menus and footers that hold little besides links; on "
    "pages with little text also forms, sidebars, dialogs and the like.",
    "role": "What its ARIA role says is no part of the text: menus and footers that hold little besides links; on "
    "pages with little text also banners, sidebars, dialogs and the like.",
    "name": "What its class or id says is no part of the text. Names are asked where there is too little text for the "
    "content model, or where it finds nothing.",
    "model": "Judged text by text. Before each stands how likely it is to be the page's own text. What is kept lies "
    "above a threshold that is chosen for each page, between 20 and 50 %, or above 70 % where it stands before or "
    "behind a text that is certain; what came near it is marked.",
    "unread": "In elements whose text is not read: choices, drawings, what is shown where something fails. (Scripts, "
    "styles and comments are not listed.)",
}
"""The kinds of reasons, in the order in which they are asked, each with what it means."""
_TITLES = {
    "quirk": "A peculiarity of {}",
    "element": "Element {}",
    "role": "Role {}",
    "name": "Class or id",
    "model": "The content model",
    "unread": "Never read",
}
_MODEL = "content with probability "


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A run of text; `detail` says more than its group does: a selector, an element, a name."""

    text: str
    chars: int
    """Of the whole text: it may be cut."""
    detail: str = ""
    probability: float | None = None
    """Of being content, where the model was asked."""


@dataclass(frozen=True, slots=True)
class RemovedGroup:
    """What was removed for one reason."""

    kind: str
    """One of KINDS."""
    detail: str
    """Which element, role or site."""
    count: int
    """Of texts. `texts` may hold fewer."""
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
    """All that was removed from a page."""

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


def explanation(body: bytes, *, url: str, headers: Mapping[str, str]) -> Explanation:
    """Explain what was removed from a page. Raises Refused, as `normalize` does of the same page."""
    return grouped(explain(body, url, headers))


def grouped(removed: list[tuple[str, str]]) -> Explanation:
    """The texts of each reason together: kinds in their order, the texts of each in the page's."""
    groups: dict[tuple[str, str], list[RemovedText]] = {}
    sizes: dict[tuple[str, str], tuple[int, int]] = {}
    shown = 0
    for text, why in removed:
        kind, of, made = _read(text, why)
        key = (kind, of) if (kind, of) in sizes or len(sizes) < MAX_GROUPS else (kind, "others")
        count, chars = sizes.get(key, (0, 0))
        sizes[key] = count + 1, chars + len(text)
        if shown < MAX_TEXTS:
            groups.setdefault(key, []).append(made)
            shown += 1
    order = list(KINDS)
    return Explanation(
        tuple(
            RemovedGroup(kind, of, *sizes[kind, of], tuple(groups.get((kind, of), ())))
            for kind, of in sorted(sizes, key=lambda key: order.index(key[0]))
        )
    )


def _read(text: str, why: str) -> tuple[str, str, RemovedText]:
    """Kind, the group's detail, and the text with what its reason says of it alone."""
    named, _, detail = why.partition(": ")
    kind, _, of = named.partition(" of ")
    detail = detail[:MAX_DETAIL_CHARS]
    if kind == "model":
        return kind, "", _removed(text, probability=float(detail.removeprefix(_MODEL)))
    if kind in ("element", "role"):
        return kind, detail, _removed(text)
    return kind, of or ("this site" if kind == "quirk" else ""), _removed(text, detail)


def _removed(text: str, detail: str = "", probability: float | None = None) -> RemovedText:
    return RemovedText(text[:MAX_TEXT_CHARS], len(text), detail, probability)
