"""Revisits of a WARC file: records of a visit whose content an earlier record of the file has. Pure.

A crawler that finds known content stores a `revisit` without it (WARC 1.1, section 6.7): the earlier record is named by
its id, its URL, or the digest of its payload. Only the places of earlier records are kept, and their content is read
again. What is found is believed only if it has the digest that the revisit names.
"""

from collections.abc import Mapping

import xxhash

from streams.caches import RecentCache
from streams.crawl.archives.warc import HttpResponse, WarcFile, WarcRecord, content_of, digest_matches, parse_response

MAX_PLACES = 300_000
"""Maximum number of places of earlier records that are kept, three for most records (60 MB)."""
MAX_RATIO = 200
"""Maximum size of all records that are read again, as a multiple of the size of the file.

A page of 20 KB (packed) that is found unchanged each week needs about 50.
"""
FREE_BYTES = 1 << 30
"""Size of records that are read again in each file, beside MAX_RATIO."""
SPENT = "the same content as an earlier record, but the records of this file were read again too often (revisit)"
_DIGEST = "warc-payload-digest"
_NAMES = ("warc-refers-to", "warc-refers-to-target-uri", "warc-target-uri")
"""Headers of a revisit that name the earlier record."""


class Originals:
    """The places of the responses that were read, by the digests of their payloads, their URLs and their ids."""

    def __init__(self, file: WarcFile) -> None:
        self._file = file
        self._max_bytes: int | None = None
        self._places: RecentCache[int, int] = RecentCache(MAX_PLACES)

    @property
    def is_spent(self) -> bool:
        """Return whether no more records are read again: a revisit of 300 bytes may cost 10 MB each time."""
        if self._max_bytes is None:
            self._max_bytes = FREE_BYTES + MAX_RATIO * self._file.size()
        return self._file.bytes_read_again > self._max_bytes

    def note(self, record: WarcRecord) -> None:
        """Remember a response. One that can't be read alone is not remembered."""
        if record.place is None:
            return
        for name in (_DIGEST, "warc-target-uri", "warc-record-id"):
            if value := record.headers.get(name):
                self._places.put(_key(value), record.place)

    def response_of(self, revisit: WarcRecord) -> HttpResponse | None:
        """Return the response of a revisit: its own status and headers, with the content of an earlier response.

        None if there is no such response, or it has other content.
        """
        digest = revisit.headers.get(_DIGEST, "")
        for value in (digest, *(revisit.headers.get(name) for name in _NAMES)):
            place = self._places.get(_key(value)) if value else None
            record = None if place is None else self._file.read_again(place)
            if record is None or record.block is None:
                continue
            earlier = content_of(record)
            if earlier and (not digest or _has_payload(record, earlier, digest)):
                return _joined(parse_response((revisit.block or b"") + b"\r\n\r\n"), earlier)
        return None


def _has_payload(record: WarcRecord, response: HttpResponse, digest: str) -> bool:
    """Return whether a response has a payload with this digest, by its record's own digest or by its bytes."""
    own = record.headers.get(_DIGEST)
    return own == digest or (digest_matches(digest, response.body) and own is None)


def _joined(own: HttpResponse | None, earlier: HttpResponse) -> HttpResponse:
    if own is None:
        return earlier
    codings: Mapping[str, list[str]] = {"content-encoding": earlier.headers.get("content-encoding", [])}
    headers = {**earlier.headers, **own.headers, **codings}
    return HttpResponse(own.status, headers, earlier.body, earlier.complete)


def _key(value: str) -> int:
    return xxhash.xxh3_64_intdigest(value.strip("<>").encode("utf-8", "replace"))
