"""The error tree. A failure's type decides if it is tried again.

    RiffleError
    ├── TransientError        try again later: a store is slow, a connection was cut
    │   ├── StoreUnavailable
    │   │   ├── KafkaAway
    │   │   └── RestoreUnfinished
    │   ├── DeadlineExceeded
    │   ├── SandboxAway
    │   ├── ThreadEnded
    │   ├── EventOverdue
    │   ├── EventEarly
    │   ├── NotHeard
    │   └── SearchUnavailable
    ├── PageErased            the event's page was removed on request, with the blobs that the event refers to
    ├── PoisonError           don't try again: the event itself has a fault
    │   ├── MissingBlob
    │   ├── RecordTooLarge
    │   └── Refused           the content breaks a limit or rule, which the error names
    ├── NotDelivered          Kafka did not take a record: the worker ends, and the event is delivered again
    └── UsageError            an argument, setting or permission is wrong; the message has advice
        ├── StartError        a server of the local stack didn't start
        └── InvalidQuery      a search request can't be answered as it is

The runtime waits during an outage (`is_outage`), retries other TransientErrors (in place, then through the stage's
retry topic), and sends a PoisonError and any other exception to the stage's dead-letter topic. A UsageError stops a
worker. The command line prints a UsageError and exits with status 2. The gateway turns a SearchUnavailable and an
InvalidQuery into problem details.
"""

import errno
from typing import Literal

SHORTAGES = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOSPC, errno.EDQUOT}
)
"""Error numbers of a machine that is short of processes, memory, files or space."""
QueryFault = Literal["invalid-parameter", "query-empty", "query-not-text", "query-too-long"]
"""The stable name of a failure that the request itself causes."""


class RiffleError(Exception):
    """Base class of all expected failures."""


class TransientError(RiffleError):
    """A failure that may pass."""


class StoreUnavailable(TransientError):
    """A store or model server didn't answer. The message names the server, its address and the cause."""


class KafkaAway(StoreUnavailable):
    """Kafka didn't answer. The message has advice."""


class RestoreUnfinished(StoreUnavailable):
    """A restore of the installation runs, or has failed: parts of what it held are missing. The message has advice."""


class DeadlineExceeded(TransientError):
    """The answer didn't arrive in time."""


class SandboxAway(TransientError):
    """The machine has no process, memory or thread for a sandbox process. No payload is to blame."""


class ThreadEnded(TransientError):
    """A thread that the stage needs has ended, or the machine has none for it. No event is to blame."""


class EventOverdue(TransientError):
    """An event was not handled within its deadline."""


class EventEarly(TransientError):
    """An event's times are later than this machine's, by more than clocks may differ."""


class NotHeard(TransientError):
    """The receiver of a webhook did not take an event. It is tried again later, and not at once."""


class SearchUnavailable(TransientError):
    """The index does not answer, or neither meaning nor words can be searched. The message says which."""


class PoisonError(RiffleError):
    """Handling this event fails each time, because of a fault of the event."""


class MissingBlob(PoisonError):
    """The blob of a reference doesn't exist."""


class PageErased(RiffleError):
    """A blob is missing because its page was removed on request. The event that refers to it has no effect."""


class RecordTooLarge(PoisonError):
    """Kafka doesn't accept a record of this size."""


class NotDelivered(RiffleError):
    """Kafka did not take a record that a stage sent. Its cause is the client's error."""


class Refused(PoisonError):
    """Content that breaks a limit or rule. `rule` names it, for the ledger."""

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(f"{rule}: {detail}" if detail else rule)
        self.rule = rule
        self.detail = detail


class UsageError(RiffleError):
    """An argument, setting or permission is wrong. The message has advice."""


class StartError(UsageError):
    """A server of the local stack didn't start. The message names it, has advice, and quotes its log."""


class InvalidQuery(UsageError):
    """The request can't be answered until the parameter at fault is changed."""

    def __init__(self, kind: QueryFault, title: str, detail: str, hint: str = "", parameter: str = "q") -> None:
        super().__init__(detail)
        self.kind: QueryFault = kind
        self.title = title
        self.detail = detail
        self.hint = hint
        """Advice: the change to make."""
        self.parameter = parameter


def invalid_parameter(parameter: str, detail: str, hint: str = "") -> InvalidQuery:
    return InvalidQuery("invalid-parameter", "A parameter is not valid", detail, hint, parameter)


def is_outage(error: Exception) -> bool:
    """Return whether a means of the stage is away: a store, its sandbox or thread, or memory, files or space.

    No event is to blame for an outage.
    """
    if isinstance(error, StoreUnavailable | DeadlineExceeded | SandboxAway | ThreadEnded | MemoryError):
        return True
    return isinstance(error, OSError) and error.errno in SHORTAGES
