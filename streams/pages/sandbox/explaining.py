"""Lists the texts that were removed from a page, in a process of the sandbox.

An explanation stays small, however large and hostile the page: it has the first texts of each group, cut to a length
that people read, and the number of all.
"""

from collections.abc import Mapping

from streams.pages.formats.reading import find_kind
from streams.pages.normalize import explain
from streams.pages.parse.segments import Kind, Removal, RemovedTexts
from streams.pages.sandbox.explanation import KINDS, Explanation, RemovedGroup, RemovedText

MAX_TEXTS = 1_000
"""Maximum number of texts in all groups together."""
MAX_TEXT_CHARS = 2_000
"""Maximum length of a text that is shown (characters)."""
MAX_DETAIL_CHARS = 200
MAX_GROUPS = 100


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
