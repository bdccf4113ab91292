"""Finds out whether a page is a form to sign in, or has one beside its content. Pure.

It reads what HTML defines for browsers and password managers, so it holds for every language: a password field, the
tokens of `autocomplete` for who signs in (HTML standard, section 4.10.18.7.1), and the field with which a page leads to
the sign-in of another host (SAML 2.0 Bindings, section 3.5.4).
"""

from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from streams.pages.document.model import SignIn

SELECTOR = 'input[type="password" i], input[autocomplete], input[name="SAMLRequest"]'
MAX_TEXT_CHARS = 600
"""Maximum length of the main content of a page that is a form to sign in (characters)."""
_TOKENS = frozenset({"current-password", "username", "webauthn"})
_BESIDE_TAGS = frozenset({"header", "nav", "aside", "footer"})
_BESIDE_ROLES = frozenset({"banner", "navigation", "complementary", "contentinfo"})
_CONTENT_TAGS = frozenset({"main", "article"})
_MAX_PARENTS = 64
"""Maximum number of elements around a field that are looked at."""


def is_sign_in_field(attributes: Mapping[str, str | None]) -> bool:
    """Return whether an `input` is a field to sign in with."""
    if (attributes.get("type") or "").strip().lower() == "password" or attributes.get("name") == "SAMLRequest":
        return True
    return not _TOKENS.isdisjoint((attributes.get("autocomplete") or "").lower().split())


def place_of_field(node: LexborNode) -> SignIn:
    """Return where a field is: in the page's header, menu or margin (`beside`), or in its content (`form`)."""
    parent = node.parent
    place: SignIn = "form"
    for _ in range(_MAX_PARENTS):
        if parent is None:
            break
        if parent.tag in _CONTENT_TAGS:
            return "form"
        if parent.tag in _BESIDE_TAGS or (parent.attributes.get("role") or "").lower() in _BESIDE_ROLES:
            place = "beside"
        parent = parent.parent
    return place


def judge_page(text_chars: int) -> SignIn:
    """Return what a page with a field in its content is, by the length of its main content (characters)."""
    return "beside" if text_chars > MAX_TEXT_CHARS else "form"
