"""The language of a page: of its sentences, whatever its code says and its author declares."""

import pytest

from streams.pages.normalize import normalize

OPTIONS = (
    "<pre>frob [-v | --verbose] [--[no-]tags] &lt;name&gt; &lt;url&gt;\nfrob set-url --add [--push] &lt;name&gt;</pre>"
)
SIGNATURE = (
    "<pre>int frob_create(\n  frob *db,\n  const char *zName,\n  int nArg,\n  void (*xFunc)(frob_ctx*,int)\n);</pre>"
)
CASES = [
    # (declared, body, language)
    ("en", f"<h1>frob-remote(1) Manual Page</h1>{OPTIONS}<p>Manage the set of repositories that you track.</p>", "en"),
    ("", f"{SIGNATURE}<p>These routines add functions, or redefine the behavior of those that exist.</p>", "en"),
    (
        "",
        "<p>By default there are <code>json_type()</code>, <code>json_valid()</code>, json_quote(X) and json_tree(X,P) "
        "for those who want to look into a value.</p>",
        "en",
    ),
    (
        "",
        "<h2>Functions</h2><ul><li>Using the check well</li><li>Repairing corruption of a table</li></ul>",
        "en",
    ),
    (
        "en",
        f"{OPTIONS}<p>Diese Seite beschreibt, wie die Ablage verwaltet wird und was sie kann.</p>",
        "de",
    ),
    ("en", f"{OPTIONS}<p>Bu sayfa, izlediğiniz depoların nasıl yönetildiğini ve ne işe yaradığını anlatır.</p>", "tr"),
    ("en", "<p>Эта страница описывает, как управлять хранилищами: frob_create(), frob_remove(), --verbose.</p>", "ru"),
    ("en", "<p>この文書では、frob_create()関数の使い方と、そのオプションについて詳しく説明します。</p>", "ja"),
    ("fr", "<p>The library is open to everyone who wants to read in it, from the morning until the evening.</p>", "en"),
]


@pytest.mark.parametrize(("declared", "body", "language"), CASES)
def test_language_of_a_page(declared: str, body: str, language: str) -> None:
    html = f"<html lang='{declared}'><body><main>{body}</main></body></html>"
    assert normalize(html, url="https://frob.example/").document.language == language


def test_language_of_a_page_of_code_only() -> None:
    """Nothing but code is left, so it is read as it is, rather than nothing."""
    document = normalize(f"<body>{SIGNATURE}", url="https://frob.example/").document
    assert document.script == "Latn"
