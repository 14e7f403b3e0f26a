"""The owner's folders as a library: full-text search of text files, and reading of whole files.

Large and binary files are found by name only. Files are opened relative to their folder, never through links,
so that nothing outside is read. Passages are whole paragraphs; a long one is cut after a line or sentence.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from io import StringIO
from itertools import islice
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self, TypeVar

from daemon.errors import FileUnavailable, escaped_line
from daemon.knowledge.search import TOKENS, as_indexed, from_indexed, fts_query
from daemon.settings.home import TOKEN

JOINED = 800


HEADING = 120
"""Most letters of a heading, which is always joined with the next paragraph."""


LONGEST, MOST_LINES = 1_600, 30
"""Most letters, and most lines, of a passage."""


CUT = "\x1e"
"""Mark of a cut, as a line or within one; no line of a file contains this character."""


MARK = "…"


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


ENDS = (r"(?<=[.!?…])\s|(?<=[\u3002\uff01\uff1f])", r"\s")
"""Places to cut a line: after a sentence, else after a word."""


def split_lines(text: str) -> Iterator[str]:
    for line in StringIO(text, newline="\n"):
        if line.endswith("\r\n"):
            line = line[:-2]
        yield CONTROL.sub(" ", line.removesuffix("\n"))


def split_passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield passages with the number of their first line; CUT marks cuts."""
    lines = [*split_lines(text)]
    start = end = 0
    for first, last in _paragraphs(lines):
        before = _letters(lines[start:end])
        joined = before + _letters(lines[first:last])
        if before > HEADING and (joined > JOINED or last - start > MOST_LINES):
            yield from _split_long(lines, start, end)
            start = first
        elif not before:
            start = first
        end = last
    if end > start:
        yield from _split_long(lines, start, end)


def format_passage(path: str, line: int, passage: str) -> str:
    told = []
    for words in passage.split("\n"):
        if words == CUT:
            told.append(MARK)
            continue
        if words.strip():
            told.append(f"{path}:{line}: {words.replace(CUT, MARK).rstrip()}")
        line += 1
    return "\n".join(told)


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or not lines[end].strip() or not lines[start].strip():
            if lines[start].strip():
                yield start, end
            start = end


def _letters(lines: Sequence[str]) -> int:
    return sum(map(len, lines))


def _split_long(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    piece: list[str] = []
    first = start
    for at in range(start, end):
        parts = _split_line(lines[at])
        is_full = _letters(piece) + len(parts[0]) > LONGEST or len(piece) >= MOST_LINES
        if piece and (is_full or len(parts) > 1):
            yield first + 1, "\n".join([*piece, CUT])
            piece, first = [CUT], at
        for part in parts[:-1]:
            yield at + 1, "\n".join([*piece, part])
            piece, first = [], at
        piece.append(parts[-1])
    if piece:
        yield first + 1, "\n".join(piece)


def _split_line(line: str) -> list[str]:
    parts: list[str] = []
    begun = ""
    while len(line) > LONGEST:
        end = _line_break(line)
        parts.append(f"{begun}{line[:end].rstrip()} {CUT}")
        line, begun = line[end:].lstrip(), f"{CUT} "
    return [*parts, begun + line]


def _line_break(line: str) -> int:
    half = LONGEST // 2
    for break_ in ENDS:
        ends = [half + found.start() for found in re.finditer(break_, line[half:LONGEST])]
        if ends:
            return ends[-1]
    return LONGEST


MOST_BYTES = 1_000_000
"""Bytes of the largest file that is searched."""


PDF = b"%PDF-"


OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags that neither follow links nor block on pipes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """A file found by `walk_files`, readable until the next one is asked for; `stamp` changes when the file
    does.

    `closed`: the reason why the file, or a folder in its place, cannot be opened; empty if it can.
    """

    path: str
    size: int
    stamp: str
    name: str
    folder: int
    closed: str = ""

    @property
    def is_large(self) -> bool:
        return self.size > MOST_BYTES

    def text(self) -> str:
        if self.is_large or self.closed:
            return ""
        try:
            with os.fdopen(os.open(self.name, OPEN, dir_fd=self.folder), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return ""
                data = file.read(MOST_BYTES + 1)
        except OSError:
            return ""
        if b"\0" in data or data.startswith(PDF) or len(data) > MOST_BYTES:
            return ""
        return data.decode("utf-8-sig", errors="replace")


def walk_files(top: Path, called: str) -> Iterator[FolderFile]:
    """Yield the files below `top` in order, except hidden files, links and the console's token.

    Paths begin with `called`. An unreadable folder yields one closed entry; an unreadable `top`, none.
    """
    with suppress(OSError):
        for folder, inner, names, descriptor in os.fwalk(top):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            below = Path(called, Path(folder).relative_to(top))
            for name in sorted(names):
                found = _file(below, name, descriptor)
                if found:
                    yield found
            for name in inner:
                closed = _closed_folder(below, name, descriptor)
                if closed:
                    yield closed


def _file(below: Path, name: str, folder: int) -> FolderFile | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # deleted meanwhile
        return None
    if name.startswith((".", TOKEN)) or not stat.S_ISREG(found.st_mode):
        return None
    closed = _why_closed(name, folder, os.R_OK)
    stamp = f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{closed}"
    return FolderFile(
        path=_printable_path(below / name),
        size=found.st_size,
        stamp=stamp,
        name=name,
        folder=folder,
        closed=closed,
    )


def _closed_folder(below: Path, name: str, folder: int) -> FolderFile | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:  # deleted meanwhile
        return None
    closed = _why_closed(name, folder, os.R_OK | os.X_OK)
    if not closed or not stat.S_ISDIR(mode):
        return None
    path = f"{_printable_path(below / name)}/"
    return FolderFile(path=path, size=0, stamp=closed, name=name, folder=folder, closed=closed)


def _why_closed(name: str, folder: int, mode: int) -> str:
    if os.access(name, mode, dir_fd=folder, effective_ids=True):
        return ""
    return os.strerror(errno.EACCES)


def _printable_path(path: Path) -> str:
    text = str(path).encode(errors="replace").decode()
    for letter in text:
        if not letter.isprintable():
            text = text.replace(letter, "?")
    return text


MOST_NAMED_FILES = 20


MOST_WHOLE = 50_000_000
"""Bytes of the largest file that is read whole; shared files have the same limit."""


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
    """Read a file; `path` begins with the name of the folder `top`.

    Raises FileNotFoundError, or FileUnavailable with a sentence for people.
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
    """Read a file in an open folder. Raises as `read_library_file` does."""
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
    names = path.split("/")[1:]
    if not names or "\0" in path or any(name in ("", ".", "..") for name in names):
        raise FileNotFoundError(path)
    if any(name.startswith(".") for name in names):
        raise FileUnavailable(HIDDEN.format(path=path))
    if names[-1].startswith(TOKEN):
        raise FileNotFoundError(path)
    return names


def _refusal(path: str, error: OSError) -> str:
    words = LOCKED if isinstance(error, PermissionError) else BROKEN
    return words.format(path=path, why=error.strerror or type(error).__name__)


def _file_mode(path: str, folder: int, name: str) -> int:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except PermissionError:
        raise
    except OSError:  # also for names that are too long
        raise FileNotFoundError(path) from None
    if stat.S_ISLNK(mode):
        raise FileUnavailable(LINK.format(path=path))
    return mode


MOST_FILES = 20_000


MOST_TEXT = 50_000_000


ALIKE = 5


MEANT = " Is it one of these: {paths}?"


HITS = 6


MOST_LETTERS = 8_000
"""Most letters of a search result, except that one passage is always shown."""


SHORT = 120
"""Letters above which a repeated passage is only referred to."""


COPY = "{path}:{line}: … (the same as {first})"


MOST_LOOKED_AT = 200


SCHEMA = f"""
create table file (path text primary key, stamp text, first integer, last integer, closed text);
create virtual table passage using fts5 (path, text, line unindexed, {TOKENS});
"""


FIND = """
select path, line, text from passage where passage match ?
order by bm25(passage, 0.5, 1.0), path, line limit ?
"""


LAST = "select rowid from passage order by rowid desc limit 1"


UNSEARCHED = "select path, closed from file where last is null order by path"


CLOSED = "select path, closed from file where closed <> '' order by path"


MAY_NOT = "{path} (it cannot be opened: {why})"


BEYOND = "{path} and all after it (the folders hold more than can be searched)"


WORD = re.compile(r"\w{3,}")


Found = TypeVar("Found")


log = logging.getLogger(__name__)


class FolderLibrary:
    """Full-text search over folders; the index is updated before each search. A context manager."""

    def __init__(self, folders: Sequence[Path], most_files: int = MOST_FILES, most: int = MOST_TEXT) -> None:
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        """Used only in the worker thread."""
        self.database.executescript(SCHEMA)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        self.closing = threading.Event()
        self._folders = _named_folders(folders)
        self._most_files = most_files
        self._most = most
        self._left_out = ""
        self._closed = ""
        self._told = set[str]()

    def __enter__(self) -> Self:
        self._thread.submit(self._do, self._refresh)  # errors are raised by the next call
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._thread.shutdown(cancel_futures=True)
        self.database.close()

    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        """Return the best new passages as lines `path:line: text`; empty if there are none.

        `is_new` is called for one passage at a time, even in concurrent searches.
        """
        return await self.run_in_transaction(partial(self._search, fts_query(query), is_new))

    async def unsearched(self, query: str) -> Sequence[str]:
        """Return unsearchable files with a word of the query in their path; all for an empty query."""
        return await self.run_in_transaction(partial(self._unsearched, query))

    async def load(self, path: str) -> bytes:
        """Read a file by its path, or a unique end of its path. Raises FileUnavailable."""
        return await asyncio.to_thread(self._load, path)

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """Return up to `most` lines of a file, from line `first` on; empty if unreadable."""
        return await self.run_in_transaction(partial(self._read, path, first, most))

    async def run_in_transaction(self, do: Callable[[], Found]) -> Found:
        """Run a function in the worker thread, in a transaction; a cancelled caller does not stop it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, do)

    def find_faults(self) -> Sequence[str]:
        """Return a sentence for each unreadable folder, and one for unreadable files; log new sentences."""
        found = [_unreadable(called, folder) for called, folder in self._folders.items()]
        faults = [sentence for sentence in (*found, self._closed) if sentence]
        for sentence in faults:
            if sentence not in self._told:
                log.warning("%s", sentence)
        self._told = set(faults)
        return faults

    def _do(self, do: Callable[[], Found]) -> Found:
        with self.database:
            return do()

    def _read(self, path: str, first: int, most: int) -> Sequence[str]:
        try:
            data = self._load(path)
        except FileUnavailable:
            return ()
        if b"\0" in data:
            return ()
        return [*islice(split_lines(data.decode("utf-8-sig", errors="replace")), first - 1, first - 1 + most)]

    def _load(self, path: str) -> bytes:
        called, _, _ = path.partition("/")
        if called in self._folders:
            with suppress(FileNotFoundError):  # characters may be replaced in a shown path
                return read_library_file(self._folders[called], path)
        ending: list[str] = []
        for file in self._walk_folders():
            if file.path == path:
                return read_whole_file(path, file.folder, file.name)
            if file.path.endswith(f"/{path}"):
                ending.append(file.path)
        if len(ending) == 1:
            return self._load(ending[0])
        raise FileUnavailable(ABSENT.format(path=path, meant=self._suggest_paths(path, ending)))

    def _suggest_paths(self, path: str, ending: Sequence[str]) -> str:
        alike = ending or get_close_matches(path, [file.path for file in self._walk_folders()], ALIKE)
        if not alike:
            return ""
        return MEANT.format(paths=", ".join(alike[:ALIKE]))

    def _unsearched(self, query: str) -> Sequence[str]:
        self._refresh()
        words = WORD.findall(query.casefold())
        found = dict(self.database.execute(UNSEARCHED))
        for called, folder in self._folders.items():
            why = _why_unreadable(folder)
            if why:
                found[f"{called}/"] = why
        named = [
            MAY_NOT.format(path=path, why=closed) if closed else path
            for path, closed in found.items()
            if not query or any(word in path.casefold() for word in words)
        ]
        if self._left_out and not query:
            named.append(BEYOND.format(path=self._left_out))
        return named

    def _walk_folders(self) -> Iterator[FolderFile]:
        for called, folder in self._folders.items():
            yield from walk_files(folder, called)

    def _search(self, asked: str, is_new: Callable[[str], bool]) -> str:
        if not asked:
            return ""
        self._refresh()
        found: list[str] = []
        places: dict[str, str] = {}
        left = MOST_LETTERS
        for path, line, text in self.database.execute(FIND, (asked, MOST_LOOKED_AT)).fetchall():
            passage = format_passage(path, line, from_indexed(text))
            if text in places and len(text) > SHORT:
                if not is_new(passage):  # otherwise the next search would show this copy whole
                    continue
                passage = COPY.format(path=path, line=line, first=places[text])
            if (found and len(passage) > left) or not is_new(passage):
                continue
            places.setdefault(text, f"{path}:{line}")
            found.append(passage)
            left -= len(passage)
            if len(found) == HITS:
                break
        return "\n\n".join(found)

    def _refresh(self) -> None:
        gone = dict(self.database.execute("select path, stamp from file"))
        for file in self._files():
            if self.closing.is_set():
                return
            if gone.pop(file.path, None) != file.stamp:
                _remove_from_index(self.database, file.path)
                _add_to_index(self.database, file)
        for path in gone:
            _remove_from_index(self.database, path)
        self._closed = _closed_fault(self.database.execute(CLOSED).fetchall())
        self.find_faults()  # logs new faults

    def _files(self) -> Iterator[FolderFile]:
        size = 0
        for number, file in enumerate(self._walk_folders(), 1):
            if not (file.is_large or file.closed):
                size += file.size
            if number > self._most_files or size > self._most:
                if not self._left_out:
                    log.warning(
                        "KNOWLEDGE_DIRS exceed the search limits: %s and later files are not searched.",
                        file.path,
                    )
                self._left_out = file.path
                return
            yield file
        self._left_out = ""


def _unreadable(called: str, folder: Path) -> str:
    why = _why_unreadable(folder)
    if not why:
        return ""
    return (
        f"KNOWLEDGE_DIRS: the folder {escaped_line(called)} cannot be read ({why}): nothing is found in it. "
        "Put it back, and let this user read it."
    )


def _why_unreadable(folder: Path) -> str:
    try:
        os.scandir(folder).close()
    except OSError as error:
        return error.strerror or error.__class__.__name__
    if not os.access(folder, os.X_OK, effective_ids=True):  # the folder may be listed, but not entered
        return os.strerror(errno.EACCES)
    return ""


def _closed_fault(closed: Sequence[tuple[str, str]]) -> str:
    if not closed:
        return ""
    path, why = closed[0]
    more = f", and {len(closed) - 1} more" if len(closed) > 1 else ""
    return (
        f"KNOWLEDGE_DIRS: {escaped_line(path)} cannot be opened ({why}){more}: nothing is found there. "
        "Let this user read it."
    )


def _named_folders(folders: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in dict.fromkeys(map(Path.resolve, folders)):
        name = folder.name
        number = 1
        while name in found:
            number += 1
            name = f"{folder.name}-{number}"
        found[name] = folder
    return found


def _remove_from_index(database: Connection, path: str) -> None:
    for first, last in database.execute("select first, last from file where path = ?", (path,)).fetchall():
        database.execute("delete from passage where rowid between ? and ?", (first, last))
    database.execute("delete from file where path = ?", (path,))


def _add_to_index(database: Connection, file: FolderFile) -> None:
    [last] = database.execute(LAST).fetchone() or [0]
    body = file.text()
    parts = enumerate(split_passages(body), last + 1)
    rows = [(row, file.path, as_indexed(text), line) for row, (line, text) in parts]
    database.executemany("insert into passage (rowid, path, text, line) values (?, ?, ?, ?)", rows)
    is_searched = body or not (file.size or file.closed)
    end = last + len(rows) if is_searched else None
    values = (file.path, file.stamp, last + 1, end, file.closed)
    database.execute("insert into file values (?, ?, ?, ?, ?)", values)
