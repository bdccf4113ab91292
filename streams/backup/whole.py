"""A whole backup and a whole restore: the stores in the order that makes the result safe.

The workers stand still meanwhile, so that all parts are of one moment. For all stages but the frontier only the order
is enough (docs/operate/backup.md): offsets, then events, then Cassandra, then Qdrant. The effects of each event that a
stage had acknowledged when the offsets were read are in the later copies. All other events are delivered again.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from schemas.envelope import micros_from_utc
from streams.backup import cassandra, kafka, qdrant
from streams.backup.manifest import Manifest, Progress, read_manifest, verify
from streams.errors import UsageError
from streams.local.home import workers_paused
from streams.local.server_set import ensure_collection
from streams.runtime.lags.offsets import active_groups
from streams.settings import Settings
from streams.stores.cassandra import migrate
from streams.stores.cassandra.restoring import check_restored, mark_restore, unmark_restore
from streams.topology import STAGES, in_regions

_LOOK_SECONDS = 0.5
_SESSIONS = 3
"""Number of session timeouts after which a stopped worker has left its group: a static member leaves by timeout."""


def back_up(settings: Settings, folder: Path, progress: Progress, *, vectors: bool = True) -> Manifest:
    """Write a backup into an empty folder. Raises UsageError, StoreUnavailable."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder: name one that does not exist yet")
    asyncio.run(check_restored(settings.cassandra))
    with _no_worker_runs(settings):
        folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(datetime.now(UTC).isoformat(), version("riffle-search"))
        manifest.partitions = kafka.partitions_of(settings)
        offsets = kafka.read_committed(settings, manifest.partitions)
        kafka.write_records(settings, folder, manifest, offsets, progress)
        asyncio.run(cassandra.write_tables(settings.cassandra, folder, manifest, progress))
        if vectors:
            qdrant.write_collections(settings.qdrant, folder, manifest, progress)
        manifest.write(folder)
    return manifest


def restore(settings: Settings, folder: Path, progress: Progress, *, replace: bool = False) -> Manifest:
    """Bring an empty installation to the state of a backup. Raises UsageError, StoreUnavailable.

    With `replace`, all that the installation holds is removed first. A restore that was interrupted is repeated with
    `replace`. Until a restore is finished, workers wait and searches are refused
    (`streams.stores.cassandra.restoring`).
    """
    manifest = read_manifest(folder)
    cassandra.refuse_other_schema(manifest)
    verify(folder, manifest, progress)
    at = micros_from_utc(datetime.fromisoformat(manifest.started))
    with _no_worker_runs(settings):
        if not replace:
            kafka.refuse_events(settings)
            asyncio.run(cassandra.refuse_rows(settings.cassandra))
            qdrant.refuse_points(settings.qdrant)
        # What was deleted, and not yet written, is missing: the mark keeps workers and searches away until the end.
        asyncio.run(migrate(settings.cassandra))
        asyncio.run(mark_restore(settings.cassandra, _description(folder)))
        kafka.empty_topics(settings, manifest)
        asyncio.run(cassandra.empty_tables(settings.cassandra))
        qdrant.drop_collections(settings.qdrant)
        asyncio.run(cassandra.restore_tables(settings.cassandra, folder, manifest, at, progress))
        if manifest.collections:
            qdrant.restore_collections(settings.qdrant, folder, manifest, progress)
        else:
            ensure_collection(settings)
        kafka.restore_records(settings, folder, manifest, progress)
        kafka.restore_offsets(settings, manifest)
        kafka.verify_records(settings, manifest)
        asyncio.run(unmark_restore(settings.cassandra))
    return manifest


def _description(folder: Path) -> str:
    """Return which restore begins now, for people."""
    return f"restore of {folder.resolve()}, begun {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


@contextmanager
def _no_worker_runs(settings: Settings) -> Iterator[None]:
    """Pause the workers of the local stack. Raises UsageError if workers run that can't be paused from here."""
    with workers_paused(settings.home):
        # The broker removes a stopped worker with a fixed name after its session timeout, also after its own restart.
        end = time.monotonic() + _SESSIONS * settings.runtime.session_timeout_seconds
        own = {stage.group for stage in in_regions(STAGES, settings.crawl.regions)}
        while running := sorted(own & active_groups(settings)):
            if time.monotonic() > end:
                raise UsageError(
                    f"workers run ({', '.join(running)}): stop them first (on a cluster: scale the stages to 0)"
                )
            time.sleep(_LOOK_SECONDS)
        yield
