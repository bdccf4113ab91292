"""Every regular expression of `streams/` takes linear time on any text, or is harmless for a stated reason."""

import ast
import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.pages.text import normal_forms, tokens
from tests.linear_patterns import faults

ROOT = Path(__file__).parents[2]
Pattern = re.Pattern[str] | re.Pattern[bytes]
LIMITED = "the process that normalizes a page has a limit of CPU time, and the text is short"
SHORT = "reads 120 characters"
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("streams/answers/disagreement.py", "_DATE"): "9 letters are read again at a place at most, of 2,000",
    ("streams/crawl/content_signals.py", "_SIGNAL"): "40 characters are read again at a place at most",
    ("streams/crawl/robots.py", "_RATE"): "reads 500 characters",
    ("streams/crawl/xml_elements.py", "_ATTRIBUTE"): "64 characters of a name are read again at a place at most",
    ("streams/doctor/servers.py", "_NUMBERS"): "a number has 9 digits at most, so 9 are read again at a place",
    ("streams/pages/assemble/builder.py", "_CODE_LANGUAGE"): "90 characters are read again at a place at most",
    ("streams/charset.py", "_DECLARED"): "reads 2,048 bytes",
    ("streams/queries/quick/checks.py", "_ASKED"): SHORT,
    ("streams/queries/quick/units.py", "_ASKED"): SHORT,
    ("streams/queries/quick/units.py", "_HOW_MANY"): SHORT,
    ("streams/search/query_language/query.py", "_TOKEN"): "10 letters are read again at a place at most",
    ("streams/answers/answer_form.py", "_NAME"): "41 characters are read again at a place at most",
    ("streams/local/web_files.py", "_META_CHARSET"): "reads 1,024 bytes",
    ("streams/pages/assemble/footnotes.py", "_BACK"): LIMITED,
    ("streams/pages/content/removal_reasons.py", "_CODE"): LIMITED,
    ("streams/pages/formats/office/cell_values.py", "_QUOTED"): LIMITED,
    ("streams/pages/formats/pdf.py", "_LEADERS"): "reads the end of a line",
    ("streams/pages/formats/converted.py", "_NO_TITLE"): "reads the beginning of a title",
    ("streams/pages/metadata/authors.py", "_AFTER"): "reads 500 characters",
    ("streams/pages/metadata/authors.py", "_NOT_NAME"): "reads 500 characters",
    ("streams/pages/metadata/script_json.py", "_CODE_COMMENT"): "a comment without an end is the rest of the text",
    ("streams/pages/metadata/titles.py", "_ENDING"): LIMITED,
    ("streams/pages/metadata/titles.py", "_SEPARATOR"): LIMITED,
    ("streams/charset.py", "_COMMENT"): "reads 2,048 bytes",
    ("streams/pages/text/dates.py", "_CLOCK"): "reads 120 characters",
    ("streams/pages/text/dates.py", "_MONTH_FIRST"): "reads 120 characters",
    ("streams/pages/text/dates.py", "_DAY_FIRST"): "reads 120 characters",
    ("streams/pages/text/dates.py", "_NAMED"): "reads 120 characters",
    ("streams/pages/text/tokens.py", "_ASCII_WORD"): "the digits of a number that fails are a word",
    ("streams/pages/text/tokens.py", "_PLAIN_WORD"): "the digits of a number that fails are a word",
    ("streams/statements/sentences/splitter.py", "_BEFORE"): "reads 24 characters",
    ("streams/models/inference/antecedents.py", "_EXPLETIVE"): "words have one space between them",
}
"""File and name of each pattern that the check does not accept, with the reason why it is harmless."""
IN_FUNCTIONS: dict[tuple[str, str], str] = {
    ("streams/answers/choices.py", "_place_of"): "escaped words with spaces between them, of 2,000 characters at most",
    ("streams/robot_name.py", "product_token"): "reads Riffle's own user agent",
    ("streams/crawl/url_rules.py", "_apply_path_rule"): "a run of one character",
    ("streams/crawl/xml_elements.py", "tag_pattern"): "its patterns are constants of other modules, which are checked",
    ("streams/gateway/http/presentation.py", "highlights"): "escaped words of a query",
    ("streams/gateway/http/presentation.py", "_stem"): "two characters at the end",
    ("streams/gateway/labs/source_view.py", "_folds"): "one character",
    (
        "streams/queries/quick/checks.py",
        "find_definition",
    ): "at most 6 escaped words, and a statement of 400 characters",
    ("streams/dedup/counter_lines.py", "_patterns"): "texts of 160 characters at most; all repetitions are bounded",
    ("streams/search/request.py", "normalize_host"): "one character",
    ("streams/local/web.py", "_handle"): "digits behind a colon",
    ("streams/local/web.py", "_raw_path"): "matches at the start alone",
    ("streams/pages/text/normal_forms.py", "_long_runs"): "test_patterns_that_are_built_from_tables",
    ("streams/pages/text/tokens.py", "_marked_word"): "test_patterns_that_are_built_from_tables",
    ("streams/stores/cassandra/migrating.py", "statements"): "reads Riffle's own migrations",
    ("streams/stores/vector_collection.py", "collection_name"): "reads the names of models",
}
"""File and function of each pattern that is not a constant of its module, with the reason."""
SEARCHES = {"search", "finditer", "findall", "sub", "subn", "split", "scanner"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(?:a+)+b", {"nested", "rescanned"}),
        (r"(\w+\s?)*$", {"nested", "rescanned"}),
        (r"x\s*\s*y", {"adjacent"}),
        (r"<.*=.*>", {"adjacent", "rescanned"}),
        (r"_*[a-z]", {"rescanned"}),
        (r"\s+$", {"rescanned"}),
        (r"<!--.*?-->", {"rescanned"}),
    ],
)
def test_faults_are_found(pattern: str, expected: set[str]) -> None:
    assert faults(re.compile(pattern)) == expected


AMBIGUOUS_ROUNDS = [
    (r"(?:a|a)*", "two equal alternatives: two ways for each letter"),
    (r"(?:a|aa)*", "two letters are one round or two"),
    (r"(?:ab|a|b)*", "the same with alternatives that share no first letter"),
    (r"(?:\wx|[a-f]x)+", "two sets of letters that overlap"),
    (r"(?:a?a)+", "an optional part of a round"),
    (r"(?:a{1,3})+", "a round of one to three letters, repeated"),
    (r"(?:a{1,30}){1,30}", "bounds that are too large to help"),
    (r"(?:a{1,30}){9}", "a number of rounds beyond the harmless one"),
    (r"(?:(?:a|a)b)*", "the alternatives are deeper"),
    (r"(?:ab|a|b)*?", "a lazy repeat is tried in all ways, too"),
    (r"(?:a|b|ab)(?:c|c)*", "a fault in a later part"),
    (r"(?i:a|B|Ab)*", "without regard to case"),
]
UNAMBIGUOUS_ROUNDS = [
    (r"(?:a|b)*", "alternatives without a common letter"),
    (r"(?:ab|ac|d)*", "alternatives with a common beginning, and different ends"),
    (r"(?:a,|b,)*", "each round ends with a separator"),
    (r"(?:a+,)*", "a repeat with a separator behind it"),
    (r"(?:\s*a)*", "a repeat with a letter behind it"),
    (r"(?:a(?:b|c)?d)*", "an optional part in front of a letter"),
    (r"(?:a{2}){2,}", "rounds of one length"),
    (r"(?:a|a){1,4}", "16 ways at most"),
    (r"(?:a{1,30}){1,8}?,", "few rounds"),
    (r"(?:\d++,?)+", "a possessive repeat gives nothing back"),
    (r"(?:(?>a|ab)c)*", "an atomic group matches in one way"),
    (r"(?:(?:a|b)+,)*", "a repeat of alternatives with a separator"),
]


@pytest.mark.parametrize(("pattern", "why"), AMBIGUOUS_ROUNDS)
def test_rounds_of_a_repeat_that_match_in_several_ways_are_found(pattern: str, why: str) -> None:
    assert "nested" in faults(re.compile(rf"\A{pattern}!")), why


@pytest.mark.parametrize(("pattern", "why"), UNAMBIGUOUS_ROUNDS)
def test_rounds_that_match_in_one_way_have_no_fault(pattern: str, why: str) -> None:
    assert "nested" not in faults(re.compile(rf"\A{pattern}!")), why


@pytest.mark.parametrize("pattern", [r"\A(?:a|a)*!", r"\A(?:a?a)+!", r"\A(?:a|aa)*!"])
def test_such_a_pattern_is_exponential(pattern: str) -> None:
    """With six letters more it takes at least four times as long (18 or 64 times, measured)."""
    compiled = re.compile(pattern)

    def seconds(letters: int) -> float:
        began = time.process_time()
        assert compiled.match("a" * letters) is None
        return time.process_time() - began

    assert seconds(24) > 4 * min(seconds(18) for _ in range(3))


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<![\d.,])\d++(?:[.,]\d++)+(?!\w)",
        r"(?:(?<!_)_++)?[a-z]",
        r"[a-z]+(?:'[a-z]+)?",
        r"(?<!\s)\s++$",
        r"\Aa*b",
        r"<[^<>]*>",
        r"\w+",
        r'"[^"]*"',
        r"x\s*+=\s*+y",
    ],
)
def test_linear_patterns_have_no_fault(pattern: str) -> None:
    assert faults(re.compile(pattern)) == set()


def sources() -> list[Path]:
    """The modules that use regular expressions."""
    found = sorted((ROOT / "streams").rglob("*.py"))
    return [path for path in found if re.search(r"^(?:import re$|from re )", path.read_text(encoding="utf-8"), re.M)]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> object:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def patterns_in(value: object) -> Iterator[Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from patterns_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from patterns_in(inner)


def is_searched(tree: ast.Module, name: str) -> bool:
    """True if a pattern of a module is used in any other way than with `match` and `fullmatch`."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    anchored = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("match", "fullmatch") and isinstance(node.value, ast.Name)
    ]
    reads = [node for node in uses if isinstance(node.ctx, ast.Load)]
    return not reads or any(node not in anchored for node in reads)


def in_functions(tree: ast.Module) -> set[str]:
    """The functions in which `re` is called with a pattern."""
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {"compile", "match", "fullmatch", *SEARCHES}
    }


def slow_patterns(path: Path) -> Iterator[tuple[tuple[str, str], set[str]]]:
    """The place of each pattern of a module that may take more than linear time, with the kinds of its faults."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, value in vars(module_of(path)).items():
        for pattern in patterns_in(value):
            if kinds := faults(pattern, searched=is_searched(tree, name)):
                yield (relative(path), name), kinds


def test_patterns_take_linear_time() -> None:
    slow = dict(found for path in sources() for found in slow_patterns(path))
    assert {place: kinds for place, kinds in slow.items() if place not in EXCEPTIONS} == {}


def test_patterns_are_compiled_where_they_are_checked() -> None:
    trees = {relative(path): ast.parse(path.read_text(encoding="utf-8")) for path in sources()}
    places = {(file, function) for file, tree in trees.items() for function in in_functions(tree)}
    assert places - IN_FUNCTIONS.keys() == set()


def test_patterns_that_are_built_from_tables() -> None:
    assert faults(normal_forms._long_runs()) == set()
    assert faults(tokens._marked_word()) <= {"rescanned"}, EXCEPTIONS["streams/pages/text/tokens.py", "_PLAIN_WORD"]
