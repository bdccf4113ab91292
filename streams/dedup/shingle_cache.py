"""The shingles of documents that were compared a short time ago. Representatives are compared again and again."""

from collections import OrderedDict

from streams.sketches.features import Hashes

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of all shingles in the cache. A page of a thousand words takes 8 KB, one of a million words 8 MB."""


class ShingleCache:
    """Shingles by the reference of their document, which never changes. The least recently used are dropped first.

    The cache's size is counted in bytes and not in documents: pages may be as large as their author likes.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._shingles: OrderedDict[str, Hashes] = OrderedDict()
        self.bytes = 0

    def get(self, document_ref: str) -> Hashes | None:
        """Return the shingles of a document, or None if they are not in the cache."""
        if document_ref in self._shingles:
            self._shingles.move_to_end(document_ref)
        return self._shingles.get(document_ref)

    def put(self, document_ref: str, shingles: Hashes) -> None:
        """Keep the shingles of a document. Shingles larger than the whole cache are not kept."""
        former = self._shingles.pop(document_ref, None)
        self.bytes -= 0 if former is None else former.nbytes
        if shingles.nbytes > self._max_bytes:
            return
        self._shingles[document_ref] = shingles
        self.bytes += shingles.nbytes
        while self.bytes > self._max_bytes:
            _, dropped = self._shingles.popitem(last=False)
            self.bytes -= dropped.nbytes
