"""The rules of one person for the results of a search. Pure."""

from dataclasses import dataclass
from typing import Literal

SiteRule = Literal["raised", "lowered", "hidden", ""]


@dataclass(frozen=True, slots=True)
class PersonalRules:
    """Sites that a person wants more, less or never. The rule of the nearest domain above a host decides."""

    raised: frozenset[str] = frozenset()
    lowered: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    hide_adult: bool = False
    """Leave adult pages out, also where the operator shows them."""

    def rule_of(self, host: str) -> SiteRule:
        """Return the rule of the host, or of the nearest domain above it that has a rule."""
        name = host.lower().partition(":")[0].rstrip(".")
        while name:
            for rule, domains in (("hidden", self.hidden), ("lowered", self.lowered), ("raised", self.raised)):
                if name in domains:
                    return rule  # type: ignore[return-value]  # the names of the table
            name = name.partition(".")[2]
        return ""

    def digest_parts(self) -> tuple[object, ...]:
        """Return all that makes another order of results; empty without rules."""
        if self == PersonalRules():
            return ()
        return (sorted(self.raised), sorted(self.lowered), sorted(self.hidden), self.hide_adult)


NO_RULES = PersonalRules()
