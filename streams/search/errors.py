"""The failures that end a search. Their place in the error tree is in `streams.errors`.

The gateway turns them into problem details. The command line prints their message.
"""

from typing import Literal

from streams.errors import TransientError, UsageError

QueryFault = Literal["invalid-parameter", "query-empty", "query-not-text", "query-too-long"]
"""The stable name of a failure that the request itself causes."""


class SearchUnavailable(TransientError):
    """The index does not answer, or neither meaning nor words can be searched. The message says which."""


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
