"""Qdrant's part of a backup: the points of every collection of Riffle. This part may be left out.

Everything in Qdrant follows from Cassandra (`riffle reindex`). A copy saves the time of reindexing, and searches give
the same answers at once.
"""

from pathlib import Path

from streams.backup.kafka import REPLACE_ADVICE
from streams.backup.manifest import ItemWriter, Manifest, Progress, read_items
from streams.errors import UsageError
from streams.settings import QdrantSettings
from streams.stores.qdrant.rest import QdrantRest, description_of
from streams.stores.vector_collection import ALIAS, ENTITIES_ALIAS

REQUEST_SECONDS = 60.0
BATCH_POINTS = 256


def write_collections(settings: QdrantSettings, folder: Path, manifest: Manifest, progress: Progress) -> None:
    """Write all collections of Riffle to files. Raises StoreUnavailable."""
    total = 0
    with QdrantRest(settings, REQUEST_SECONDS) as qdrant:
        names = _own_collections(qdrant)
        manifest.aliases = {alias: name for alias, name in qdrant.aliases().items() if name in names}
        for name in names:
            manifest.descriptions[name] = description_of(qdrant.info(name))
            with ItemWriter(folder, f"qdrant/{name}.msgpack.zst") as writer:
                for points in qdrant.points(name):
                    for point in points:
                        writer.write(point)
                    total += len(points)
                    progress("Points", total)
            manifest.collections[name] = writer.part


def refuse_points(settings: QdrantSettings) -> None:
    """Raise UsageError if a collection holds points."""
    with QdrantRest(settings, REQUEST_SECONDS) as qdrant:
        if full := [name for name in _own_collections(qdrant) if qdrant.info(name).get("points_count")]:
            raise UsageError(f"Qdrant holds points in {', '.join(full)}. {REPLACE_ADVICE}")


def drop_collections(settings: QdrantSettings) -> None:
    with QdrantRest(settings, REQUEST_SECONDS) as qdrant:
        for name in _own_collections(qdrant):
            qdrant.drop(name)


def restore_collections(settings: QdrantSettings, folder: Path, manifest: Manifest, progress: Progress) -> None:
    """Make the collections of a backup with their points and aliases. Raises StoreUnavailable."""
    total = 0
    with QdrantRest(settings, REQUEST_SECONDS) as qdrant:
        for name, part in manifest.collections.items():
            qdrant.create(name, manifest.descriptions[name])
            batch = []
            for point in read_items(folder, part):
                batch.append(point)
                if len(batch) == BATCH_POINTS:
                    qdrant.upsert(name, batch)
                    total += len(batch)
                    progress("Points", total)
                    batch = []
            qdrant.upsert(name, batch)
            total += len(batch)
            progress("Points", total)
        for alias, name in manifest.aliases.items():
            qdrant.point_alias(alias, name)


def _own_collections(qdrant: QdrantRest) -> list[str]:
    return [name for name in qdrant.collections() if name.startswith((f"{ALIAS}-", f"{ENTITIES_ALIAS}-"))]
