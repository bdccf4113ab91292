"""References of blobs in stored rows and events."""

import re

_REF = re.compile(rb"[0-9a-f]{64}")


def references_in(packed: bytes) -> list[bytes]:
    """Return the references in a packed row or in the JSON of an event, whatever its fields are.

    References are found by their form, so that a row of another release keeps its blobs, too. A content hash has the
    same form, and does no harm as a reference.
    """
    return [bytes.fromhex(found.decode()) for found in _REF.findall(packed)]
