"""The texts that were removed from a page, grouped by reason, in plain values that cross a process boundary.

An explanation stays small, however large and hostile the page: it has the first texts of each group, cut to a length
that people read, and the number of all.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.pages.formats.reading import find_kind
from streams.pages.normalize import explain
from streams.pages.parse.removal import Kind, Removal, RemovedTexts

MAX_TEXTS = 1_000
"""Maximum number of texts in all groups together."""
MAX_TEXT_CHARS = 2_000
"""Maximum length of a text that is shown (characters)."""
MAX_DETAIL_CHARS = 200
MAX_GROUPS = 100

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


def explain_removals(body: bytes, *, url: str, headers: Mapping[str, str]) -> Explanation:
    """List the texts that were removed from a page; none of a file that is not HTML.

    Raises Refused, as `normalize` does for the same page.
    """
    if find_kind(body, headers, url) != "html":
        return Explanation()
    return group_by_reason(explain(body, url, headers))


def group_by_reason(removed: RemovedTexts) -> Explanation:
    """Group texts by reason: kinds in their order, texts in the order of the page."""
    groups: dict[tuple[Kind, str], list[RemovedText]] = {}
    sizes: dict[tuple[Kind, str], tuple[int, int]] = {}
    shown = 0
    for text, why in removed:
        of = _group_detail(why)
        key = (why.kind, of) if (why.kind, of) in sizes or len(sizes) < MAX_GROUPS else (why.kind, "others")
        count, chars = sizes.get(key, (0, 0))
        sizes[key] = count + 1, chars + len(text)
        if shown < MAX_TEXTS:
            groups.setdefault(key, []).append(_removed_text(text, why))
            shown += 1
    order = list(KINDS)
    return Explanation(
        tuple(
            RemovedGroup(kind, of, *sizes[kind, of], tuple(groups.get((kind, of), ())))
            for kind, of in sorted(sizes, key=lambda key: order.index(key[0]))
        )
    )


def _group_detail(why: Removal) -> str:
    """Return the detail of a group, common to all its texts: the element, the role or the site."""
    match why.kind:
        case "element" | "role":
            return why.detail[:MAX_DETAIL_CHARS]
        case "quirk":
            return why.site or "this site"
        case _:
            return ""


def _removed_text(text: str, why: Removal) -> RemovedText:
    """Return a removed text, with a detail that the title of its group lacks."""
    is_in_title = why.kind in ("element", "role")
    detail = "" if is_in_title else why.detail[:MAX_DETAIL_CHARS]
    return RemovedText(text[:MAX_TEXT_CHARS], len(text), detail, why.probability)
