"""Calls that several tasks wait for together, each behind `asyncio.shield`: a cancelled task does not end the call."""

import asyncio
from typing import Any


def read_failure(call: asyncio.Future[Any]) -> None:
    """Read the failure of a call that has ended, if there is one.

    All tasks that waited may be cancelled, and asyncio warns of failures that nobody has read. For `add_done_callback`.
    """
    if not call.cancelled():
        call.exception()
