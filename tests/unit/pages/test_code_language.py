# ruff: noqa: E501 - pages as they come
"""Languages in markup: of code in classes and attributes, of text in `lang`."""

import time

import pytest

from streams.pages.normalize import normalize
from streams.pages.text.language import identify, language_tag

URL = "https://site.example/page"


@pytest.mark.parametrize(
    ("why", "html", "language"),
    [
        ("Prism, and the HTML Standard", "<pre><code class='language-python'>x</code></pre>", "python"),
        ("a name with a hyphen", "<pre class='language-emacs-lisp'>x</pre>", "emacs-lisp"),
        ("lines to mark", "<pre><code class='language-js{1,3-5}'>x</code></pre>", "js"),
        ("highlight.js", "<pre><code class='hljs javascript'>x</code></pre>", "javascript"),
        ("a class alone", "<pre><code class=python>x</code></pre>", "python"),
        ("of the preformatted text", "<pre class='Python numbered'>x</pre>", "python"),
        ("an attribute", "<pre lang=python>x</pre>", "python"),
        ("Org mode", "<pre class='src src-emacs-lisp'>x</pre>", "emacs-lisp"),
        ("GitHub", "<div class='highlight highlight-source-rust'><pre>x</pre></div>", "rust"),
        ("GitHub's text", "<div class='highlight highlight-text-html-basic'><pre>x</pre></div>", "html"),
        ("MediaWiki", "<div class='mw-highlight mw-highlight-lang-python mw-content-ltr'><pre>x</pre></div>", "python"),
        ("Sphinx", "<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div>", "python3"),
        ("Jekyll", "<div class='highlight ruby'><pre>x</pre></div>", "ruby"),
        ("Rouge", "<div class='language-ruby highlighter-rouge'><div class=highlight><pre class=highlight><code>x</code></pre></div></div>", "ruby"),
        ("Pandoc", "<div class=sourceCode><pre class='sourceCode haskell'><code class='sourceCode haskell'>x</code></pre></div>", "haskell"),
        ("SyntaxHighlighter", "<pre class='brush: php; toolbar: false'>x</pre>", "php"),
        ("MDN", "<pre class='brush: js example-good'>x</pre>", "js"),
        ("the second class is the language", "<pre class='language-none lang-go'>x</pre>", "go"),
        ("only how it looks", "<div class='highlight-container'><pre class='code-block highlight'>x</pre></div>", ""),
        ("an element around it, of another meaning", "<div class=go><pre>x</pre></div>", ""),
        ("no language's name", "<pre class='wide numbered'>x</pre>", ""),
        ("a name, among people", "<pre lang=pl>x</pre>", ""),
        ("people's language", "<pre lang=en>x</pre>", ""),
        ("too long for a name", f"<pre class='language-{'a' * 200_000}'>x</pre>", ""),
    ],
)  # fmt: skip
def test_language_of_code(why: str, html: str, language: str) -> None:
    document = normalize(f"<main><p>Text.</p>{html}</main>", url=URL).document
    assert document.blocks[-1].tag == "pre"
    assert document.blocks[-1].language == language, why


def test_long_classes_cost_little() -> None:
    started = time.process_time()
    normalize(f"<p>Text.</p><pre class='{'highlight-' * 50_000} {'lang-' * 50_000}'>x</pre>", url=URL)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("lang", "language"), [("gsw", "gsw"), ("de-CH", "de-ch"), ("de_CH", "de-ch"), ("de" + "-abcdefgh" * 9_000, "")]
)
def test_a_too_long_language_is_ignored(lang: str, language: str) -> None:
    document = normalize(f"<html lang=en><p>Text.</p><p lang={lang}>Words.</p>", url=URL).document
    assert document.blocks[-1].language == language


@pytest.mark.parametrize(
    ("declared", "tag"),
    [
        (" EN ", "en"),
        ("en_US", "en-US"),
        ("pt-br", "pt-BR"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("en-x-US", "en-x-us"),
        ("english", ""),
        ("x-default", ""),
        ("en, fr", ""),
        ("en-", ""),
        ("en" + "-abcdefgh" * 5, ""),
        ("en" * 100_000, ""),
        ("", ""),
    ],
)
def test_a_declared_language_becomes_a_tag(declared: str, tag: str) -> None:
    assert language_tag(declared) == tag


def test_a_declared_language_is_understood_with_an_underscore() -> None:
    assert identify("Gatot Subroto", declared="ms_MY").language == "ms"
