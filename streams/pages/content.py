"""Which text is the page's own, and which is chrome."""

from streams.pages.walk import Walk

_CHROME_TAGS = frozenset({"nav", "footer", "aside", "form", "dialog", "menu"})
_CHROME_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alert"})


def label(page: Walk) -> list[int]:
    """Indices of the segments that are content, in order."""
    chrome: list[bool] = []
    for index, tag in enumerate(page.tags):
        parent = page.parents[index]
        own = tag in _CHROME_TAGS or page.attributes[index].get("role") in _CHROME_ROLES
        chrome.append(own or (parent >= 0 and chrome[parent]))
    return [
        index
        for index, segment in enumerate(page.segments)
        if not chrome[segment.element] and not (segment.link_chars > 0.8 * len(segment.text) and len(segment.text) < 60)
    ]
