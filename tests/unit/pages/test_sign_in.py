"""Pages that are a form to sign in are known by what HTML says of their fields: in every language."""

import pytest

from streams.pages.normalize import normalize

TEXT = "<p>" + "A sentence of an article that says what a reader came for, with commas and all the rest. " * 12
PASSWORD = "<form action=/in><input name=u><input type=password name=p><button>→</button></form>"
NOTICE = "<noscript>Please enable JavaScript in your browser to use this site as it was meant to be.</noscript>"

# The page -> what it is.
PAGES = {
    "a page without a form": (TEXT, ""),
    "a search box": (f"<form><input type=search name=q></form>{TEXT}", ""),
    "a letter of news": ("<p>Read us</p><form><input type=email autocomplete=email></form>", ""),
    # A form and hardly any text.
    "a form": (f"<h1>Sign in</h1>{PASSWORD}", "form"),
    "in Japanese": (f"<h1>ログイン</h1><p>アカウントをお持ちでない方</p>{PASSWORD}", "form"),
    "in Arabic": (f"<html dir=rtl><h1>تسجيل الدخول</h1>{PASSWORD}", "form"),
    "with a notice": (f"{NOTICE}<main>{PASSWORD}</main>", "form"),
    "without a form element, as scripts send it": ("<div><input type=PassWord></div>", "form"),
    "the name first": ("<form><input type=email autocomplete='section-a username'></form>", "form"),
    "a passkey": ("<form><input autocomplete='username webauthn'></form>", "form"),
    "a code in place of a type": ("<form><input type='&#112;assword'></form>", "form"),
    "a page that goes to the sign-in of another host (SAML)": (
        "<body onload='document.forms[0].submit()'><form method=post action=https://sso.example/>"
        "<input type=hidden name=SAMLRequest value=abc></form>",
        "form",
    ),
    "in a dialog": (f"<div role=dialog>{PASSWORD}</div>", "form"),
    "in the header of the content": (f"<main><header>{PASSWORD}</header></main>", "form"),
    # A box beside the content.
    "beside an article": (f"<article>{TEXT}</article><div>{PASSWORD}</div>", "beside"),
    "in the header": (f"<header>{PASSWORD}</header><p>A short page.", "beside"),
    "in the menu": (f"<nav><ul><li>{PASSWORD}</ul></nav><p>A short page.", "beside"),
    "in a margin": (f"<div role=complementary>{PASSWORD}</div><p>A short page.", "beside"),
    # No field at all.
    "in a comment": (f"<!-- {PASSWORD} --><p>A page", ""),
    "in a script": (f"<script>document.write('{PASSWORD}')</script><p>A page", ""),
    "as code": ("<p>A page on <code>&lt;input type=password&gt;</code>", ""),
}


@pytest.mark.parametrize(("html", "expected"), PAGES.values(), ids=PAGES)
def test_a_sign_in_page_is_known_by_its_fields(html: str, expected: str) -> None:
    assert normalize(html, url="https://site.example/").sign_in == expected
