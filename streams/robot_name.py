"""The crawler's name, as robots.txt, robots meta elements and X-Robots-Tag use it, and its user agent. Pure.

RFC 9309, section 2.2.1, calls the name the product token: letters, `-` and `_`. It is part of the user agent, which
names the operator's contact, too. The name is a type of its own, so that no user agent is passed in its place.
"""

import re

_NAME = re.compile(r"[A-Za-z_-]{1,64}")
_WORD = re.compile(r"[A-Za-z_-]+")
_PROJECT = "https://github.com/riffle-search/riffle"
_VERSION = "0.1"
_COMPATIBLE = re.compile(r"\(\s{0,9}compatible\s{0,9};\s{0,9}([A-Za-z_-]{1,64})")
"""The name in a user agent that begins as a browser's: `Mozilla/5.0 (compatible; RiffleBot/1.0; +https://...)`."""


class ProductToken(str):
    """The name of a crawler. Raises ValueError for a text that is no name."""

    __slots__ = ()

    def __new__(cls, name: str) -> "ProductToken":
        """Check the name."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name[:80]!r} is no name of a robot: it has 1 to 64 letters, - or _ (RFC 9309, 2.2.1)")
        return super().__new__(cls, name)


ROBOT = ProductToken("RiffleBot")
"""The name, unless an operator chooses another one."""


def product_token(user_agent: str) -> ProductToken | None:
    """Return the name that robots.txt files use for a user agent; None if it has none.

    It is the first product of the user agent, `RiffleBot/0.1 (+https://...)`, or the one behind `compatible;`.
    """
    found = _COMPATIBLE.search(user_agent)
    name = found[1] if found else re.match(r"[A-Za-z_-]{0,64}", user_agent)[0]  # type: ignore[index]  # always matches
    return ProductToken(name) if name else None


def user_agent_of(robot: ProductToken, text: str, contact_url: str) -> str:
    """Return the User-Agent header. `text` is the operator's own one; empty: it is made of name and contact.

    Raises ValueError, with advice, if the own one lacks the name: a site could not find the rules for its visitor.
    """
    if not text:
        return f"{robot}/{_VERSION} (+{contact_url or _PROJECT})"
    names = _WORD.findall(text.lower())
    if robot.lower() not in names:
        named = product_token(text)
        advice = f"set RIFFLE_CRAWL__ROBOT_NAME={named}, or write" if named else "write"
        raise ValueError(
            f"crawl.user_agent does not contain the robot's name {robot}, which sites use in robots.txt. "
            f"Please {advice} {robot} into RIFFLE_CRAWL__USER_AGENT, as in {robot}/1.0 (+https://...)"
        )
    if not text.isascii() or not text.isprintable():
        raise ValueError("crawl.user_agent has characters that no header may have. Use letters, digits and punctuation")
    return text if not contact_url or contact_url in text else f"{text} (+{contact_url})"
