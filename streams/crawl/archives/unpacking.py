"""Unpacks archives: gzip members, zstd frames, or bytes as they are, in bounded memory. Pure: it opens no file.

Writers pack each record of an archive by itself, so that a reader can begin at any of them. `place_of` says where in
the file. A `.warc.zst` file may begin with a dictionary that all of its frames need (a skippable frame, packed or not:
https://iipc.github.io/warc-specifications/specifications/warc-zstd/).
"""

import io
import zlib
from collections import deque
from typing import BinaryIO, Protocol

from backports import zstd

BLOCK_BYTES = 64 * 1024
MAX_DICTIONARY_BYTES = 16 * 1024 * 1024
WINDOW_LOG = 27
"""Maximum window, as a power of two: 128 MiB, the largest that the program `zstd` unpacks without being asked to."""
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_SKIPPABLE = b"\x2a\x4d\x18"
"""The last three bytes of the magic number of a skippable frame."""
_ADVICE = "Unpack it first: zstd -d"


class DamagedArchive(ValueError):
    """The packed bytes end early or are damaged."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Unpacked:
    """The unpacked bytes of a file, from its place now on."""

    def __init__(self, file: BinaryIO, dictionary: zstd.ZstdDict | None = None) -> None:
        self._file, self._dictionary = file, dictionary
        self._start = file.tell()
        magic = file.read(4)
        file.seek(self._start)
        self.is_zstd = magic == ZSTD_MAGIC or magic[1:] == _SKIPPABLE
        self._is_packed = self.is_zstd or magic.startswith(GZIP_MAGIC)
        if magic == _DICTIONARY_MAGIC:
            self._dictionary = _read_dictionary(file)
        self._input = b""
        self._unpacker: _Unpacker | None = None
        self._position = 0
        self._places: deque[tuple[int, int]] = deque()
        """Positions of members in the unpacked bytes, and their places in the file."""

    def read1(self, size: int) -> bytes:
        """Read at most `size` bytes; b"" at the end. Raises DamagedArchive, behind all bytes before the damage."""
        piece = self._unpack(size) if self._is_packed else self._file.read(size)
        self._position += len(piece)
        return piece

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer at the end."""
        pieces = []
        while size > 0 and (piece := self.read1(min(size, BLOCK_BYTES))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def place_of(self, position: int) -> int | None:
        """Return the place in the file from which the bytes from a position on can be read; None if there is none.

        It is asked for positions that rise.
        """
        if not self._is_packed:
            return self._start + position
        while self._places and self._places[0][0] < position:
            self._places.popleft()
        return self._places[0][1] if self._places and self._places[0][0] == position else None

    def at(self, place: int) -> "Unpacked":
        """Return the bytes from a place on. The file is moved: move it back before reading on here."""
        self._file.seek(place)
        return Unpacked(self._file, self._dictionary)

    def _unpack(self, size: int) -> bytes:
        while True:
            unpacker = self._unpacker or self._begin_member()
            if unpacker is None:
                return b""
            piece = self._step(unpacker, size)
            if unpacker.eof:
                self._input, self._unpacker = unpacker.unused_data, None
            if piece:
                return piece

    def _begin_member(self) -> _Unpacker | None:
        """Begin the next member or frame. Return None at the end of the file."""
        # Zeros behind the last member are padding, as of tapes.
        self._input = self._input.lstrip(b"\0") or self._file.read(BLOCK_BYTES).lstrip(b"\0")
        while len(self._input) < 4 and (more := self._file.read(BLOCK_BYTES)):
            self._input += more
        if not self._input:
            return None
        if self.is_zstd:
            self._unpacker = zstd.ZstdDecompressor(
                zstd_dict=self._dictionary, options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
            )
        elif self._input.startswith(GZIP_MAGIC):
            self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        else:
            raise DamagedArchive("there are other bytes behind a gzip member")
        if self._places and self._places[-1][0] == self._position:  # the member before was empty
            self._places.pop()
        self._places.append((self._position, self._file.tell() - len(self._input)))
        return self._unpacker

    def _step(self, unpacker: _Unpacker, size: int) -> bytes:
        """Unpack some more. Raises DamagedArchive."""
        is_fed = bool(self._input) or not getattr(unpacker, "needs_input", True)
        data = self._input if is_fed else self._file.read(BLOCK_BYTES)
        try:
            piece = unpacker.decompress(data, size)
            self._input = getattr(unpacker, "unconsumed_tail", b"")  # only zlib gives it back
        except (zlib.error, zstd.ZstdError) as error:
            raise DamagedArchive(f"the packed data is damaged ({error})") from error
        if not piece and not data and not is_fed and not unpacker.eof:
            raise DamagedArchive("the packed data ends early")
        return piece


def _read_dictionary(file: BinaryIO) -> zstd.ZstdDict:
    """Read the dictionary in the first frame. Raises DamagedArchive."""
    head = file.read(8)
    length = int.from_bytes(head[4:], "little")
    if length > MAX_DICTIONARY_BYTES:
        raise DamagedArchive(f"its dictionary has {length:,} bytes. {_ADVICE}")
    content = file.read(length)
    try:
        if content.startswith(ZSTD_MAGIC):
            content = Unpacked(io.BytesIO(content)).read(MAX_DICTIONARY_BYTES + 1)
        if len(content) > MAX_DICTIONARY_BYTES:
            raise DamagedArchive(f"its dictionary is larger than {MAX_DICTIONARY_BYTES:,} bytes. {_ADVICE}")
        return zstd.ZstdDict(content)
    except ValueError as error:
        raise DamagedArchive(f"its dictionary is damaged ({error}). {_ADVICE}") from error
