"""Search in the owner's folders: current, and never outside."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.knowledge.library import LONGEST, MOST_BYTES, MOST_LETTERS, FolderFile, FolderLibrary
from tests.attention import PATIENCE


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def library(docs: Path) -> Iterator[FolderLibrary]:
    with FolderLibrary([docs]) as folders:
        yield folders


async def test_a_passage_names_its_path_and_each_line(docs: Path, library: FolderLibrary) -> None:
    (docs / "guide").mkdir()
    (docs / "guide" / "cake.md").write_text("# Cake\r\n\r\nTake marzipan.\r\nBake it.\n")
    assert await library.search("marzipan") == (
        "docs/guide/cake.md:1: # Cake\ndocs/guide/cake.md:3: Take marzipan.\ndocs/guide/cake.md:4: Bake it."
    )


async def test_line_numbers_are_those_of_an_editor(docs: Path, library: FolderLibrary) -> None:
    lines = [f"line {n}\u2028\x0c{'needle' if n == 41 else ''}" for n in range(1, 60)]
    (docs / "long.txt").write_text("\n".join(lines))
    assert "docs/long.txt:41: line 41\u2028 needle" in await library.search("needle")
    assert await library.read("docs/long.txt", 41, 1) == ["line 41\u2028 needle"]


async def test_behind_the_last_line_there_is_none(docs: Path, library: FolderLibrary) -> None:
    (docs / "two.txt").write_text("one\r\ntwo\r\n")
    (docs / "none.txt").write_text("")
    assert await library.read("docs/two.txt") == ["one", "two"]
    assert not await library.read("docs/two.txt", 3)
    assert not await library.read("docs/none.txt")


async def test_the_name_of_a_file_is_found_and_words_in_it_count_more(
    docs: Path, library: FolderLibrary
) -> None:
    (docs / "marzipan.md").write_text("A cake.")
    (docs / "other.md").write_text("We like marzipan.")
    found = await library.search("marzipan")
    assert [line.partition(":")[0] for line in found.split("\n\n")] == ["docs/other.md", "docs/marzipan.md"]


async def test_what_changed_since_is_found_as_it_is_now(docs: Path, library: FolderLibrary) -> None:
    page, other = docs / "page.md", docs / "other.md"
    page.write_text("old words")
    other.write_text("other words")
    assert "old" in await library.search("old")
    page.write_text("new words")
    assert await library.search("old") == ""
    assert await library.search("new words") == "docs/page.md:1: new words\n\ndocs/other.md:1: other words"
    page.unlink()
    assert await library.search("words") == "docs/other.md:1: other words"
    other.rename(docs / "renamed.md")
    assert await library.search("words") == "docs/renamed.md:1: other words"


@pytest.mark.parametrize(
    "data",
    [b"needle\0", b"needle " * (MOST_BYTES // 7 + 1), "needle".encode("utf-16"), b"%PDF-1.4\n% needle\n"],
    ids=["binary", "too large", "utf-16", "a PDF without a zero"],
)
async def test_what_is_no_text_is_left_out(docs: Path, library: FolderLibrary, data: bytes) -> None:
    (docs / "file").write_bytes(data)
    assert await library.search("needle") == ""
    assert await library.unsearched("") == ["docs/file"]


async def test_what_is_no_utf8_is_read_as_far_as_it_can_be(docs: Path, library: FolderLibrary) -> None:
    (docs / "latin").write_bytes("naïve needle".encode("latin-1"))
    (docs / "marked").write_bytes(b"\xef\xbb\xbfneedle")
    assert await library.search("needle") == "docs/marked:1: needle\n\ndocs/latin:1: na\ufffdve needle"


async def test_hidden_files_and_folders_are_left_out(docs: Path, library: FolderLibrary) -> None:
    (docs / ".git").mkdir()
    (docs / ".git" / "config").write_text("needle")
    (docs / ".env").write_text("needle")
    (docs / "console-token").write_text("needle")
    assert await library.search("needle") == ""


async def test_a_folder_that_is_hidden_itself_was_named_by_its_owner(tmp_path: Path) -> None:
    hidden = tmp_path / ".notes"
    hidden.mkdir()
    (hidden / "a.md").write_text("needle")
    with FolderLibrary([hidden]) as library:
        assert await library.search("needle") == ".notes/a.md:1: needle"


async def test_no_link_leads_anywhere(docs: Path, library: FolderLibrary, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle")
    (docs / ".hidden").write_text("needle")
    (docs / "file.txt").symlink_to(outside / "secret.txt")
    (docs / "folder").symlink_to(outside)
    (docs / "up").symlink_to("..")
    (docs / "hidden.txt").symlink_to(".hidden")
    (docs / "nowhere").symlink_to("gone")
    assert await library.search("needle") == ""


async def test_no_query_is_a_path(docs: Path, library: FolderLibrary, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("needle")
    for query in ("../secret.txt", str(tmp_path / "secret.txt"), "docs/../secret.txt", "path:../*"):
        assert await library.search(query) == ""


async def test_a_file_that_becomes_a_link_or_a_pipe_behind_our_back_is_not_read(
    docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("needle")
    (docs / "link").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(docs / "pipe")
    (docs / "folder").mkdir()
    descriptor = os.open(docs, os.O_RDONLY)
    try:
        for name in ("link", "pipe", "folder", "gone"):
            seen_as_file = FolderFile(path=name, size=6, stamp="", name=name, folder=descriptor)
            assert seen_as_file.text() == "", name
    finally:
        os.close(descriptor)


async def test_a_pipe_holds_nobody_up(docs: Path, library: FolderLibrary) -> None:
    os.mkfifo(docs / "pipe")
    (docs / "page").write_text("needle")
    async with asyncio.timeout(PATIENCE):
        assert await library.search("needle") == "docs/page:1: needle"


async def test_a_folder_that_is_a_link_is_the_owners_choice(docs: Path, tmp_path: Path) -> None:
    (docs / "page").write_text("needle")
    (tmp_path / "link").symlink_to(docs)
    with FolderLibrary([tmp_path / "link", docs]) as library:
        assert await library.search("needle") == "docs/page:1: needle"


async def test_two_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "docs", tmp_path / "b" / "docs"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "page").write_text(f"needle {folder.parent.name}")
    with FolderLibrary(folders) as library:
        assert await library.search("needle") == "docs/page:1: needle a\n\ndocs-2/page:1: needle b"


async def test_a_folder_that_is_not_there_is_said_so_and_the_others_are_searched(
    docs: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (docs / "page").write_text("needle")
    with FolderLibrary([tmp_path / "gone", docs]) as library:
        assert await library.search("needle") == "docs/page:1: needle"
    assert "gone cannot be read" in caplog.text


async def test_what_is_found_has_an_end(docs: Path, library: FolderLibrary) -> None:
    (docs / "one-line").write_text("needle " * 10_000)
    (docs / "many").write_text(f"needle {'x' * 90}\n" * 1000)
    found = await library.search("needle")
    assert max(map(len, found.split("\n"))) <= LONGEST + 100
    assert len(found) <= MOST_LETTERS


async def test_what_is_too_much_is_left_out_and_said_once(
    docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(5):
        (docs / f"page-{n}").write_text("needle")
    with caplog.at_level(logging.WARNING), FolderLibrary([docs], most_files=2) as library:
        for _ in range(2):
            assert (await library.search("needle")).count("needle") == 2
        [beyond] = await library.unsearched("")
        assert beyond == "docs/page-2 and all after it (the folders hold more than can be searched)"
    with FolderLibrary([docs], most=20) as library:
        assert (await library.search("needle")).count("needle") == 3
        for n in (2, 3):
            (docs / f"page-{n}").unlink()
        assert await library.unsearched("") == []
    assert (
        caplog.text.count(
            "KNOWLEDGE_DIRS exceed the search limits: docs/page-2 and later files are not searched"
        )
        == 1
    )


async def test_odd_names_stay_in_one_line(docs: Path, library: FolderLibrary) -> None:
    (docs / "a\nb: 1").write_text("needle")
    (docs / os.fsdecode(b"b\xff")).write_text("needle")
    assert await library.search("needle") == "docs/b?:1: needle\n\ndocs/a?b: 1:1: needle"


async def test_searches_at_once_do_not_get_into_each_others_way(docs: Path, library: FolderLibrary) -> None:
    for n in range(200):
        (docs / f"page-{n}").write_text(f"needle {n}\n" * 20)
    found = await asyncio.gather(*(library.search("needle") for _ in range(5)))
    assert found == [found[0]] * 5
    given_up = asyncio.create_task(library.search("needle"))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    assert await library.search("needle") == found[0]


async def test_reading_ends_where_the_daemon_does_and_lets_nothing_go(
    docs: Path, library: FolderLibrary
) -> None:
    (docs / "old").write_text("needle")
    assert await library.search("needle") == "docs/old:1: needle"
    (docs / "old").unlink()
    (docs / "new").write_text("needle")
    library.closing.set()
    assert await library.search("needle") == "docs/old:1: needle"


async def test_what_goes_wrong_leaves_nothing_half_done(library: FolderLibrary) -> None:
    def fail() -> None:
        library.database.execute("insert into file values ('half', '', 0, 0, '')")
        raise LookupError

    with pytest.raises(LookupError):
        await library.run_in_transaction(fail)
    assert (
        await library.run_in_transaction(lambda: library.database.execute("select * from file").fetchall())
        == []
    )
