"""One of the owner's text files: read whole within a bound, or refused with the reason and the remedy."""

from __future__ import annotations

import stat
from pathlib import Path

MOST_BYTES = 1_000_000
"""The longest text that is read: more than the context window of most models holds."""


def read_text_file(path: Path) -> str:
    """Return the text. Raise ValueError with what is wrong, and what to do, as the end of a sentence."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ValueError("a folder stands in its place: put the file back")
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would wait for ever
            raise ValueError("it is no ordinary file: put one in its place")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ValueError("it is not there: put it back") from None
    except PermissionError:
        raise ValueError("this user may not read it: give it the right to (chmod u+r)") from None
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror}): put it back") from error
    return _decoded(data)


def _decoded(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} bytes: shorten it")
    if b"\0" in data:
        raise ValueError("it is binary, or not in UTF-8: save it as a text in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 from byte {error.start + 1} on: save it as UTF-8") from None
