"""A name that can't exist on a host, to learn what the host sends for it: a soft 404 has the status 200. Pure."""

from hashlib import blake2b

_LETTERS = "bcdfghjklmnpqrst"


def missing_path(host: str) -> str:
    """Return a path of 24 consonants, always the same for a host. It has no word that a page may have."""
    digest = blake2b(host.encode(), digest_size=12, person=b"riffle soft 404").hexdigest()
    return "/" + "".join(_LETTERS[int(digit, 16)] for digit in digest)
