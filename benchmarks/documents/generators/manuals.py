# ruff: noqa: E501 - a manual is a line of the table
"""The manuals of the set: for each generator its packages, and which source belongs to which page.

Which generators are kept is written here and nowhere else. Nobody looks at the pages of a kept generator, and nothing is
chosen by them: they say how what was made for the others does on generators that it has never met.
"""

import gzip
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.documents.generators import comments, docbook, templates
from benchmarks.documents.generators.man import read_man
from benchmarks.documents.generators.markdown import read_markdown
from benchmarks.documents.generators.packages import Packages, run_tool
from benchmarks.documents.generators.restructured import read_restructured
from benchmarks.documents.generators.source import Source
from benchmarks.documents.generators.texinfo import read_chapters


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its source."""

    path: str
    html: bytes
    source: Source


Pages = Callable[[Packages], Iterator[Page]]


@dataclass(frozen=True, slots=True)
class Manual:
    """A manual of one generator in one language."""

    generator: str
    pages: Pages
    language: str = "en"


def sphinx(package: str, packages: Packages) -> Iterator[Page]:
    """A package's pages lie beside the sources that Sphinx copies for its readers."""
    for path in sorted(packages.binary(package).rglob("_sources/**/*.rst.txt")):
        root = next(parent for parent in path.parents if parent.name == "_sources")
        page = root.parent / path.relative_to(root).with_suffix("").with_suffix(".html")
        if page.exists():
            yield Page(_name(page, root.parent), page.read_bytes(), read_restructured(_text(path)))


def node(packages: Packages) -> Iterator[Page]:
    for path in sorted(packages.binary("nodejs-doc").rglob("api/*.md.gz")):
        page = path.with_suffix("").with_suffix(".html")
        if page.exists():
            yield Page(page.name, page.read_bytes(), read_markdown(_text(path)))


def mkdocs(theme: str, requirement: str, packages: Packages) -> Iterator[Page]:
    """The pages of a Python package's manual, built here."""
    root = next(packages.python_source(requirement).iterdir())
    built = packages.folder / "built" / f"mkdocs-{theme}-{requirement}"
    if not built.exists():
        configured = built.parent / f"{built.name}.yml"
        configured.parent.mkdir(parents=True, exist_ok=True)
        extensions = "markdown_extensions: [tables, fenced_code, attr_list, def_list, admonition, toc]"
        places = f"docs_dir: {(root / _docs(root)).absolute()}\nsite_dir: {built.absolute()}"
        configured.write_text(
            f"site_name: {requirement}\ntheme: {theme}\nplugins: []\nuse_directory_urls: false\n{places}\n{extensions}\n"
        )
        tools = packages.python("mkdocs", *(["mkdocs-material"] if theme == "material" else []))
        run_tool(
            [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(configured)], PYTHONPATH=str(tools.absolute())
        )
    for path in sorted((root / _docs(root)).rglob("*.md")):
        page = built / path.relative_to(root / _docs(root)).with_suffix(".html")
        if page.exists():
            yield Page(_name(page, built), page.read_bytes(), read_markdown(_text(path)))


def _docs(root: Path) -> str:
    return next(str(found.relative_to(root)) for found in (root / "docs/src/markdown", root / "docs") if found.exists())


def template(
    form: templates.Template, files: Callable[[Packages], Iterator[Path]], packages: Packages
) -> Iterator[Page]:
    texts = {path.name.partition(".")[0]: _text(path) for path in files(packages)}
    sources = {name: read_markdown(text) for name, text in texts.items()}
    titles = [source.title for source in sources.values() if source.title]
    for name, source in sources.items():
        if source.title:
            yield Page(f"{name}.html", templates.fill(form, texts[name], titles[:40]), source)


def node_sources(packages: Packages) -> Iterator[Path]:
    yield from sorted(packages.binary("nodejs-doc").rglob("api/*.md.gz"))


def python_sources(requirement: str, packages: Packages) -> Iterator[Path]:
    root = next(packages.python_source(requirement).iterdir())
    yield from sorted((root / _docs(root)).rglob("*.md"))


def man(package: str, folder: str, program: tuple[str, ...], tool: str, packages: Packages) -> Iterator[Page]:
    """The pages of a package, written as HTML by a program that shows manual pages."""
    tools = packages.binary(tool)
    paths = {"PATH": f"{tools}/usr/bin:{os.environ['PATH']}"}
    if tool == "groff":
        paths |= {
            "GROFF_FONT_PATH": f"{tools}/usr/share/groff/1.22.4/font",
            "GROFF_TMAC_PATH": f"{tools}/usr/share/groff/1.22.4/tmac",
        }
    built = packages.folder / "built" / f"{tool}-{package}"
    for path in sorted((packages.binary(package) / "usr/share/man" / folder).glob("man[1578]/*.gz")):
        text = _text(path)
        page = built / f"{path.parent.name}/{path.stem}.html"
        if text.startswith(".so ") or path.is_symlink() or ".Dd " in text[:2000]:
            continue
        if not page.exists():
            page.parent.mkdir(parents=True, exist_ok=True)
            unpacked = page.with_suffix(".roff")
            unpacked.write_text(text, encoding="utf-8")
            run_tool(
                ["sh", "-c", f'{" ".join(program)} "$1" > "$2"', "sh", str(unpacked), str(page)], page.parent, **paths
            )
        yield Page(_name(page, built), page.read_bytes(), read_man(text))


def docbook_book(package: str, folder: str, source: str, files: str, packages: Packages) -> Iterator[Page]:
    roots = docbook.read_book(sorted(packages.source(source).glob(files)))
    sections = docbook.identified(roots)
    for page in _html(packages.binary(package) / folder):
        content = page.read_bytes()
        found = docbook.read_sections(sections, _anchors(content))
        yield Page(page.name, content, found)


def _anchors(html: bytes) -> frozenset[str]:
    return frozenset(re.findall(r'\s(?:id|name)="([^"]+)"', html.decode("utf-8", "replace")))


def texinfo(package: str, folder: str, source: str, file: str, packages: Packages) -> Iterator[Page]:
    """The pages of a manual with a file for each chapter, which has the name of its node, and the code of each sign."""
    chapters = read_chapters(_text(next(packages.source(source).rglob(file))))
    for name, found in chapters.items():
        encoded = "".join(one if one.isalnum() else "-" if one == " " else f"_{ord(one):04x}" for one in name)
        page = packages.binary(package) / folder / f"{encoded}.html"
        if page.exists():
            yield Page(page.name, page.read_bytes(), found)


def classes(package: str, folder: str, source: str, suffix: str, packages: Packages) -> Iterator[Page]:
    """Pages of classes, each at the path of its source."""
    root = packages.binary(package) / folder
    for path in sorted(packages.source(source).rglob(f"*{suffix}")):
        parts = path.with_suffix(".html").parts
        page = next(
            (root.joinpath(*parts[at:]) for at in range(1, len(parts) - 1) if root.joinpath(*parts[at:]).exists()), None
        )
        if page is not None:
            yield Page(_name(page, root), page.read_bytes(), comments.read_java(_text(path)))


def doxygen(package: str, folder: str, source: str, packages: Packages) -> Iterator[Page]:
    """Pages of groups: the functions that a header declares in the group, with the comments of their definitions."""
    documented: dict[str, Source] = {}
    groups: dict[str, list[str]] = {}
    for path in sorted([*packages.source(source).rglob("*.c"), *packages.source(source).rglob("*.h")]):
        text = _text(path)
        documented |= comments.read_c(text)
        for name, body in re.findall(r"[\\@](?:def|addto)group\s+(\w+)(.*?)/\*\* [\\@]} \*/", text, re.DOTALL):
            groups.setdefault(name, []).extend(re.findall(r"(\w+)\s*\(", body))
    for name, functions in groups.items():
        encoded = re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name.replace("_", "__"))
        page = packages.binary(package) / folder / f"group__{encoded.lstrip('_')}.html"
        page = page if page.exists() else page.with_name(f"group__{encoded}.html")
        if page.exists():
            yield Page(page.name, page.read_bytes(), _joined(documented, functions))


def gtk_doc(package: str, folder: str, source: str, packages: Packages) -> Iterator[Page]:
    """Pages of sections: the file of sections names the functions of each, and the page is named by its title."""
    root = packages.source(source)
    documented: dict[str, Source] = {}
    for path in sorted(root.rglob("*.c")):
        documented |= comments.read_c(_text(path))
    text = _text(next(root.rglob("*-sections.txt")))
    for body in re.findall(r"<SECTION>(.*?)</SECTION>", text, re.DOTALL):
        named = re.findall(r"<(?:TITLE|FILE)>(.*?)</(?:TITLE|FILE)>", body)
        shown = body.partition("<SUBSECTION Standard>")[0]
        for page in (packages.binary(package) / folder / f"{name}.html" for name in named):
            if page.exists():
                yield Page(page.name, page.read_bytes(), _joined(documented, re.findall(r"^\w+$", shown, re.MULTILINE)))


def _joined(documented: Mapping[str, Source], names: list[str]) -> Source:
    joined = Source()
    for source in (documented[name] for name in dict.fromkeys(names) if name in documented):
        joined.names += source.names
        joined.values += source.values
        joined.code += source.code
        joined.texts += source.texts
    return joined


def haddock(package: str, source: str, packages: Packages) -> Iterator[Page]:
    for page in _html(packages.binary(package)):
        module = page.stem.replace("-", "/")
        found = next(
            (path for path in packages.source(source).rglob("*.hs") if str(path.with_suffix("")).endswith(module)), None
        )
        if found is not None:
            yield Page(page.name, page.read_bytes(), comments.read_haskell(_text(found)))


def rdoc(package: str, folder: str, source: str, packages: Packages) -> Iterator[Page]:
    """Pages of classes: the installed program has their sources."""
    sources = [_text(path) for path in sorted(packages.binary(source).rglob("*.rb"))]
    for page in _html(packages.binary(package) / folder):
        defined = re.compile(rf"^\s*(?:class|module)\s+(?:\w+::)*{re.escape(page.stem)}\b", re.MULTILINE)
        if found := next((text for text in sources if defined.search(text)), ""):
            yield Page(page.name, page.read_bytes(), comments.read_ruby(found))


def rustdoc(crates: Mapping[str, str], packages: Packages) -> Iterator[Page]:
    """Pages of types and traits, built here of the files that define them."""
    project = (packages.folder / "built" / "rustdoc").absolute()
    if not (project / "target" / "doc").exists():
        (project / "src").mkdir(parents=True, exist_ok=True)
        (project / "src" / "lib.rs").write_text("")
        needed = "\n".join(f'{name} = "{version}"' for name, version in crates.items())
        (project / "Cargo.toml").write_text(
            f'[package]\nname = "manual"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{needed}\n'
        )
        run_tool(["cargo", "doc", "-q", "-j", "1"], project, CARGO_HOME=str(project / "cargo"))
    for crate in crates:
        for path in sorted((project / "cargo").glob(f"registry/src/*/{crate}-[0-9]*/src/**/*.rs")):
            text = _text(path)
            for kind, name in re.findall(r"^pub (struct|enum|trait) (\w+)", text, re.MULTILINE):
                for page in sorted((project / "target/doc" / crate.replace("-", "_")).rglob(f"{kind}.{name}.html"))[:1]:
                    yield Page(f"{crate}/{page.name}", page.read_bytes(), comments.read_rust(text))


def _html(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.html") if path.is_file())


def _name(page: Path, root: Path) -> str:
    return page.relative_to(root).as_posix()


def _text(path: Path) -> str:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8", "replace")


_MANDOC = (("mandoc", "-T", "html", "-K", "utf-8"), "mandoc")
_GROFF = (("groff", "-K", "utf8", "-man", "-T", "html"), "groff")

LOOKED_AT: tuple[Manual, ...] = (
    Manual("sphinx-rtd", partial(sphinx, "developers-reference")),
    Manual("sphinx-alabaster", partial(sphinx, "python-click-doc")),
    Manual("node", node),
    Manual("mkdocs", partial(mkdocs, "mkdocs", "Markdown==3.7")),
    Manual("mkdocs-readthedocs", partial(mkdocs, "readthedocs", "Markdown==3.7")),
    Manual("docusaurus", partial(template, templates.docusaurus, node_sources)),
    Manual("mandoc", partial(man, "manpages", "", *_MANDOC)),
    Manual("mandoc", partial(man, "manpages-de", "de", *_MANDOC), "de"),
    Manual("mandoc", partial(man, "manpages-fr", "fr", *_MANDOC), "fr"),
    Manual("mandoc", partial(man, "manpages-ja", "ja", *_MANDOC), "ja"),
    *(
        Manual(
            "docbook",
            partial(
                docbook_book,
                f"aptitude-doc-{code}",
                "usr/share/doc/aptitude/html",
                "aptitude",
                f"*/doc/{code}/aptitude.xml",
            ),
            code,
        )
        for code in ("en", "cs", "fi")
    ),
    Manual(
        "javadoc",
        partial(
            classes,
            "libcommons-lang3-java-doc",
            "usr/share/doc/libcommons-lang3-java/api",
            "libcommons-lang3-java",
            ".java",
        ),
    ),
    Manual("doxygen", partial(doxygen, "libasound2-doc", "usr/share/doc/libasound2/html", "alsa-lib")),
)

KEPT: tuple[Manual, ...] = (
    Manual("sphinx-furo", partial(sphinx, "python-setuptools-doc")),
    Manual("sphinx-own", partial(sphinx, "sphinx-doc")),
    Manual("mkdocs-material", partial(mkdocs, "material", "black==24.4.2")),
    Manual("vitepress", partial(template, templates.vitepress, partial(python_sources, "pymdown-extensions==10.9"))),
    Manual("mediawiki", partial(template, templates.mediawiki, partial(python_sources, "black==24.4.2"))),
    Manual("groff", partial(man, "manpages-es", "es", *_GROFF), "es"),
    Manual("groff", partial(man, "manpages-ru", "ru", *_GROFF), "ru"),
    Manual("groff", partial(man, "manpages-pl", "pl", *_GROFF), "pl"),
    Manual("texinfo", partial(texinfo, "diffutils-doc", "usr/share/doc/diffutils", "diffutils", "diffutils.texi")),
    Manual("gtk-doc", partial(gtk_doc, "libsoup2.4-doc", "usr/share/gtk-doc/html/libsoup-2.4", "libsoup2.4")),
    Manual("haddock", partial(haddock, "libghc-attoparsec-doc", "haskell-attoparsec")),
    Manual(
        "groovydoc",
        partial(
            classes,
            "libgmetrics-groovy-java-doc",
            "usr/share/doc/libgmetrics-groovy-java/api",
            "libgmetrics-groovy-java",
            ".groovy",
        ),
    ),
    Manual("rdoc", partial(rdoc, "ruby-uuidtools-doc", "usr/share/doc/ruby-uuidtools/rdoc", "ruby-uuidtools")),
    Manual("rustdoc", partial(rustdoc, {"itertools": "=0.13.0", "semver": "=1.0.23", "indexmap": "=2.2.6"})),
)
