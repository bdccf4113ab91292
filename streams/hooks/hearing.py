"""The choice of the hooks that hear of a page: a hook hears only of pages that its key may see. Pure.

The sites are always read, whatever the settings say: no event of a private site leaves because of a setting.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streams.seen.sites import visible_to
from streams.seen.stores import shows
from streams.stores.protocols import ApiKey, Hook, Site, Visible

SCOPE = "changes"
"""The scope of the keys whose hooks hear something."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks, the keys that made them, and what keys may see, as they were read together."""

    hooks: Mapping[str, Hook]
    keys: Mapping[str, ApiKey]
    visible: Mapping[str, Visible]
    """The pages that the keys of a site may see, by the site's name; empty: those that keys of no site may see."""

    @classmethod
    def of(cls, hooks: Iterable[Hook], keys: Iterable[ApiKey], sites: Iterable[Site]) -> "Hooks":
        of_name = {site.name: site for site in sites}
        visible = {name: visible_to(of_name.get(name), of_name) for name in ("", *of_name)}
        return cls({hook.id: hook for hook in hooks}, {key.id: key for key in keys}, visible)

    def hearing(self, topic: str, url: str, now_micros: int) -> Iterator[Hook]:
        """Yield the hooks that hear of an event about a page."""
        for hook in self.hooks.values():
            if topic in hook.events and url.startswith(hook.prefix) and self.may_hear(hook, url, now_micros):
                yield hook

    def may_hear(self, hook: Hook, url: str, now_micros: int) -> bool:
        """Return whether the key of a hook is valid, and may see a page. An empty URL is of no page."""
        key = self.keys.get(hook.key)
        if key is None or key.revoked or SCOPE not in key.scopes or (key.expires and now_micros >= key.expires):
            return False
        visible = self.visible.get(key.site)
        return visible is not None and (not url or shows(visible, url))


NO_HOOKS = Hooks({}, {}, {})
