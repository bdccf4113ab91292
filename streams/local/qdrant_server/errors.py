"""The errors of a request, with the messages and status codes of Qdrant."""


class ApiError(Exception):
    """An error that is answered as `{"status": {"error": ...}}` with this status code."""

    status = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequest(ApiError):
    status = 400


class Forbidden(ApiError):
    status = 403


class NotFound(ApiError):
    status = 404


class Conflict(ApiError):
    status = 409


def no_collection(name: str) -> NotFound:
    return NotFound(f"Not found: Collection `{name}` doesn't exist!")


def from_engine(error: Exception) -> ApiError:
    """Return the API's error for one of the engine: 500 for a fault of the engine, else a mistake of the caller."""
    message = str(error)
    if message.startswith(("Service", "IO error", "Out of memory", "RocksDB", "Cancelled")):
        return ApiError(f"Service internal error: {message}")
    return BadRequest(f"Wrong input: {message}")
