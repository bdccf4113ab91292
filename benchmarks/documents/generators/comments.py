"""Reads the comments of programs: Java and Groovy, C with the marks of Doxygen and GTK-Doc, Haskell, Ruby, Rust."""

import re
from collections.abc import Iterator

from benchmarks.documents.generators.markdown import read_markdown
from benchmarks.documents.generators.source import Source

_BLOCK = re.compile(r"/\*\*(.*?)\*/([^{;]*)", re.DOTALL)
_STARS = re.compile(r"^\s*\*(?!/) ?", re.MULTILINE)
_TAG = re.compile(r"^\s*[@\\](param|return|returns|throws|exception|retval|result)\b(?:\[\w+\])?\s*", re.MULTILINE)
_ANY_TAG = re.compile(r"^\s*[@\\][a-z]+", re.MULTILINE)
_INLINE = re.compile(r"\{@(?:code|literal|link|linkplain|value)\s+([^{}]*)\}")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&[a-z]+;")
_PREFORMATTED = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
_ITEM = re.compile(r"<li>(.*?)(?=<li>|</li>|</ul>|</ol>|$)", re.DOTALL)
_ANNOTATION = re.compile(r"@\w+(?:\([^)]*\))?|\bfinal\b")
_SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)|(.+)", re.DOTALL)


def read_java(text: str) -> Source:
    """Return the items of a class: names and signatures of public members, first sentences, descriptions of tags."""
    source = Source()
    for comment, declaration in _BLOCK.findall(text):
        declared = " ".join(_ANNOTATION.sub(" ", declaration.partition("=")[0]).split())
        if re.match(r"(?:public|protected|static|abstract|class|interface|enum|def|[A-Z<])", declared):
            name = re.search(r"(\w+)\s*(?:\(|$)", declared)
            is_type = re.search(r"\b(?:class|interface|enum)\s+(\w+)", declared)
            source.names += [name[1], declared] if name and not is_type else []
            source.title = source.title or (is_type[1] if is_type else "")
            read_comment(source, _STARS.sub("", comment))
    return source


def read_comment(source: Source, comment: str) -> None:
    """Add the first sentence, the listings, the items and the tags of a comment."""
    comment = _INLINE.sub(r"\1", comment)
    prose = _ANY_TAG.split(comment, maxsplit=1)[0]
    source.code += [_MARKUP.sub("", one) for one in _PREFORMATTED.findall(prose)]
    source.values += [_MARKUP.sub("", one) for one in _ITEM.findall(prose)]
    if first := _SENTENCE.match(_MARKUP.sub("", prose).strip()):
        source.values.append(first[0])
    parts = _TAG.split(comment)
    for tag, described in zip(parts[1::2], parts[2::2], strict=True):
        described = _ANY_TAG.split(described, maxsplit=1)[0]
        source.values.append(_MARKUP.sub("", described))
        if tag in {"param", "retval"}:
            source.values.append(_MARKUP.sub("", described.strip().partition(" ")[2]))
    source.texts.append(_MARKUP.sub("", comment))


def read_c(text: str) -> dict[str, Source]:
    """Return the items of each documented function by its name."""
    found = {}
    for comment, declaration in _BLOCK.findall(text):
        comment = _STARS.sub("", comment)
        declared = " ".join(declaration.split())
        if name := re.match(r"\s*([A-Za-z_]\w+):?\s*(?:\([^)]*\))?:?\n", comment) or re.search(r"(\w+)\s*\(", declared):
            source = found[name[1]] = Source(names=[name[1], *([declared] if "(" in declared else [])])
            if comment.strip().startswith(name[1]):
                _read_gtk(source, comment)
            else:
                read_comment(source, re.sub(r"[@\\](?:brief|ref|p|c|a)\s+", "", comment))
    return found


def _read_gtk(source: Source, comment: str) -> None:
    body = re.sub(r"\([^()]*\):\s|[#%@]|\(\)", lambda one: " " if one[0].endswith(" ") else "", comment)
    for name, described in re.findall(r"^[ \t]*(\w+):[ \t]+(.*(?:\n(?!\s*\w+:|\s*\n).*)*)", body, re.MULTILINE):
        source.names += [name] if name not in {"Returns", "Since", "Deprecated"} else []
        source.values.append(described)
    source.texts.append(body)


def read_haskell(text: str) -> Source:
    """Return the items of a module: its names with their types, headings of the exports, first sentences."""
    source = Source(names=[one.strip() for one in re.findall(r"^\s*(?:, )?-- \*+ (.+)$", text, re.MULTILINE)])
    if title := re.search(r"^module\s+([\w.]+)", text, re.MULTILINE):
        source.title = title[1]
    comments = re.findall(r"^-- \|(.*(?:\n--.*)*)\n((?:\w+|\([^)]*\))\s*::.*(?:\n\s+.*)*)?", text, re.MULTILINE)
    for comment, declared in comments:
        prose = re.sub(r"^--", "", comment, flags=re.MULTILINE).replace("@", "").replace("'", "")
        source.names += [" ".join(re.sub(r"--.*", "", declared).split())] if declared else []
        source.texts.append(prose)
        source.code += ["\n".join(re.findall(r"^\s*>(.*)$", prose, re.MULTILINE))]
        if first := _SENTENCE.match(prose.strip()):
            source.values.append(first[0])
    return source


def read_ruby(text: str) -> Source:
    """Return the items of a file: the names of its methods and classes, and the first sentences of their comments."""
    source = Source()
    for comment, declared in re.findall(
        r"((?:^[ \t]*#.*\n)+)[ \t]*((?:def|class|module|attr_\w+)\b.*)", text, re.MULTILINE
    ):
        prose = re.sub(r"^[ \t]*#", "", comment, flags=re.MULTILINE).replace("+", "")
        kind, _, name = declared.partition(" ")
        source.names += [name.removeprefix("self.").lstrip(":")] if kind not in {"class", "module"} else []
        source.texts.append(prose)
        if first := _SENTENCE.match(prose.strip()):
            source.values.append(first[0])
    return source


def read_rust(text: str) -> Source:
    """Return the items of a file: its signatures, and the Markdown of its comments."""
    source = Source()
    for prose, declared in _rust_comments(text):
        if name := re.match(
            r"pub (?:const |unsafe |async )*(?:fn|struct|enum|trait|macro|type)\s+\w+[^{;]*|fn \w+[^{;]*", declared
        ):
            source.names.append(" ".join(name[0].split()))
        found = read_markdown(prose)
        source.names += [found.title, *found.names]
        source.values += found.values + found.texts[:1]
        source.code += found.code
        source.texts += found.texts
    return source


def _rust_comments(text: str) -> Iterator[tuple[str, str]]:
    pattern = re.compile(r"((?:^[ \t]*//[/!].*\n)+)((?:[ \t]*#\[.*\n)*[^{;]*)", re.MULTILINE)
    for comment, declared in pattern.findall(text):
        prose = re.sub(r"^[ \t]*//[/!] ?", "", comment, flags=re.MULTILINE)
        yield prose, re.sub(r"^[ \t]*#\[.*\n", "", declared, flags=re.MULTILINE).strip()
