"""The one error tree. Whether a failure is worth another try is a type, not a string.

    RiffleError
    ├── TransientError        try again later: a store is slow, a connection was cut
    │   ├── StoreUnavailable
    │   └── DeadlineExceeded
    ├── PoisonError           never try again: this event can't be handled, whoever tries
    │   ├── MissingBlob
    │   └── Refused           the content is not let in; says which limit or rule
    └── UsageError            a person gave something that can't be done; says what to do
        └── StartError        a server of the local stack didn't start

Where they go: the runtime retries a TransientError (in place, then the stage's retry topic), and sends a PoisonError
and anything unforeseen to the stage's dead-letter topic; the command line prints a UsageError and exits with 2.
"""


class RiffleError(Exception):
    """Any failure that Riffle foresaw."""


class TransientError(RiffleError):
    """Worth another try."""


class StoreUnavailable(TransientError):
    """A store or model server didn't answer. Says which, where, and what it said."""


class DeadlineExceeded(TransientError):
    """The answer did not come in time."""


class PoisonError(RiffleError):
    """Handling this event fails, however often it is tried."""


class MissingBlob(PoisonError):
    """A reference points to nothing."""


class Refused(PoisonError):
    """Content that is not let in. `rule` names the limit or rule, for the ledger."""

    def __init__(self, rule: str, detail: str = "") -> None:
        super().__init__(f"{rule}: {detail}" if detail else rule)
        self.rule = rule
        self.detail = detail


class UsageError(RiffleError):
    """What a person asked can't be done as asked."""


class StartError(UsageError):
    """A server of the local stack didn't start. Says what, which log, and what to do."""
