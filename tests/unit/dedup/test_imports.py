"""The packages that dedup may import. Crawl must never import dedup, or there is a cycle."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
ALLOWED = (
    "streams.crawl.domains",
    "streams.crawl.file_kinds",
    "streams.crawl.urls",
    "streams.crawl.url_rules",
    "streams.pages.document",
    "streams.pages.text",
)


def imports(folder: str) -> set[str]:
    """Modules of `streams.crawl`, `streams.pages` and `streams.dedup` that a package imports."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "streams" / folder).rglob("*.py")]
    modules = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {module for module in modules if module and module.split(".")[1:2] in (["crawl"], ["pages"], ["dedup"])}


def test_dedup_imports_only_urls_documents_and_tokens() -> None:
    assert not {name for name in imports("dedup") if not name.startswith(("streams.dedup", *ALLOWED))}


def test_crawl_and_pages_do_not_import_dedup() -> None:
    assert not {name for folder in ("crawl", "pages") for name in imports(folder) if name.startswith("streams.dedup")}
