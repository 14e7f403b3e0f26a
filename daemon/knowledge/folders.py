"""The owner's folders as a library: full text over their text files, kept up to date. The Library port."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Self, TypeVar

from daemon.knowledge.folder_files import File, files
from daemon.knowledge.index import TOKENS, indexed, question, shown
from daemon.printable import one_line

MOST_FILES = 20_000
MOST_TEXT = 50_000_000
"""Bytes of all files together; what is beyond is not searched."""
LINES = 8
LETTERS = 800
"""How long a passage becomes: what is found, and shown, together."""
LINE = 300
"""Letters that are shown of one line."""
HITS = 6

SCHEMA = f"""
create table file (path text primary key, stamp text, first integer, last integer);
create virtual table passage using fts5 (path, text, line unindexed, {TOKENS});
"""
FIND = """
select path, line, text from passage where passage match ?
order by bm25(passage, 0.5, 1.0), path, line limit ?
"""
LAST = "select rowid from passage order by rowid desc limit 1"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")

Found = TypeVar("Found")

log = logging.getLogger(__name__)


class Folders:
    """Searches folders, by words; a context manager. They are read at once, and what changed since before
    each search."""

    def __init__(self, folders: Sequence[Path], most_files: int = MOST_FILES, most: int = MOST_TEXT) -> None:
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        """Used in its one thread alone."""
        self.database.executescript(SCHEMA)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")
        self.closing = threading.Event()
        """Set when what is being read had better end."""
        self._folders = _called(folders)
        self._most_files = most_files
        self._most = most
        self._full = False
        self._told = set[str]()
        """What was said of the folders that cannot be read now."""

    def __enter__(self) -> Self:
        self._thread.submit(self._do, self._refresh)  # what goes wrong is for whoever asks next
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._thread.shutdown(cancel_futures=True)
        self.database.close()

    async def search(self, query: str) -> str:
        """The passages that fit best, each line as `path:line: text`; empty if there are none."""
        return await self.ask(partial(self._search, question(query)))

    async def read(self, path: str, first: int = 1, most: int = 200) -> Sequence[str]:
        """So many lines of the file that a search names so, from this one on; none: it has no such lines."""
        return await self.ask(partial(self._read, path, first, most))

    async def ask(self, do: Callable[[], Found]) -> Found:
        """What this comes to, in a transaction of its own. Whoever waits for it may give up; it goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, do)

    @property
    def wrong(self) -> Sequence[str]:
        """Which folders cannot be read now, a sentence each, said once in the log. Looks at them."""
        found = [_unreadable(called, folder) for called, folder in self._folders.items()]
        said = [sentence for sentence in found if sentence]
        for sentence in said:
            if sentence not in self._told:
                log.warning("%s", sentence)
        self._told = set(said)
        return said

    def _do(self, do: Callable[[], Found]) -> Found:
        with self.database:
            return do()

    def _read(self, path: str, first: int, most: int) -> Sequence[str]:
        for file in self._files():
            if file.path == path:
                return _lines(file.text())[first - 1 : first - 1 + most]
        return ()

    def _search(self, asked: str) -> str:
        if not asked:
            return ""
        self._refresh()
        found = self.database.execute(FIND, (asked, HITS))
        return "\n\n".join(_passage(*row) for row in found)

    def _refresh(self) -> None:
        """Take what changed since, and let go what is no longer there."""
        gone = dict(self.database.execute("select path, stamp from file"))
        for file in self._files():
            if self.closing.is_set():
                return
            if gone.pop(file.path, None) != file.stamp:
                _drop(self.database, file.path)
                _take(self.database, file)
        for path in gone:
            _drop(self.database, path)

    def _files(self) -> Iterator[File]:
        number = size = 0
        _ = self.wrong
        for called, folder in self._folders.items():
            for file in files(folder, called):
                number += 1
                size += file.size
                if number > self._most_files or size > self._most:
                    if not self._full:
                        log.warning("KNOWLEDGE_DIRS hold too much: nothing is found from %s on.", file.path)
                    self._full = True
                    return
                yield file


def _unreadable(called: str, folder: Path) -> str:
    """What is wrong with this folder; empty where it can be read."""
    try:
        os.scandir(folder).close()
    except OSError as error:
        why = error.strerror or error.__class__.__name__
        return (
            f"KNOWLEDGE_DIRS: the folder {one_line(called)} cannot be read ({why}): nothing is found in it. "
            "Put it back, and let this user read it."
        )
    return ""


def _called(folders: Sequence[Path]) -> dict[str, Path]:
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


def _drop(database: Connection, path: str) -> None:
    for first, last in database.execute("select first, last from file where path = ?", (path,)).fetchall():
        database.execute("delete from passage where rowid between ? and ?", (first, last))
    database.execute("delete from file where path = ?", (path,))


def _take(database: Connection, file: File) -> None:
    [last] = database.execute(LAST).fetchone() or [0]
    parts = enumerate(passages(file.text()), last + 1)
    rows = [(row, file.path, text, line) for row, (line, text) in parts]
    database.executemany("insert into passage (rowid, path, text, line) values (?, ?, ?, ?)", rows)
    values = (file.path, file.stamp, last + 1, last + len(rows))
    database.execute("insert into file values (?, ?, ?, ?)", values)


def _lines(text: str) -> list[str]:
    """The lines of a text, as they are counted everywhere."""
    if not text:
        return []
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [CONTROL.sub(" ", line) for line in lines]


def passages(text: str) -> Iterator[tuple[int, str]]:
    """A text in parts that are found together: the number of the first line, and the lines."""
    lines = _lines(text)
    start = 0
    for end in range(1, len(lines) + 1):
        part = "\n".join(lines[start:end])
        if end - start == LINES or len(part) >= LETTERS or end == len(lines):
            if part.strip():
                yield start + 1, indexed(part)
            start = end


def _passage(path: str, line: int, text: str) -> str:
    lines = enumerate(shown(text).split("\n"), line)
    return "\n".join(f"{path}:{number}: {words[:LINE].rstrip()}" for number, words in lines if words.strip())
