"""The client of a Dask cluster, for commands whose tasks may run on many machines."""

from typing import Any

from streams.errors import UsageError


def dask_client(scheduler: str) -> Any:
    """Return a client of the scheduler at this address. Raises UsageError."""
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("a Dask scheduler needs Dask: pip install 'PATH_OF_THE_CLONE[cluster]'") from None
    try:
        return Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]  # it has types in part
    except OSError as error:
        raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None


class DaskEngine:
    """Runs tasks on the machines of a cluster (`streams.links.batch_job.Engine`)."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, function: Any, *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False)

    def gather(self, handles: Any) -> list[Any]:
        return list(self._client.gather(list(handles)))

    def share(self, value: Any) -> Any:
        return self._client.scatter(value, broadcast=True, hash=False)
