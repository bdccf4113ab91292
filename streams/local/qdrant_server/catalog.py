"""All collections and aliases of one data folder."""

import json
import re
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streams.local.qdrant_server.collection import Builds, Collection
from streams.local.qdrant_server.errors import BadRequest, Conflict, no_collection
from streams.local.qdrant_server.layout import write_atomically

MAX_NAME_BYTES = 255
"""Maximum length of a collection's name (bytes): it is also a folder's name."""
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\0\x1f]')


class Catalog:
    """Collections by name or alias. Its methods block: call them off the event loop."""

    def __init__(self, data: Path, builds: Builds | None = None) -> None:
        self._builds = builds or Builds()
        self._folder = data / "collections"
        self._alias_file = data / "aliases.json"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._remove_leftovers()
        loaded = [Collection.load(folder, self._builds) for folder in sorted(self._folder.iterdir())]
        self._collections = {collection.name: collection for collection in loaded}
        self._aliases: dict[str, str] = self._read_aliases()

    def get(self, name: str) -> Collection:
        """Return the collection of a name or alias. Raises NotFound."""
        collection = self._collections.get(self._aliases.get(name, name))
        if collection is None:
            raise no_collection(name)
        return collection

    def exists(self, name: str) -> bool:
        return self._aliases.get(name, name) in self._collections

    def names(self) -> list[str]:
        return sorted(self._collections)

    def all(self) -> list[Collection]:
        return list(self._collections.values())

    def create(self, name: str, description: Mapping[str, Any]) -> None:
        if not name or len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES or _FORBIDDEN.search(name):
            raise BadRequest(f"Validation error in path parameters: `{name}` can't be a collection's name")
        with self._lock:
            if name in self._collections or name in self._aliases:
                raise Conflict(f"Wrong input: Collection `{name}` already exists!")
            folder = self._folder / quote(name, safe="").replace(".", "%2E")
            self._collections[name] = Collection.create(name, folder, description, self._builds)

    def delete(self, name: str) -> bool:
        """Delete a collection and its aliases. Returns False if there was none."""
        with self._lock:
            collection = self._collections.get(name)
            if collection is None:
                return False
            self._store_aliases({alias: target for alias, target in self._aliases.items() if target != name})
            del self._collections[name]
            collection.drop()
            return True

    def aliases(self) -> list[dict[str, str]]:
        return [{"alias_name": alias, "collection_name": target} for alias, target in sorted(self._aliases.items())]

    def change_aliases(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Make all of the changes or none: a reader sees the aliases before or after them."""
        with self._lock:
            aliases = dict(self._aliases)
            for action in actions:
                self._apply_action(aliases, action)
            self._store_aliases(aliases)

    def close(self) -> None:
        for collection in self.all():
            collection.close()

    def _apply_action(self, aliases: dict[str, str], action: Mapping[str, Any]) -> None:
        match dict(action):
            case {"create_alias": {"alias_name": str(alias), "collection_name": str(target)}}:
                if target not in self._collections:
                    raise no_collection(target)
                if alias in self._collections:
                    raise Conflict(f"Wrong input: Collection `{alias}` already exists!")
                aliases[alias] = target
            case {"delete_alias": {"alias_name": str(alias)}}:
                aliases.pop(alias, None)
            case _:
                raise BadRequest(f"Format error in JSON body: unknown alias action {dict(action)!r}")

    def _store_aliases(self, aliases: dict[str, str]) -> None:
        if aliases != self._aliases:
            write_atomically(self._alias_file, aliases)
            self._aliases = aliases

    def _read_aliases(self) -> dict[str, str]:
        try:
            aliases: dict[str, str] = json.loads(self._alias_file.read_text())
        except FileNotFoundError:
            return {}
        return {alias: target for alias, target in aliases.items() if target in self._collections}

    def _remove_leftovers(self) -> None:
        """Remove collections that were being built or removed when the process ended."""
        for folder in self._folder.glob(".*"):
            shutil.rmtree(folder)
