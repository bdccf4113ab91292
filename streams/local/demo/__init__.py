"""The bundled web: some 230 real pages of five hosts, and questions that they answer.

The pages are documentation of PostgreSQL, Python, SQLite and Git in English, and of Debian in German, unchanged. Their
licences are in `licences/`, and `benchmarks/documents/demo_web.py` names their sources. The questions of
`questions.json` in English share no word with their answer, so that an answer must be found by its meaning. Those in
German share stems or parts of words, since the default model reads only English.
"""

import hashlib
import io
import json
import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import zstandard

_HERE = Path(__file__).parent
ARCHIVE = _HERE / "web.tar.zst"
_STAMP = ".archive"
"""Name of the file with the checksum of the archive that a folder was unpacked from."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the one statement of the bundled web that answers it."""

    question: str
    url: str
    """The page that holds the answer."""
    answer: str
    """A part of the answering sentence that no other sentence contains."""
    language: str = "en"
    """The language of the question and of its page: `en` or `de`."""


QUESTIONS: tuple[Question, ...] = tuple(
    Question(**one) for one in json.loads((_HERE / "questions.json").read_text(encoding="utf-8"))
)


def unpack(into: Path, max_pages: int | None = None) -> Path:
    """Unpack the web to `into`, which then holds a folder for each host, and return it. Safe to repeat.

    With `max_pages`, it holds only the tables of contents, the pages that answer the questions, and some others. A
    folder from another version of the archive, or with another number of pages, is replaced.
    """
    packed = ARCHIVE.read_bytes()
    stamp = hashlib.sha256(packed).hexdigest() + ("" if max_pages is None else f" {max_pages}")
    if _read_stamp(into) == stamp:
        return into
    building = into.with_name(f".{into.name}.new")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    content = zstandard.ZstdDecompressor().decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        extract_files(archive, building)
    if max_pages is not None:
        _drop_pages(building, max_pages)
    (building / _STAMP).write_text(stamp)
    shutil.rmtree(into, ignore_errors=True)
    building.rename(into)
    return into


def _drop_pages(folder: Path, max_pages: int) -> None:
    """Delete pages that answer no question, spread evenly over all, until as many are left."""
    needed = {folder / urlsplit(question.url).netloc / urlsplit(question.url).path[1:] for question in QUESTIONS}
    pages = sorted(folder.rglob("*.html"))
    others = [page for page in pages if page not in needed and page.name != "index.html"]
    kept = max(max_pages - (len(pages) - len(others)), 0)
    for number, page in enumerate(others):
        # As many steps of this line are whole as pages are kept.
        if (number + 1) * kept // len(others) == number * kept // len(others):
            page.unlink()


def extract_files(archive: tarfile.TarFile, into: Path) -> None:
    """Extract an archive that holds only files with relative paths. Raises ValueError for any other member.

    `TarFile.extractall(filter="data")` would do the same, but Python 3.11.2 (of Debian 12) has no filters.
    """
    for member in archive:
        path = PurePosixPath(member.name)
        content = archive.extractfile(member) if member.isreg() else None
        if content is None or path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{member.name!r} is not a file with a path inside the archive")
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
        os.utime(target, (member.mtime, member.mtime))


def _read_stamp(folder: Path) -> str | None:
    try:
        return (folder / _STAMP).read_text()
    except OSError:
        return None
