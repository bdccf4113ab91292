"""Keys that Riffle makes itself, in files that only this user may read."""

import os
import secrets
from pathlib import Path
from uuid import uuid4

from streams.secret_files import current_secret

KEY_BYTES = 32


def own_secret(file: Path) -> str:
    """Return the random key in a file that only this user may read. The first call makes it; it stays the same from
    then on, also if two processes call at the same moment."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{uuid4().hex}")
        draft.touch(mode=0o600)
        try:
            draft.write_text(secrets.token_urlsafe(KEY_BYTES), encoding="ascii")
            os.link(draft, file)
        except FileExistsError:
            pass  # another process was first
        finally:
            draft.unlink()
    return current_secret(file)
