"""Files of the owner's folders with odd names or obstacles."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.errors import FileUnavailable
from daemon.knowledge.library import MOST_WHOLE, FolderLibrary, read_library_file
from daemon.slack.shared_files import MOST
from tests.attention import PATIENCE


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    return folder


@pytest.fixture
def library(docs: Path) -> Iterator[FolderLibrary]:
    with FolderLibrary([docs]) as folders:
        yield folders


async def refused(library: FolderLibrary, path: str) -> str:
    with pytest.raises(FileUnavailable) as why:
        await library.load(path)
    return str(why.value)


async def test_a_file_comes_whole_up_to_fifty_megabytes(docs: Path, library: FolderLibrary) -> None:
    assert MOST_WHOLE == MOST == 50_000_000
    (docs / "guide" / "big.txt").write_text("needle\n" * 300_000)
    os.truncate(docs / "guide" / "big.txt", MOST_WHOLE)
    assert len(await library.load("docs/guide/big.txt")) == MOST_WHOLE
    os.truncate(docs / "guide" / "big.txt", MOST_WHOLE + 1)
    assert await refused(library, "docs/guide/big.txt") == (
        "docs/guide/big.txt has 50,000,001 bytes, and files of more than 50 MB are not read: split it."
    )


async def test_a_large_file_takes_no_room_from_those_that_are_searched(docs: Path) -> None:
    (docs / "a-big.txt").write_text("x" * 1_000_001)
    (docs / "b.txt").write_text("needle")
    with FolderLibrary([docs], most=100) as library:
        assert await library.search("needle") == "docs/b.txt:1: needle"


async def test_lines_of_a_large_file_can_be_read(docs: Path, library: FolderLibrary) -> None:
    (docs / "log").write_text("".join(f"line {n}\r\n" for n in range(1, 200_001)))
    assert await library.read("docs/log", 199_999) == ["line 199999", "line 200000"]
    assert not await library.read("docs/log", 200_001)


@pytest.mark.parametrize("path", ["big.txt", "guide/big.txt"])
async def test_the_end_of_a_path_is_enough_where_one_file_has_it(
    docs: Path, library: FolderLibrary, path: str
) -> None:
    (docs / "guide" / "big.txt").write_text("needle")
    assert await library.load(path) == b"needle"


async def test_a_name_that_cannot_be_shown_is_read_as_it_is_shown(docs: Path, library: FolderLibrary) -> None:
    (docs / "a\nb").write_text("needle")
    assert await library.load("docs/a?b") == b"needle"


async def test_what_may_have_been_meant_is_named(docs: Path, library: FolderLibrary) -> None:
    for folder in ("a", "b"):
        (docs / folder).mkdir()
        (docs / folder / "notes.txt").write_text("needle")
    assert await refused(library, "docs/a/note.txt") == (
        "docs/a/note.txt: the owner's folders hold no such file."
        " Is it one of these: docs/a/notes.txt, docs/b/notes.txt?"
    )
    assert (await refused(library, "notes.txt")).endswith("docs/a/notes.txt, docs/b/notes.txt?")
    assert await refused(library, "zzz") == "zzz: the owner's folders hold no such file."


async def test_what_is_there_and_is_not_read_is_never_called_missing(
    docs: Path, library: FolderLibrary, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("needle")
    (docs / "link.txt").symlink_to(tmp_path / "secret.txt")
    (docs / "up").symlink_to("..")
    os.mkfifo(docs / "pipe")
    (docs / ".env").write_text("needle")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(docs / "socket"))
    async with asyncio.timeout(PATIENCE):
        assert "docs/link.txt is a link" in await refused(library, "docs/link.txt")
        assert "docs/up/secret.txt is a link, or lies behind one" in await refused(
            library, "docs/up/secret.txt"
        )
        assert "docs/guide is a folder" in await refused(library, "docs/guide")
        assert "docs/pipe is a device, a pipe or a socket" in await refused(library, "docs/pipe")
        assert "docs/socket is a device, a pipe or a socket" in await refused(library, "docs/socket")
        assert "hidden files are not read" in await refused(library, "docs/.env")


@pytest.mark.parametrize(
    "path",
    [
        *("docs/../secret.txt", "docs//etc/passwd", "/etc/passwd", "docs", "docs/", "", "docs/a\0b"),
        *("docs/console-token", "docs/page.txt/more", "../secret.txt", "docs/" + "x" * 300),
    ],
)
async def test_no_path_leads_outside(docs: Path, library: FolderLibrary, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("needle")
    (docs / "console-token").write_text("needle")
    (docs / "page.txt").write_text("words")
    assert "the owner's folders hold no such file" in await refused(library, path)


@contextmanager
def locked(docs: Path, closed: str, mode: int = 0) -> Iterator[None]:
    """Run as another user, who may open everything but this path."""
    for folder in (docs, *docs.parents):
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o011)
    for path in docs.rglob("*"):
        path.chmod(0o755)
    docs.chmod(0o755)
    (docs / closed).chmod(mode)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        (docs / closed).chmod(0o755)


ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="another user has to be stood in for")


@ROOT
@pytest.mark.parametrize("closed", ["guide/file.txt", "guide"])
def test_what_is_locked_is_said_to_be(docs: Path, closed: str) -> None:
    (docs / "guide" / "file.txt").write_text("needle")
    with (
        locked(docs, closed),
        pytest.raises(
            FileUnavailable, match=r"file.txt is there, but the daemon may not open it \(Permission"
        ),
    ):
        read_library_file(docs, "docs/guide/file.txt")


@ROOT
@pytest.mark.parametrize(
    ("closed", "mode", "named"),
    [
        ("guide/file.txt", 0, "docs/guide/file.txt"),
        ("guide", 0, "docs/guide/"),
        ("guide", 0o644, "docs/guide/"),  # names are readable, contents are not
    ],
)
async def test_what_a_search_may_not_open_is_named_until_it_may(
    docs: Path, library: FolderLibrary, caplog: pytest.LogCaptureFixture, closed: str, mode: int, named: str
) -> None:
    (docs / "page.txt").write_text("needle")
    (docs / "guide" / "file.txt").write_text("needle")
    with locked(docs, closed, mode):
        for _ in range(2):
            assert await library.search("needle") == "docs/page.txt:1: needle"
        assert await library.unsearched("") == [f"{named} (it cannot be opened: Permission denied)"]
        assert await library.unsearched("page") == []
        [wrong] = library.find_faults()
    assert wrong == (
        f"KNOWLEDGE_DIRS: {named} cannot be opened (Permission denied): nothing is found there. "
        "Let this user read it."
    )
    assert caplog.messages.count(wrong) == 1
    assert "docs/guide/file.txt:1: needle" in await library.search("needle")
    assert await library.unsearched("") == []
    assert library.find_faults() == []


@ROOT
@pytest.mark.parametrize("mode", [0, 0o644])
async def test_a_folder_of_the_owners_that_may_not_be_opened_is_named_to_whoever_searches(
    docs: Path, library: FolderLibrary, mode: int
) -> None:
    (docs / "page.txt").write_text("needle")
    with locked(docs, ".", mode):
        assert await library.search("needle") == ""
        assert await library.unsearched("") == ["docs/ (it cannot be opened: Permission denied)"]
