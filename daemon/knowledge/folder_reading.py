"""One file of the owner's folders, by the path under which a search shows it: whole, or why it is not read.

It is opened from folder to folder, and no link is followed: nothing outside is ever read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from daemon.errors import FileUnavailable
from daemon.knowledge.folder_files import OPEN
from daemon.private import TOKEN

MOST_WHOLE = 50_000_000
"""Bytes of the largest file that is read whole: as many as of one that somebody shares."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

ABSENT = "{path}: the owner's folders hold no such file.{meant}"
HIDDEN = "{path}: a name in it begins with a dot, and hidden files are not read."
LINK = "{path} is a link, or lies behind one, and links are not followed: name the file that it leads to."
IS_FOLDER = "{path} is a folder: name a file in it."
NO_FILE = "{path} is a device, a pipe or a socket, and no file."
LOCKED = "{path} is there, but the daemon may not open it ({why}): whoever owns it has to let it."
BROKEN = "{path} is there, but cannot be read now ({why})."
TOO_LARGE = "{path} has {size:,} bytes, and files of more than {most} MB are not read: split it."


def read_library_file(top: Path, path: str, most: int = MOST_WHOLE) -> bytes:
    """All bytes of a file; its `path` begins with the name under which the folder `top` is shown.

    Raises FileNotFoundError where there is none, and FileRefused with a sentence that says why it is not had.
    """
    *folders, name = _path_names(path)
    at = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            if not stat.S_ISDIR(_file_mode(path, at, folder)):
                raise FileNotFoundError(path)
            below = os.open(folder, FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return read_whole_file(path, at, name, most)
    except PermissionError as error:
        raise FileUnavailable(_refusal(path, error)) from error
    finally:
        os.close(at)


def read_whole_file(path: str, folder: int, name: str, most: int = MOST_WHOLE) -> bytes:
    """All bytes of the file of this name in an open folder. Raises as `content` does."""
    kind = _file_mode(path, folder, name)
    if stat.S_ISDIR(kind):
        raise FileUnavailable(IS_FOLDER.format(path=path))
    if not stat.S_ISREG(kind):
        raise FileUnavailable(NO_FILE.format(path=path))
    try:
        with os.fdopen(os.open(name, OPEN, dir_fd=folder), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(most + 1) if size <= most else b""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileUnavailable(_refusal(path, error)) from error
    size = max(size, len(data))
    if size > most:
        raise FileUnavailable(TOO_LARGE.format(path=path, size=size, most=most // 1_000_000))
    return data


def _path_names(path: str) -> Sequence[str]:
    """The folders, and the file, that a path names below the first. Raises as `content` does."""
    names = path.split("/")[1:]
    if not names or "\0" in path or any(name in ("", ".", "..") for name in names):
        raise FileNotFoundError(path)
    if any(name.startswith(".") for name in names):
        raise FileUnavailable(HIDDEN.format(path=path))
    if names[-1].startswith(TOKEN):
        raise FileNotFoundError(path)
    return names


def _refusal(path: str, error: OSError) -> str:
    """Say why a file that is there cannot be read."""
    words = LOCKED if isinstance(error, PermissionError) else BROKEN
    return words.format(path=path, why=error.strerror or type(error).__name__)


def _file_mode(path: str, folder: int, name: str) -> int:
    """The mode of what has this name there. Raises FileRefused for a link, OSError where there is nothing."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except PermissionError:
        raise
    except OSError:  # also of a name that is too long to be one
        raise FileNotFoundError(path) from None
    if stat.S_ISLNK(mode):
        raise FileUnavailable(LINK.format(path=path))
    return mode
