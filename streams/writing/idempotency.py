"""Requests that carry an `Idempotency-Key`: a repetition gets the first answer, and does nothing a second time.

The form follows draft-ietf-httpapi-idempotency-key-header (revision 7): the same key with another request is a fault
of the client (422), and the same key while its first request is still answered is a conflict (409).
"""

from dataclasses import dataclass, field
from hashlib import blake2b

from streams.errors import RiffleError
from streams.stores.opener import Stores
from streams.stores.rows import Row, pack_row, unpack_row

KEPT_SECONDS = 86_400
"""Time for which an answer is kept (seconds)."""
HELD_SECONDS = 60
"""Maximum time for which a request that is being answered keeps others with its key away (seconds)."""
MAX_CHARS = 255


class OtherRequest(RiffleError):
    """The key was used for another request."""


class StillAnswered(RiffleError):
    """Another request with this key is being answered."""


@dataclass(frozen=True, slots=True)
class _Kept:
    request: bytes
    """Hash of the first request."""
    answer: bytes = b""
    """Empty: it has none yet."""
    stored: Row | None = field(default=None, repr=False, compare=False)


class Repetitions:
    """The requests of all clients. The fields of `stores` may be filled, or exchanged, later."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def of(self, client: str, given: str, request: bytes, holder: str) -> "Repeatable":
        """`given`: the header. `request`: what must be the same. `holder`: a random name of this try."""
        name = blake2b(f"{client} {given}".encode(), digest_size=16).hexdigest()
        return Repeatable(self._stores, name, blake2b(request, digest_size=16).digest(), holder)


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that may be repeated. Use it as: `begin`, then `keep` or `give_up`."""

    stores: Stores
    name: str
    """The client and its key, hashed."""
    request: bytes
    holder: str

    @property
    def id(self) -> str:
        """An id that each repetition has: 12 hexadecimal digits."""
        return self.name[:12]

    async def begin(self) -> bytes | None:
        """Return the first answer, or None if there is none yet. Raises OtherRequest, StillAnswered."""
        if await self.stores.pace_holds.hold(self._shelf, self.holder, HELD_SECONDS) > 0:
            raise StillAnswered("another request with this Idempotency-Key is being answered")
        found = (await self.stores.notes.of_shelf(self._shelf)).get("")
        kept = unpack_row(_Kept, found) if found else None
        if kept and kept.request != self.request:
            await self.give_up()
            raise OtherRequest("this Idempotency-Key was used for another request")
        if kept and kept.answer:
            await self.give_up()
            return kept.answer
        await self._put(b"")
        return None

    async def keep(self, answer: bytes) -> None:
        """Keep the answer for repetitions."""
        await self._put(answer)
        await self.give_up()

    async def give_up(self) -> None:
        """Let the next request with this key begin."""
        await self.stores.pace_holds.release(self._shelf, self.holder)

    async def _put(self, answer: bytes) -> None:
        kept = pack_row(_Kept(self.request, answer))
        await self.stores.notes.put(self._shelf, "", kept, seconds=KEPT_SECONDS)

    @property
    def _shelf(self) -> str:
        return f"idempotency {self.name}"
