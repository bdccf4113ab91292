"""The words of the code: docstrings begin with a subject, and one word means one thing (docs/concepts/glossary.md)."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("streams", "schemas", "tests", "benchmarks", "docs", "triton_models")
NO_SUBJECT = frozenset(["Of", "What", "Whether", "That", "Those", "Where", "Which", "How", "And"])
"""Words that a docstring does not begin with: the sentence behind them has no subject, or needs a second reading."""
UNCLEAR = {
    r"stands? for\b(?! \w+ itself)": "say 'represents', 'means' or 'is'",
    r"\blets? go\b|\blet go\b": "say 'releases' or 'drops'",
    r"\bwhoever\b": "name the reader, caller or worker",
    r"\bof ours\b": "say 'Riffle's'",
    r"\bhas become of\b|\bbecame of\b": "say 'the outcome' or 'the status'",
    r"\bis the law\b|\bthe law of\b": "say 'the rule' or 'the reference'",
}
UNNAMED = {
    r"\bso many\b": "say 'N'",
    r"\b(?:that|those) of\b": "name the noun again",
    r"\balone\b": "say 'only' before the word that it is about (or add a phrase to BY_ITSELF)",
}
"""Pronouns and adverbs in place of a noun, in the code's own docstrings and comments."""
_UNCLEAR_OR_UNNAMED = re.compile("|".join((*UNCLEAR, *UNNAMED)), re.IGNORECASE)
NO_PRONOUNS = ("streams", "schemas", "benchmarks", "docs", "triton_models")
BY_ITSELF = re.compile(
    r"(?:understood|understand it|matched|means nothing|through the network|runs|reads?|too long|are) alone"
    r"|`alone`"
    r"|leaves the [a-z ]+ alone|once more,? alone in a fresh process"
)
"""Phrases in which `alone` means "by itself"."""
NAMES = frozenset({"told", "said", "heard", "mortal", "law"})
"""Words that no variable, function or argument is called."""


def files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def words_of(source: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]], list[tuple[int, str]]]:
    """The docstrings, the comments and the names of a file, each with its line. The file is parsed once.

    A docstring is that of a module, class, function, constant or field: a string alone. A name is given to something.
    """
    docstrings, names = [], []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str() as text)):
                docstrings.append((node.lineno, text.strip()))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append((node.lineno, name))
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                names.append((node.lineno, name))
    return docstrings, list(comments(source)), names


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a file with a line that may have an unclear one: to find all takes seconds."""
    lines = (" ".join(line.split()) for line in source.splitlines() if "#" in line)
    unclear = any(_UNCLEAR_OR_UNNAMED.search(line) for line in lines)
    for token in tokenize.generate_tokens(io.StringIO(source).readline) if unclear else ():
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def faults_of(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    docstrings, commented, names = words_of(source)
    faults = [
        f"line {line}: the docstring begins with {text.split()[0]!r}: begin with its subject or a verb"
        for line, text in docstrings
        if text and text.split()[0].strip(",:;") in NO_SUBJECT
    ]
    for line, text in (*docstrings, *commented):
        flat = " ".join(text.split())
        faults += [f"line {line}: {match[0]!r}: {advice}" for pattern, advice in UNCLEAR.items()
                   for match in re.finditer(pattern, flat, re.IGNORECASE)]  # fmt: skip
        if relative(path).startswith(NO_PRONOUNS):
            named = BY_ITSELF.sub("", flat)
            faults += [f"line {line}: {match[0]!r}: {advice}" for pattern, advice in UNNAMED.items()
                       for match in re.finditer(pattern, named, re.IGNORECASE)]  # fmt: skip
    faults += [
        f"line {line}: the name {name!r}: name what it is"
        for line, name in names
        if NAMES & set(name.strip("_").lower().split("_"))
    ]
    yield from (f"{relative(path)}, {fault}" for fault in faults)


def test_words() -> None:
    faults = [fault for path in files() for fault in faults_of(path)]
    assert not faults, "\n".join(faults)


def test_every_ignored_type_has_its_reason() -> None:
    faults = [
        f"{relative(path)}:{number}"
        for path in files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# type: ignore(\[[a-z, -]*\])?\s*$", line)
    ]
    assert not faults, "say behind it why the checker errs, or what the test does on purpose"
