"""The owner's folders as a library: full text over their text files, kept up to date. The Library port.

What is too large to be searched, or no text, is known by its name, and can be read whole.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self, TypeVar

from daemon.errors import FileUnavailable
from daemon.knowledge.folder_files import FolderFile, walk_files
from daemon.knowledge.folder_reading import ABSENT, read_library_file, read_whole_file
from daemon.knowledge.index import TOKENS, as_indexed, from_indexed, fts_query
from daemon.knowledge.passages import format_passage, split_lines, split_passages
from daemon.printable import escaped_line

MOST_FILES = 20_000
MOST_TEXT = 50_000_000
"""Bytes of all files together that are searched; what is beyond is not."""
ALIKE = 5
"""Paths that are named where one is none."""
MEANT = " Is it one of these: {paths}?"
HITS = 6
"""Passages that a search comes to, at the most."""
MOST_LETTERS = 8_000
"""Letters of all of them together; one passage is always shown."""
SHORT = 120
"""Letters of what is shown again where it stands in another file, too."""
COPY = "{path}:{line}: … (the same as {first})"
MOST_LOOKED_AT = 200
"""Passages of which the first new ones are shown."""

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
"""The name of a path that we may not open."""
BEYOND = "{path} and all after it (the folders hold more than can be searched)"
WORD = re.compile(r"\w{3,}")

Found = TypeVar("Found")

log = logging.getLogger(__name__)


class FolderLibrary:
    """Searches folders, by words; a context manager. They are read at once, and what changed since before
    each search."""

    def __init__(self, folders: Sequence[Path], most_files: int = MOST_FILES, most: int = MOST_TEXT) -> None:
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        """Used in its one thread alone."""
        self.database.executescript(SCHEMA)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        self.closing = threading.Event()
        """Set when what is being read had better end."""
        self._folders = _named_folders(folders)
        self._most_files = most_files
        self._most = most
        self._left_out = ""
        """The first file that is beyond what can be searched."""
        self._closed = ""
        """The fault of all in the folders that could not be opened when they were looked through last."""
        self._told = set[str]()
        """The faults that were found last: the log has them already."""

    def __enter__(self) -> Self:
        self._thread.submit(self._do, self._refresh)  # what goes wrong is for whoever asks next
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._thread.shutdown(cancel_futures=True)
        self.database.close()

    async def search(self, query: str, is_new: Callable[[str], bool] = bool) -> str:
        """The passages that fit best and are new, each line as `path:line: text`; empty if there are none.

        `is_new` is asked of one after the other, of two searches at once, too.
        """
        return await self.run_in_transaction(partial(self._search, fts_query(query), is_new))

    async def unsearched(self, query: str) -> Sequence[str]:
        """Paths of files of which a search sees nothing but the name: those that a word of the query names,
        or all where it is empty."""
        return await self.run_in_transaction(partial(self._unsearched, query))

    async def load(self, path: str) -> bytes:
        """All of the file that a search names so, or that alone ends so. Raises FileRefused: why not."""
        return await asyncio.to_thread(self._load, path)

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """So many lines of the file that a search names so, from this one on; none: it has no such lines."""
        return await self.run_in_transaction(partial(self._read, path, first, most))

    async def run_in_transaction(self, do: Callable[[], Found]) -> Found:
        """What this comes to, in a transaction of its own. Whoever waits for it may give up; it goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, do)

    def find_faults(self) -> Sequence[str]:
        """Return a sentence for each folder that cannot be read now, and one for what in the folders could
        not be opened when they were looked through last. One that is new is logged.
        """
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
            with suppress(FileNotFoundError):  # it may be shown under another name than it has
                return read_library_file(self._folders[called], path)
        ending: list[str] = []
        for file in self._refresh_forever():
            if file.path == path:
                return read_whole_file(path, file.folder, file.name)
            if file.path.endswith(f"/{path}"):
                ending.append(file.path)
        if len(ending) == 1:
            return self._load(ending[0])
        raise FileUnavailable(ABSENT.format(path=path, meant=self._suggest_paths(path, ending)))

    def _suggest_paths(self, path: str, ending: Sequence[str]) -> str:
        """Suggest what may have been meant by a path that is none; empty where nothing is alike."""
        alike = ending or get_close_matches(path, [file.path for file in self._refresh_forever()], ALIKE)
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

    def _refresh_forever(self) -> Iterator[FolderFile]:
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
                if not is_new(passage):  # asked, or the next search would show this copy whole
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
        """Take what changed since, and let go what is no longer there."""
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
        self.find_faults()  # for the log, where nobody asks for the health

    def _files(self) -> Iterator[FolderFile]:
        size = 0
        for number, file in enumerate(self._refresh_forever(), 1):
            if not (file.is_large or file.closed):
                size += file.size
            if number > self._most_files or size > self._most:
                if not self._left_out:
                    log.warning("KNOWLEDGE_DIRS hold too much: nothing is found from %s on.", file.path)
                self._left_out = file.path
                return
            yield file
        self._left_out = ""


def _unreadable(called: str, folder: Path) -> str:
    """Return the fault of this folder; empty where it can be read."""
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
    if not os.access(folder, os.X_OK, effective_ids=True):  # its names can be read, and nothing else
        return os.strerror(errno.EACCES)
    return ""


def _closed_fault(closed: Sequence[tuple[str, str]]) -> str:
    """Return the fault of these paths, each with why it cannot be opened; empty where there are none."""
    if not closed:
        return ""
    path, why = closed[0]
    more = f", and {len(closed) - 1} more" if len(closed) > 1 else ""
    return (
        f"KNOWLEDGE_DIRS: {escaped_line(path)} cannot be opened ({why}){more}: nothing is found there. "
        "Let this user read it."
    )


def _named_folders(folders: Sequence[Path]) -> dict[str, Path]:
    """The folders by the name under which each is shown; a name that is there twice gets a number."""
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
