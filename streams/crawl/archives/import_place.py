"""The place of an interrupted import, in a file: a later run of the same import goes on there."""

import json
from hashlib import blake2b
from pathlib import Path


class ImportPlace:
    """The number of records that an import has sent. `name` says what is imported, and changes with the archive."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{blake2b(name.encode(), digest_size=12).hexdigest()}.json"
        self._name = name

    def load(self) -> int:
        """Return the number of records of an interrupted run; 0 if there was none."""
        try:
            saved = json.loads(self._file.read_text(encoding="utf-8"))
            return max(int(saved["records"]), 0) if saved["name"] == self._name else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def save(self, records: int) -> None:
        """Write the place. The file is replaced as a whole."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self._file.with_suffix(".part")
        unfinished.write_text(json.dumps({"name": self._name, "records": records}), encoding="utf-8")
        unfinished.replace(self._file)

    def clear(self) -> None:
        """Forget the place: the import is done."""
        self._file.unlink(missing_ok=True)


def archive_name(*paths: Path) -> str:
    """Return a name of these files that changes with them: their paths, sizes and times of change."""
    facts = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    return json.dumps(facts)
