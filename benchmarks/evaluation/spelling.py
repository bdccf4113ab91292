"""`python -m benchmarks eval spell FILE`: corrections of misspelt words, beside SymSpell and hunspell in the same run.

Each line of FILE is `wrong->right`, or `wrong->right, right` where several words are right. For each misspelling a
program is right if its first correction (top1), or one of its first three (top3), is a right word; capitals are not
compared. Each right word is a control: a program that would change the word makes a false correction.

Riffle may also know the words of an index: of a folder of pages HOST/path.html, chosen as `riffle suggest build`
chooses them, or of a file whose lines have a word, a tab and its number of pages.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.evaluation.sites import Normalize, read_site
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.queries.spelling.corrector import Corrector
from streams.queries.suggestions.page_words import WordSums, add_words, choose_words, site_of, text_words, weights_of

MAX_LINE_CHARS = 1_000
MAX_PAGES = 100_000
"""Maximum pages of a folder whose words are read."""
TOP = 3
NOT_INSTALLED = "not installed: pip install --group compare"

Correct = Callable[[str], Sequence[str]]
"""Return the corrections of a text, best first; nothing if the text stays as it is."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Pair:
    """A misspelling, with the words that are right."""

    wrong: str
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one program."""

    top1: float
    top3: float
    false_corrections: float


def read_pairs(path: Path) -> list[Pair]:
    """Read the lines of a file. Empty lines and lines with # are left out. Raises UsageError."""
    pairs = []
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            wrong, arrow, right = line[:MAX_LINE_CHARS].strip().partition("->")
            words = tuple(word.strip() for word in right.split(",") if word.strip())
            if not arrow or not wrong.strip() or not words:
                raise UsageError(f"{path}, line {number}: a line is `wrong->right`")
            pairs.append(Pair(wrong.strip(), words))
    if not pairs:
        raise UsageError(f"{path} has no line `wrong->right`")
    return pairs


def read_index_words(path: Path, language: str, min_sites: int, normalize: Normalize) -> dict[str, float]:
    """Return the words of an index with their numbers of pages. `path`: see the module. Raises UsageError."""
    if not path.is_dir():
        return _read_word_counts(path)
    sums: WordSums = {}
    for document in read_site(path, MAX_PAGES, normalize):
        texts = (document.title, *(block.text for block in document.blocks if block.tag != "pre"))
        if document.language == language:
            add_words(sums, text_words(texts), site_of(host_of(document.url), ""))
    return dict(weights_of(choose_words(sums, min_sites, lambda _: False)))


def _read_word_counts(path: Path) -> dict[str, float]:
    counts: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            word, tab, count = line[:MAX_LINE_CHARS].strip().partition("\t")
            if not tab or not count.isascii() or not count.isdigit():
                raise UsageError(f"{path}, line {number}: a line is a word, a tab and its number of pages")
            counts[word.lower()] = float(count)
    return counts


def measure(correct: Correct, pairs: Sequence[Pair], step: Callable[[int], None] = lambda _: None) -> Figures:
    """Return the figures of one program on these pairs."""
    first = among = 0
    for done, pair in enumerate(pairs):
        found = [text.lower() for text in islice(correct(pair.wrong), TOP)]
        right = {word.lower() for word in pair.right}
        first += bool(found) and found[0] in right
        among += any(text in right for text in found)
        step(done)
    controls = dict.fromkeys(word for pair in pairs for word in pair.right)
    changed = 0
    for done, word in enumerate(controls, start=len(pairs)):
        found = [text.lower() for text in islice(correct(word), 1)]
        changed += bool(found) and found[0] != word.lower()
        step(done)
    return Figures(round(first / len(pairs), 4), round(among / len(pairs), 4), round(changed / len(controls), 4))


def evaluate_spelling(
    pairs: Sequence[Pair], corrector: Corrector, progress: Progress, *, others: bool = True
) -> dict[str, Any]:
    """Return Riffle's figures, and the figures of the other programs under `others`."""
    total = len(pairs) + len({word for pair in pairs for word in pair.right})

    def run(name: str, correct: Correct) -> dict[str, float]:
        return asdict(measure(correct, pairs, lambda done: progress(f"correct: {name}", done + 1, total)))

    found: dict[str, Any] = {
        **run("riffle", riffle(corrector)),
        "pairs": len(pairs),
        "index_words": corrector.index_words,
        "others": {},
    }
    for name, opened in (("symspell", _open_symspell), ("hunspell", _open_hunspell)) if others else ():
        try:
            correct = opened()
        except ImportError:
            found["others"][name] = NOT_INSTALLED
        else:
            found["others"][name] = run(name, correct)
    return found


def riffle(corrector: Corrector) -> Correct:
    """Return Riffle's corrections of a text."""

    def correct(text: str) -> Sequence[str]:
        correction = corrector.correct(text)
        return (correction.text, *correction.others) if correction else ()

    return correct


def _open_symspell() -> Correct:
    from importlib import resources

    from symspellpy import SymSpell, Verbosity

    symspell = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    words = resources.files("symspellpy").joinpath("frequency_dictionary_en_82_765.txt")
    symspell.load_dictionary(str(words), term_index=0, count_index=1)
    return lambda text: [each.term for each in symspell.lookup(text.lower(), Verbosity.ALL, 2)]


def _open_hunspell() -> Correct:
    from hunspell import Hunspell

    hunspell = Hunspell("en_US")

    def correct(text: str) -> Iterable[str]:
        try:
            return () if hunspell.spell(text) else hunspell.suggest(text)
        except UnicodeEncodeError:  # the dictionary has another character set
            return ()

    return lambda text: list(correct(text))
