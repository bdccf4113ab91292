"""Configuration of Sphinx: the pages of `docs` as a site with a search, which needs no server (`make site`)."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
REPOSITORY = "https://github.com/riffle-search/riffle/blob/main/"

project = "Riffle"
author = copyright = "The Riffle developers"  # Sphinx's name
extensions = ["myst_parser"]
exclude_patterns = ["generate", "site"]
root_doc = "README"
html_theme = "furo"
html_title = "Riffle"
html_copy_source = False
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]

PARTS = ("guide", "concepts", "operate", "reference", "decisions")
TREE = """
```{{toctree}}
:hidden:
:glob:
:caption: {title}

{part}/*
```
"""
"""The tree of pages at the side: all pages of a folder."""
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: |(?:src|href|srcset)=\")(?![a-z]+:|#)([^)#\s\"]+)", re.MULTILINE)


def link_to_repository(text: str, page: Path) -> str:
    """Let links of a page that leave the folder of the documentation lead to the repository."""

    def replace(found: re.Match[str]) -> str:
        target = (page.parent / found[2]).resolve()
        if target.is_relative_to(DOCS) and target.suffix != ".py" and not target.is_dir():
            return found[0]
        return f"{found[1]}{REPOSITORY}{target.relative_to(DOCS.parent).as_posix()}"

    return LINK.sub(replace, text)


def setup(app: Any) -> None:
    """Connect with Sphinx."""

    def read(_: Any, name: str, source: list[str]) -> None:
        source[0] = link_to_repository(source[0], DOCS / f"{name}.md")
        if name == root_doc:
            source[0] += "".join(TREE.format(title=part.capitalize(), part=part) for part in PARTS)

    app.connect("source-read", read)
